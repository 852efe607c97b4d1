// SPDX-License-Identifier: Apache-2.0
//
// Compiled once for each group of instances, which HEDDLE_TIMED_GROUP names; that of the library leaves out of
// the simulated SM what differs in its numbers only.
#include "matmul/device/matmul_sm90_params.h"
#include "matmul_timing.h"

#include <heddle/host/device.h>
#include <heddle/sim/trace.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace heddle::timing {

namespace {

template <std::uint32_t instance>
double cycles(const Work& work) {
  constexpr MatmulSm90Config config = kMatmulSm90Instances[instance].config;
  using Kernel = MatmulSm90<config, bf16>;
  const std::uint32_t ctas = work.parts == 1 ? config.cluster() : work.parts;
  // What L2 and memory have for an SM is added by who asks; here it gets all that it can take in.
  sim::Timing timing = sim::timing_of(Arch::kSm90);
  timing.l2_bytes = timing.memory_bytes = timing.sm_bytes * ctas;
  timing.memory_share = 1;
  sim::Trace trace(1'000'000, timing);
  const sim::Tracing tracing(trace);
  Device device({.kernel = "matmul", .sms = ctas, .check_races = false});
  MatmulOperands operands{.m = config.tile_m * config.cluster_m * work.tiles,
                          .n = config.tile_n * config.cluster_n,
                          .k = config.tile_k * work.blocks * work.parts,
                          .a = {},
                          .b = {},
                          .out = {}};
  const std::uint32_t out_bytes = work.stores_float ? 4 : 2;
  DeviceBuffer a(device, "A", std::size_t{operands.m} * operands.k * 2);
  DeviceBuffer b(device, "B", std::size_t{operands.n} * operands.k * 2);
  DeviceBuffer out(device, "C", std::size_t{operands.m} * operands.n * out_bytes);
  a.fill(0);
  b.fill(0);
  out.fill(0);
  operands.a = {.address = a.data(), .rows = operands.m, .cols = operands.k};
  operands.b = {.address = b.data(), .rows = operands.n, .cols = operands.k};
  const std::uint32_t rows = config.is_swapped ? operands.n : operands.m;
  const std::uint32_t cols = config.is_swapped ? operands.m : operands.n;
  operands.out = {work.stores_float ? MatmulElement::kFp32 : MatmulElement::kBf16, out.data(), rows, cols};
  operands.splits = work.parts;
  operands.is_joined = work.parts > 1;
  operands.raster = Raster::kAlongM;
  const RunOutcome outcome = launch_matmul<Kernel>(device, matmul_sm90_params<Kernel>(operands));
  if (!outcome.ok() || !trace.remark().empty()) {
    std::fprintf(stderr, "matmul_timing: %s%s\n", outcome.report.c_str(), trace.remark().c_str());
    std::exit(1);
  }
  return trace.predicted_cycles();
}

template <std::uint32_t instance>
void add(std::vector<Timed>& all) {
  constexpr MatmulSm90Instance of = kMatmulSm90Instances[instance];
  if constexpr (of.group == MatmulGroup::HEDDLE_TIMED_GROUP && of.config.b_major == Major::kK) {
    all.push_back({instance, cycles<instance>});
  }
}

}  // namespace

template <>
std::vector<Timed> timed_instances<MatmulGroup::HEDDLE_TIMED_GROUP>() {
  std::vector<Timed> all;
  [&]<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) { (add<i>(all), ...); }
  (std::make_integer_sequence<std::uint32_t, kMatmulSm90InstanceCount>());
  return all;
}

}  // namespace heddle::timing
