// SPDX-License-Identifier: Apache-2.0
//
// Tensors for a problem of decoding attention, and its outputs against a reference in double.
#pragma once

#include "attention/attention_decode_params.h"
#include "attention/attention_decode_plan.h"
#include "attention/attention_join.h"
#include "attention/attention_reference.h"

#include <heddle/host/tensor_map.h>
#include <heddle/sim/launch.h>
#include <heddle/tile/element.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace heddle::test {

inline constexpr std::uint16_t kNan = 0x7fff;  // of both types

struct AttentionDecodeCase {
  AttentionDecodeProblem problem;
  std::vector<std::uint16_t> q, k, v, o;
  std::vector<float> lse;
  std::vector<float> sinks;
  std::vector<std::int32_t> lengths;
  std::vector<std::int32_t> table;

  // Normal numbers where there are keys, and NaNs elsewhere: in outputs, in pages that the table does not name,
  // and after the last key of a batch.
  AttentionDecodeCase(const AttentionDecodeProblem& p, std::vector<std::int32_t> of_batches)
      : problem(p), lengths(std::move(of_batches)) {
    const AttentionDecodePlan plan = plan_attention_decode(p);
    std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    const auto number = [&] {
      const float value = normal(engine);
      return p.attention.type == AttentionElement::kBf16 ? bf16::from_float(value).bits
                                                         : fp16::from_float(value).bits;
    };
    q.resize(plan.attention.q.bytes / 2);
    std::generate(q.begin(), q.end(), number);
    k.assign(plan.attention.k.bytes / 2, kNan);
    v.assign(plan.attention.v.bytes / 2, kNan);
    o.assign(plan.attention.o.bytes / 2, kNan);
    lse.assign(plan.attention.lse_bytes / 4, std::nanf(""));
    if (p.page_size != 0) {
      std::vector<std::int32_t> pages(static_cast<std::size_t>(p.pages));
      std::iota(pages.begin(), pages.end(), 0);
      std::shuffle(pages.begin(), pages.end(), engine);
      const auto count = static_cast<std::size_t>(p.attention.batches * plan.table_stride);
      for (std::size_t i = 0; i < count; ++i) table.push_back(pages[i % pages.size()]);
    }
    for (std::uint64_t batch = 0; batch < static_cast<std::uint64_t>(p.attention.batches); ++batch) {
      for (std::uint64_t head = 0; head < plan.attention.k.heads; ++head) {
        for (std::uint64_t key = 0; key < length(batch); ++key) {
          for (std::uint64_t d = 0; d < plan.attention.k.dim; ++d)
            k[place(plan.attention.k, batch, head, key) + d] = number();
          for (std::uint64_t d = 0; d < plan.attention.v.dim; ++d)
            v[place(plan.attention.v, batch, head, key) + d] = number();
        }
      }
    }
  }

  std::uint64_t length(std::uint64_t batch) const {
    return static_cast<std::uint64_t>(lengths.empty() ? problem.attention.keys : lengths[batch]);
  }
  std::uint64_t place(const AttentionTensorPlan& tensor, std::uint64_t batch, std::uint64_t head,
                      std::uint64_t key) const {
    std::uint64_t page = batch;
    if (problem.page_size != 0) {
      const auto size = static_cast<std::uint64_t>(problem.page_size);
      const auto stride = (static_cast<std::uint64_t>(problem.attention.keys) + size - 1) / size;
      page = static_cast<std::uint64_t>(table[batch * stride + key / size]);
      key %= size;
    }
    return page * tensor.batch_stride + head * tensor.head_stride + key * tensor.row_stride;
  }
  AttentionDecodeTensors tensors() {
    return {.attention = {.q = q.data(),
                          .k = k.data(),
                          .v = v.data(),
                          .o = o.data(),
                          .lse = lse.data(),
                          .sinks = sinks.empty() ? nullptr : sinks.data()},
            .lengths = lengths.empty() ? nullptr : lengths.data(),
            .page_table = table.empty() ? nullptr : table.data()};
  }
  double value(std::uint16_t bits) const {
    return problem.attention.type == AttentionElement::kBf16 ? double{bf16{bits}.to_float()}
                                                             : double{fp16{bits}.to_float()};
  }
};

// As attention_sm90_test.cpp has it, batch by batch: rounding u of weights, which add up to one, and of the
// output.
inline void expect_right(AttentionDecodeCase& c) {
  const AttentionPlan plan = plan_attention_decode(c.problem).attention;
  const double u = c.problem.attention.type == AttentionElement::kBf16 ? 1.0 / 512 : 1.0 / 4096;
  std::size_t wrong = 0;
  for (std::uint64_t batch = 0; batch < plan.q.batches; ++batch) {
    const std::uint64_t length = c.length(batch);
    AttentionProblem problem = c.problem.attention;
    problem.batches = 1;
    problem.keys = static_cast<std::int64_t>(std::max<std::uint64_t>(length, 1));
    problem.q_strides = problem.k_strides = problem.v_strides = problem.o_strides = {};
    std::vector<std::uint16_t> q, k, v;
    double largest_v = 0;
    for (std::uint64_t head = 0; head < plan.q.heads; ++head) {
      for (std::uint64_t query = 0; query < plan.q.rows; ++query) {
        const std::uint64_t at =
            batch * plan.q.batch_stride + head * plan.q.head_stride + query * plan.q.row_stride;
        q.insert(q.end(), &c.q[at], &c.q[at] + plan.q.dim);
      }
    }
    for (std::uint64_t head = 0; head < plan.k.heads && length > 0; ++head) {
      for (std::uint64_t key = 0; key < length; ++key) {
        const std::uint64_t k_at = c.place(plan.k, batch, head, key);
        const std::uint64_t v_at = c.place(plan.v, batch, head, key);
        k.insert(k.end(), &c.k[k_at], &c.k[k_at] + plan.k.dim);
        v.insert(v.end(), &c.v[v_at], &c.v[v_at] + plan.v.dim);
      }
    }
    for (const std::uint16_t bits : v) largest_v = std::fmax(largest_v, std::fabs(c.value(bits)));
    std::vector<std::uint16_t> unused_o(plan.q.heads * plan.q.rows * plan.v.dim);
    reference::AttentionOutput expected;
    if (length > 0) {
      expected = reference::attention(problem, {.q = q.data(),
                                                .k = k.data(),
                                                .v = v.data(),
                                                .o = unused_o.data(),
                                                .sinks = c.sinks.empty() ? nullptr : c.sinks.data()});
    } else {
      expected.o.assign(plan.q.heads * plan.q.rows * plan.v.dim, 0);
      for (std::uint64_t row = 0; row < plan.q.heads * plan.q.rows; ++row) {
        expected.lse.push_back(c.sinks.empty() ? -HUGE_VAL : double{c.sinks[row / plan.q.rows]});
      }
    }
    for (std::uint64_t row = 0; row < expected.lse.size(); ++row) {
      const std::uint64_t head = row / plan.q.rows;
      const std::uint64_t query = row % plan.q.rows;
      const std::uint64_t at =
          batch * plan.o.batch_stride + head * plan.o.head_stride + query * plan.o.row_stride;
      for (std::uint64_t d = 0; d < plan.o.dim; ++d) {
        const double want = expected.o[row * plan.o.dim + d];
        const double bound = (largest_v + std::fabs(want)) * u * 9 / 8;
        if (!(std::fabs(c.value(c.o[at + d]) - want) <= bound) && ++wrong < 5) {
          ADD_FAILURE() << "o of batch " << batch << ", head " << head << ", query " << query << ", dim " << d
                        << " is " << c.value(c.o[at + d]) << " and should be " << want << " within " << bound;
        }
      }
      const double got = double{c.lse[batch * expected.lse.size() + row]};
      const double want = expected.lse[row];
      if (!(std::isinf(want) ? got == want : std::fabs(got - want) <= 1e-4) && ++wrong < 5) {
        ADD_FAILURE() << "lse of batch " << batch << ", head " << head << ", query " << query << " is " << got
                      << " and should be " << want;
      }
    }
  }
  EXPECT_EQ(wrong, 0u);
}

// A kernel by itself: one head in pages of 16 keys, of 64 numbers, and one CTA.
struct SmallDecode {
  std::size_t keys;
  std::vector<bf16> q = std::vector<bf16>(64, bf16::from_float(0.25f));
  std::vector<bf16> k = std::vector<bf16>(keys * 64, bf16::from_float(0.5f));
  std::vector<bf16> v = std::vector<bf16>(keys * 64, bf16::from_float(2.0f));
  std::vector<bf16> o = std::vector<bf16>(64);
  std::vector<float> parts = std::vector<float>(4 * 64);
  std::vector<float> sums = std::vector<float>(4);
  std::vector<std::int32_t> table = std::vector<std::int32_t>(keys / 16);
  std::vector<std::int32_t> lengths = {static_cast<std::int32_t>(keys)};

  explicit SmallDecode(std::size_t count = 128) : keys(count) { std::iota(table.begin(), table.end(), 0); }

  struct Place {
    Arch arch;
    std::uint32_t tile_rows;  // of queries
    std::uint32_t workers;
  };
  template <class Kernel, class Join>
  sim::Report launch(const Place& place) {
    sim::GlobalMemory memory;
    const auto add = [&](const char* name, auto& tensor) {
      memory.add(name, tensor.data(), tensor.size() * sizeof(tensor[0]));
    };
    add("q", q);
    add("k", k);
    add("v", v);
    add("o", o);
    add("parts", parts);
    add("sums", sums);
    add("table", table);
    add("lengths", lengths);
    const auto map = [](const std::vector<bf16>& tensor, std::uint64_t rows, std::uint64_t pages,
                        std::uint32_t box_rows) {
      return make_tensor_map({.type = TensorType::kBF16,
                              .rank = 4,
                              .address = tensor.data(),
                              .dims = {64, rows, 1, pages},
                              .strides = {128, rows * 128, rows * 128},
                              .box = {64, box_rows, 1, 1},
                              .swizzle = Swizzle::k128B});
    };
    const AttentionDecodeParams params{.q = map(q, 1, 1, place.tile_rows),
                                       .k = map(k, 16, keys / 16, 16),
                                       .v = map(v, 16, keys / 16, 16),
                                       .extents = {.batches = 1,
                                                   .key_heads = 1,
                                                   .keys = static_cast<std::int32_t>(keys),
                                                   .queries = 1,
                                                   .window = 1 << 30,
                                                   .lengths = lengths.data()},
                                       .rows = 1,
                                       .heads_per_key_head = 1,
                                       .value_dim = 64,
                                       .is_causal = false,
                                       .page_size = 16,
                                       .table_stride = static_cast<std::int32_t>(keys / 16),
                                       .page_table = table.data(),
                                       .o = o.data(),
                                       .o_row = 64,
                                       .o_head = 64,
                                       .o_batch = 64,
                                       .lse = nullptr,
                                       .sinks = nullptr,
                                       .factor = 1.0f,
                                       .score = {},
                                       .parts = parts.data(),
                                       .part_sums = sums.data()};
    const sim::Report report = sim::launch<Kernel>({.memory = &memory, .arch = place.arch, .kernel = "attention"},
                                                   {.grid = {1}}, params);
    if (!report.ok()) return report;
    return sim::launch<Join>({.memory = &memory, .arch = place.arch, .kernel = "attention"},
                             {.grid = {place.workers}}, params);
  }
};

}  // namespace heddle::test
