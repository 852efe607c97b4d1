// SPDX-License-Identifier: Apache-2.0
//
// Blackwell's attention, and its kernel by itself with small tiles.
#pragma once

#include "attention/attention_forward_sm100.h"
#include "attention/attention_sm100_host.h"

#include <heddle/host/tensor_map.h>
#include <heddle/sim/launch.h>

#include <string>

#include "attention_case.h"

namespace heddle::test {

struct AttentionSm100Case : AttentionCase {
  using AttentionCase::AttentionCase;

  RunOutcome run() {
    return attention_sm100<Target::kSim>(problem, tensors(),
                                         {.kernel = "attention", .sms = 2, .arch = Arch::kSm100});
  }
};

// The kernel by itself, with small tiles of keys: one CTA, two heads of two tiles of queries, three tiles of keys
// for each.
inline constexpr AttentionSm100Config kSmall{.head_dim = 64, .value_dim = 64, .keys = 32};

template <class Kernel>
sim::Report run_small(AttentionSm100Case& c, const sim::Schedule& schedule) {
  sim::GlobalMemory memory;
  memory.add("q", c.q.data(), c.q.size() * 2);
  memory.add("k", c.k.data(), c.k.size() * 2);
  memory.add("v", c.v.data(), c.v.size() * 2);
  memory.add("o", c.o.data(), c.o.size() * 2);
  const auto map = [](const std::vector<std::uint16_t>& tensor, std::uint64_t rows, std::uint32_t box_rows) {
    return make_tensor_map({.type = TensorType::kBF16,
                            .rank = 4,
                            .address = tensor.data(),
                            .dims = {64, rows, 2, 1},
                            .strides = {128, rows * 128, rows * 256},
                            .box = {64, box_rows, 1, 1},
                            .swizzle = Swizzle::k128B});
  };
  const typename Kernel::Params params{.q = map(c.q, 256, 128),
                                       .k = map(c.k, 96, 32),
                                       .v = map(c.v, 96, 32),
                                       .o = map(c.o, 256, 128),
                                       .extents = {.queries = 256,
                                                   .keys = 96,
                                                   .heads = 2,
                                                   .batches = 1,
                                                   .offset = 0,
                                                   .window = 0,
                                                   .tiles = 1,
                                                   .paired = 0,
                                                   .group = 1,
                                                   .query_offsets = nullptr,
                                                   .key_offsets = nullptr,
                                                   .query_rows = 0,
                                                   .key_rows = 0,
                                                   .sees_all = true},
                                       .heads_per_key_head = 1,
                                       .o_data = nullptr,
                                       .o_row = 0,
                                       .o_head = 0,
                                       .o_dim = 64,
                                       .lse = nullptr,
                                       .sinks = nullptr,
                                       .factor = 0.18f,
                                       .score = {}};
  return sim::launch<Kernel>(
      {.memory = &memory, .schedule = schedule, .arch = Arch::kSm100, .kernel = "attention"}, {.grid = {1}},
      params);
}

inline AttentionSm100Case small_case() {
  return AttentionSm100Case({.heads = 2, .queries = 256, .keys = 96, .head_dim = 64});
}

// The same bits as round robin gives, under `count` schedules from seed `first` on; the first seed that does not,
// or 0.
inline std::uint64_t first_other_seed(std::uint64_t first, std::uint64_t count, std::string& report) {
  using Kernel = AttentionForwardSm100<bf16, kSmall>;
  AttentionSm100Case expected = small_case();
  const sim::Report of_first = run_small<Kernel>(expected, sim::Schedule::round_robin());
  report = of_first.text();
  if (!of_first.ok()) return first;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    AttentionSm100Case other = small_case();
    const sim::Report of_seed = run_small<Kernel>(other, sim::Schedule::random(seed));
    report = of_seed.text();
    if (!of_seed.ok() || other.o != expected.o) return seed;
  }
  return 0;
}

}  // namespace heddle::test
