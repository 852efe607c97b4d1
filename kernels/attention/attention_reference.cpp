// SPDX-License-Identifier: Apache-2.0
#include "attention_reference.h"

#include "attention_plan.h"

#include <heddle/tile/element.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle::reference {

namespace {

// Of sums of up to 2^20 floats, of which the tensor cores drop the last bits, and of approximate powers.
constexpr double kFloat = 0x1p-19;

double number_at(const void* tensor, AttentionElement type, std::uint64_t at) {
  const std::uint16_t bits = static_cast<const std::uint16_t*>(tensor)[at];
  return type == AttentionElement::kBf16 ? double{bf16{bits}.to_float()} : double{fp16{bits}.to_float()};
}

std::uint64_t place(const AttentionTensorPlan& tensor, std::uint64_t batch, std::uint64_t head,
                    std::uint64_t row) {
  return batch * tensor.batch_stride + head * tensor.head_stride + row * tensor.row_stride;
}

// Where a batch's rows are: everywhere in its own tensors, or between offsets of those that all batches share.
struct Rows {
  std::uint64_t tensor;
  std::uint64_t first_query;
  std::uint64_t first_key;
  std::int64_t queries;
  std::int64_t keys;
};

Rows rows_of(const AttentionProblem& problem, const AttentionTensors& tensors, std::uint64_t batch) {
  if (tensors.query_offsets == nullptr) return {batch, 0, 0, problem.queries, problem.keys};
  const auto first = [&](const std::int32_t* offsets) { return static_cast<std::uint64_t>(offsets[batch]); };
  return {0, first(tensors.query_offsets), first(tensors.key_offsets),
          tensors.query_offsets[batch + 1] - tensors.query_offsets[batch],
          tensors.key_offsets[batch + 1] - tensors.key_offsets[batch]};
}

}  // namespace

AttentionOutput attention(const AttentionProblem& problem, const AttentionTensors& tensors, std::int64_t every) {
  const AttentionPlan plan = plan_attention(problem);
  const std::uint64_t dim = plan.q.dim;
  const std::uint64_t value_dim = plan.v.dim;
  const std::uint64_t sharing = plan.q.heads / plan.k.heads;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  AttentionOutput out;
  out.o.assign(plan.q.batches * plan.q.heads * plan.q.rows * value_dim, kNone);
  out.lse.assign(plan.q.batches * plan.q.heads * plan.q.rows, kNone);
  out.o_bound.assign(out.o.size(), kNone);
  out.lse_bound.assign(out.lse.size(), kNone);
  const double rounding = problem.type == AttentionElement::kBf16 ? 0x1p-8 : 0x1p-11;
  std::vector<double> scores;
  const auto attend = [&](const Rows& rows, std::uint64_t head, std::int64_t query) {
    const std::uint64_t q_row = rows.first_query + static_cast<std::uint64_t>(query);
    const std::uint64_t row = (rows.tensor * plan.q.heads + head) * plan.q.rows + q_row;
    const std::int64_t last = query + rows.keys - rows.queries;
    const auto seen = static_cast<std::uint64_t>(
        problem.is_causal ? std::clamp<std::int64_t>(last + 1, 0, rows.keys) : rows.keys);
    const std::int64_t lowest = problem.window == 0 ? 0 : std::max<std::int64_t>(last + 1 - problem.window, 0);
    const auto first = static_cast<std::uint64_t>(lowest);
    const double sink =
        tensors.sinks == nullptr ? -std::numeric_limits<double>::infinity() : double{tensors.sinks[head]};
    out.lse[row] = sink;
    out.lse_bound[row] = std::isinf(sink) ? 0 : kFloat * std::abs(sink);
    std::fill_n(&out.o[row * value_dim], value_dim, 0.0);
    std::fill_n(&out.o_bound[row * value_dim], value_dim, 0.0);
    if (seen <= first) return;
    scores.assign(seen, -std::numeric_limits<double>::infinity());
    double largest_size = 0;
    const std::uint64_t q = place(plan.q, rows.tensor, head, q_row);
    for (std::uint64_t key = first; key < seen; ++key) {
      const std::uint64_t k = place(plan.k, rows.tensor, head / sharing, rows.first_key + key);
      scores[key] = 0;
      double size = 0;
      for (std::uint64_t d = 0; d < dim; ++d) {
        const double product =
            number_at(tensors.q, problem.type, q + d) * number_at(tensors.k, problem.type, k + d);
        scores[key] += product;
        size += std::abs(product);
      }
      largest_size = std::max(largest_size, size * double{plan.scale});
      scores[key] *= double{plan.scale};
      const double cap = double{problem.soft_cap};
      if (cap != 0) scores[key] = cap * std::tanh(scores[key] / cap);
    }
    const double largest = std::max(sink, *std::max_element(scores.begin(), scores.end()));
    double sum = std::exp(sink - largest);
    for (std::uint64_t key = first; key < seen; ++key) {
      const double weight = std::exp(scores[key] - largest);
      sum += weight;
      const std::uint64_t v = place(plan.v, rows.tensor, head / sharing, rows.first_key + key);
      for (std::uint64_t d = 0; d < value_dim; ++d) {
        const double value = number_at(tensors.v, problem.type, v + d);
        out.o[row * value_dim + d] += weight * value;
        out.o_bound[row * value_dim + d] += weight * std::abs(value);
      }
    }
    // Scores are wrong by so much, weights by that share of them, on both sides of a fraction.
    const double of_scores = kFloat * (largest_size + double{problem.soft_cap} + std::abs(largest) + 1);
    for (std::uint64_t d = 0; d < value_dim; ++d) {
      double& o = out.o[row * value_dim + d];
      double& bound = out.o_bound[row * value_dim + d];
      o /= sum;
      bound = bound / sum * (rounding + 2 * of_scores) + rounding * std::abs(o) + 0x1p-24;
    }
    out.lse[row] = largest + std::log(sum);
    out.lse_bound[row] = of_scores + kFloat * std::abs(out.lse[row]);
  };
  for (std::uint64_t batch = 0; batch < static_cast<std::uint64_t>(problem.batches); ++batch) {
    const Rows rows = rows_of(problem, tensors, batch);
    for (std::uint64_t head = 0; head < plan.q.heads; ++head) {
      for (std::int64_t query = 0; query < rows.queries; query += every) attend(rows, head, query);
    }
  }
  return out;
}

}  // namespace heddle::reference
