// SPDX-License-Identifier: Apache-2.0
//
// Tensors for a problem of attention.
#pragma once

#include "attention/attention_plan.h"
#include "attention/attention_reference.h"

#include <heddle/tile/element.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace heddle::test {

struct AttentionCase {
  AttentionProblem problem;
  std::vector<std::uint16_t> q, k, v, o;
  std::vector<float> lse;
  std::vector<float> sinks;
  std::vector<std::int32_t> query_offsets, key_offsets;

  // Normal numbers, and outputs of NaNs.
  explicit AttentionCase(const AttentionProblem& p) : problem(p) {
    const AttentionPlan plan = plan_attention(p);
    std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    const auto numbers = [&](std::size_t bytes) {
      std::vector<std::uint16_t> made(bytes / 2);
      for (std::uint16_t& bits : made) {
        const float number = normal(engine);
        bits = p.type == AttentionElement::kBf16 ? bf16::from_float(number).bits : fp16::from_float(number).bits;
      }
      return made;
    };
    q = numbers(plan.q.bytes);
    k = numbers(plan.k.bytes);
    v = numbers(plan.v.bytes);
    o.assign(plan.o.bytes / 2, 0x7fff);
    lse.assign(plan.lse_bytes / 4, std::nanf(""));
  }

  AttentionTensors tensors() {
    return {.q = q.data(),
            .k = k.data(),
            .v = v.data(),
            .o = o.data(),
            .lse = lse.data(),
            .sinks = sinks.empty() ? nullptr : sinks.data(),
            .query_offsets = query_offsets.empty() ? nullptr : query_offsets.data(),
            .key_offsets = key_offsets.empty() ? nullptr : key_offsets.data()};
  }
  double o_at(std::uint64_t at) const { return value(o[at]); }
  double value(std::uint16_t bits) const {
    return problem.type == AttentionElement::kBf16 ? double{bf16{bits}.to_float()}
                                                   : double{fp16{bits}.to_float()};
  }
};

// How far outputs may be from the reference. With u the rounding of the type, 2^-9 or 2^-12: each weight is
// rounded by u of itself and the weights add up to one, so that sums of rows of V are off by at most u times the
// largest number of V; the output is rounded by u of itself. An eighth more for scores, powers and sums in float.
inline void expect_right(AttentionCase& c) {
  const reference::AttentionOutput expected = reference::attention(c.problem, c.tensors());
  const AttentionPlan plan = plan_attention(c.problem);
  const double u = c.problem.type == AttentionElement::kBf16 ? 1.0 / 512 : 1.0 / 4096;
  double largest_v = 0;
  for (const std::uint16_t bits : c.v) {
    largest_v = std::fmax(largest_v, std::fabs(c.value(bits)));
  }
  std::size_t wrong = 0;
  for (std::uint64_t row = 0; row < expected.lse.size(); ++row) {
    const std::uint64_t query = row % plan.o.rows;
    const std::uint64_t head = row / plan.o.rows % plan.o.heads;
    const std::uint64_t batch = row / plan.o.rows / plan.o.heads;
    const std::uint64_t at = batch * plan.o.batch_stride + head * plan.o.head_stride + query * plan.o.row_stride;
    for (std::uint64_t d = 0; d < plan.o.dim; ++d) {
      const double value = expected.o[row * plan.o.dim + d];
      if (std::isnan(value)) {
        EXPECT_EQ(c.o[at + d], 0x7fff) << "query " << query << " is in no batch, and was written";
        continue;
      }
      const double bound = (largest_v + std::fabs(value)) * u * 9 / 8;
      if (!(std::fabs(c.o_at(at + d) - value) <= bound) && ++wrong < 5) {
        ADD_FAILURE() << "o of batch " << batch << ", head " << head << ", query " << query << ", dim " << d
                      << " is " << c.o_at(at + d) << " and should be " << value << " within " << bound;
      }
    }
    const double lse = expected.lse[row];
    if (std::isnan(lse)) {
      EXPECT_TRUE(std::isnan(c.lse[row])) << "query " << query << " is in no batch, and its lse was written";
      continue;
    }
    const bool is_right =
        std::isinf(lse) ? double{c.lse[row]} == lse : std::fabs(double{c.lse[row]} - lse) <= 1e-4;
    if (!is_right && ++wrong < 5) {
      ADD_FAILURE() << "lse of batch " << batch << ", head " << head << ", query " << query << " is "
                    << c.lse[row] << " and should be " << lse;
    }
  }
  EXPECT_EQ(wrong, 0u);
}

// Batches one after another, as [row, head, dim]; some without queries or keys, and rows that belong to none.
template <class Case>
Case batches_in_rows(const AttentionProblem& base, const std::vector<std::int32_t>& queries,
                     const std::vector<std::int32_t>& keys) {
  AttentionProblem problem = base;
  problem.batches = static_cast<std::int64_t>(queries.size());
  const auto add_up = [](std::int32_t first, const std::vector<std::int32_t>& lengths) {
    std::vector<std::int32_t> offsets = {first};
    for (const std::int32_t length : lengths) offsets.push_back(offsets.back() + length);
    return offsets;
  };
  const std::vector<std::int32_t> query_offsets = add_up(3, queries);
  const std::vector<std::int32_t> key_offsets = add_up(5, keys);
  problem.query_rows = query_offsets.back() + 2;
  problem.key_rows = key_offsets.back() + 7;
  problem.queries = std::max(*std::max_element(queries.begin(), queries.end()), 1);
  problem.keys = std::max(*std::max_element(keys.begin(), keys.end()), 1);
  const std::int64_t key_heads = problem.key_heads == 0 ? problem.heads : problem.key_heads;
  problem.q_strides = problem.o_strides = {.row = problem.heads * problem.head_dim, .head = problem.head_dim};
  problem.k_strides = problem.v_strides = {.row = key_heads * problem.head_dim, .head = problem.head_dim};
  Case c(problem);
  c.query_offsets = query_offsets;
  c.key_offsets = key_offsets;
  // Whatever is in rows of nobody is nobody's business.
  const auto spoil = [](std::vector<std::uint16_t>& tensor, std::int64_t rows, std::int64_t stride,
                        std::int64_t end) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < stride && (row < 5 || row >= end); ++i) {
        tensor[static_cast<std::size_t>(row * stride + i)] = 0x7fff;
      }
    }
  };
  spoil(c.k, problem.key_rows, key_heads * problem.head_dim, key_offsets.back());
  spoil(c.v, problem.key_rows, key_heads * problem.head_dim, key_offsets.back());
  return c;
}

// Where queries weigh keys by their distance under a causal mask: scores less `slope` times the number of keys
// from a key to the query's place, and 7 for each head before.
inline void expect_right_by_distance(AttentionCase& c, double slope) {
  const AttentionPlan plan = plan_attention(c.problem);
  const std::uint64_t dim = plan.q.dim;
  const std::uint64_t later = plan.k.rows - plan.q.rows;
  double worst = 0;
  for (std::size_t row = 0; row < plan.q.heads * plan.q.rows; ++row) {
    const std::size_t head = row / plan.q.rows;
    const std::size_t query = row % plan.q.rows;
    double sum = 0;
    std::vector<double> expected(dim);
    for (std::size_t key = 0; key <= query + later; ++key) {
      double score = 0;
      for (std::size_t d = 0; d < dim; ++d) {
        score += double{bf16{c.q[row * dim + d]}.to_float()} *
                 double{bf16{c.k[(head * plan.k.rows + key) * dim + d]}.to_float()};
      }
      score -= slope * (static_cast<double>(query) - static_cast<double>(key) + 7.0 * static_cast<double>(head));
      const double weight = std::exp(score * double{plan.scale});
      sum += weight;
      for (std::size_t d = 0; d < dim; ++d) {
        expected[d] += weight * double{bf16{c.v[(head * plan.k.rows + key) * dim + d]}.to_float()};
      }
    }
    for (std::size_t d = 0; d < dim; ++d) {
      worst = std::fmax(worst, std::fabs(c.o_at(row * dim + d) - expected[d] / sum));
    }
  }
  EXPECT_LE(worst, 8.0 / 512 * 9 / 8);  // numbers of V are below 4: as expect_right has it
}

}  // namespace heddle::test
