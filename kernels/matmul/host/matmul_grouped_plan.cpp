// SPDX-License-Identifier: Apache-2.0
#include "matmul_grouped_plan.h"

#include "matmul_checks.h"

#include "matmul/device/matmul_sm90_grouped_instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace heddle {

using namespace matmul_checks;

namespace {

constexpr std::int64_t kMaxRows = 1 << 30;  // what positions of rows as 32-bit numbers allow, with tiles added
constexpr double kMaxTiles = double{1u << 31};
constexpr std::uint32_t kElementBytes = 2;  // of A and B

std::string name_of(const MatmulGroupedConfig& c) {
  return fmt::format("{}x{}x{}_{}_{}x{}", c.tile_m, c.tile_n, c.tile_k, c.stages, c.cluster_m, c.cluster_n);
}

std::int64_t rounded_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// Cycles of an H200 for groups of `rows` rows each. Tiles are dealt out in rounds; of a tile, a warpgroup's share
// of rows is multiplied whole or not at all.
double cost(const MatmulGroupedConfig& c, const MatmulGroupedProblem& p, std::int64_t rows) {
  constexpr std::int64_t kSms = 132;
  constexpr double kFlopsPerCycle = 4096;
  constexpr double kStore = 2500;        // cycles to store a tile, for which nothing is multiplied
  constexpr double kOneWarpgroup = 1.2;  // alone it leaves gaps between its multiplications
  const std::int64_t cluster = c.cluster();
  const std::int64_t cluster_rows = std::int64_t{c.tile_m} * c.cluster_m;
  const std::int64_t tiles_m = rounded_up(rows, cluster_rows) / cluster_rows;
  const std::int64_t tiles_n = rounded_up(p.n, std::int64_t{c.tile_n} * c.cluster_n) / c.tile_n / c.cluster_n;
  const std::int64_t tiles = p.groups * tiles_m * tiles_n;
  const std::int64_t rounds = rounded_up(tiles, kSms / cluster) / (kSms / cluster);
  const std::int64_t share = c.tile_m / c.warpgroups;
  const double tile_rows = std::min(static_cast<double>(c.tile_m),
                                    static_cast<double>(rounded_up(rows, share)) / static_cast<double>(tiles_m));
  const double multiply = 2.0 * tile_rows * c.tile_n * static_cast<double>(p.k) / kFlopsPerCycle;
  return static_cast<double>(rounds) * (multiply * (c.warpgroups == 1 ? kOneWarpgroup : 1.0) + kStore);
}

std::uint32_t chosen(const MatmulGroupedProblem& p) {
  const std::int64_t all = p.expected_rows > 0 ? p.expected_rows : p.m / std::max<std::int64_t>(p.groups, 1);
  const std::int64_t rows = std::max<std::int64_t>(all, 1);
  std::uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < kMatmulGroupedInstanceCount; ++i) {
    if (kMatmulGroupedInstances[i].is_simulated_only) continue;
    const double cycles = cost(kMatmulGroupedInstances[i].config, p, rows);
    if (cycles < least) {
      least = cycles;
      best = i;
    }
  }
  return best;
}

std::uint32_t instance_of(const MatmulGroupedProblem& p, bool is_simulated) {
  if (p.config.empty()) return chosen(p);
  for (std::uint32_t i = 0; i < kMatmulGroupedInstanceCount; ++i) {
    if (is_compiled(kMatmulGroupedInstances[i], is_simulated) &&
        name_of(kMatmulGroupedInstances[i].config) == p.config) {
      return i;
    }
  }
  throw InputError(fmt::format("matmul: no configuration of grouped matmuls is called '{}'; there are {}",
                               p.config, fmt::join(matmul_grouped_sm90_configs(is_simulated), ", ")));
}

void check_sizes(const MatmulGroupedProblem& p) {
  check_extent("groups", p.groups, kMaxRows);
  check_extent("m", p.m, kMaxRows);
  check_extent("n", p.n, kMaxRows);
  check_extent("k", p.k, kMaxRows);
  require(p.k > 0, "k is 0; sm90 takes 1 and more");
  check_enumerator("rows", p.rows, GroupRows::kCounts);
  check_enumerator("out_type", p.out_type, MatmulElement::kE5m2);
  check_output_type("bf16", p.out_type);
  require(p.n % 8 == 0, fmt::format("n is {}; groups store their last rows 16 bytes at a time, and {} would pass",
                                    p.n, rounded_up(p.n, 8)));
  require(p.rows == GroupRows::kEnds || p.groups == 0 || p.m % p.groups == 0,
          fmt::format("m is {} and there are {} groups with places of equal size; {} would pass", p.m, p.groups,
                      rounded_up(p.m, std::max<std::int64_t>(p.groups, 1))));
  require(p.expected_rows >= 0, fmt::format("expected_rows is {}; 0 for unknown, or more", p.expected_rows));
  const double most =
      (static_cast<double>(p.m) / 64 + static_cast<double>(p.groups)) * (static_cast<double>(p.n) / 16 + 1);
  require(most < kMaxTiles, fmt::format("{} rows of {} groups and {} columns are {:.3g} tiles; less than {:.0f}",
                                        p.m, p.groups, p.n, most, kMaxTiles));
}

void check_tensors(const MatmulGroupedTensors& tensors, const MatmulGroupedPlan& plan) {
  check_address("a", tensors.a, plan.a_bytes);
  check_address("b", tensors.b, plan.b_bytes);
  check_address("group_rows", tensors.group_rows, plan.group_rows_bytes);
  check_address("out", tensors.out, plan.out_bytes);
  check_apart("a", tensors.a, plan.a_bytes, tensors.out, plan.out_bytes);
  check_apart("b", tensors.b, plan.b_bytes, tensors.out, plan.out_bytes);
  check_apart("group_rows", tensors.group_rows, plan.group_rows_bytes, tensors.out, plan.out_bytes);
}

void check_aligned(const char* what, const void* address, std::uintptr_t step) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  require(value % step == 0, fmt::format("{} is at 0x{:x}; addresses are multiples of {}, and 0x{:x} would pass",
                                         what, value, step, value / step * step));
}

}  // namespace

const char* name_of(GroupRows rows) { return rows == GroupRows::kEnds ? "ends" : "counts"; }

std::vector<std::string> matmul_grouped_sm90_configs(bool is_simulated) {
  std::vector<std::string> names;
  for (const MatmulGroupedInstance& instance : kMatmulGroupedInstances) {
    if (is_compiled(instance, is_simulated)) names.push_back(name_of(instance.config));
  }
  return names;
}

MatmulGroupedPlan plan_matmul_grouped(const MatmulGroupedProblem& p, const MatmulGroupedTensors& tensors,
                                      bool is_simulated) {
  check_sizes(p);
  const std::uint32_t out_elem = element_bytes_of(p.out_type);
  MatmulGroupedPlan plan;
  plan.a_pitch = checked_pitch("a", p.a_pitch, p.k, kElementBytes);
  plan.b_pitch = checked_pitch("b", p.b_pitch, p.k, kElementBytes);
  plan.out_pitch = checked_pitch("out", p.out_pitch, p.n, out_elem);
  plan.b_group_stride = checked_batch_stride("b", p.b_group_stride, plan.b_pitch, p.n, p.groups, kElementBytes);
  const auto rows = static_cast<std::uint64_t>(p.m);
  plan.a_bytes = checked_bytes("a", p.m, p.k, plan.a_pitch, plan.a_pitch * rows, 1, kElementBytes);
  plan.b_bytes = checked_bytes("b", p.n, p.k, plan.b_pitch, plan.b_group_stride, p.groups, kElementBytes);
  plan.out_bytes = checked_bytes("out", p.m, p.n, plan.out_pitch, plan.out_pitch * rows, 1, out_elem);
  plan.group_rows_bytes = static_cast<std::size_t>(p.groups) * sizeof(std::int32_t);
  if (p.groups == 0) plan.out_bytes = 0;
  if (plan.out_bytes != 0) check_tensors(tensors, plan);
  plan.instance = instance_of(p, is_simulated);
  return plan;
}

void check_alignment(const MatmulGroupedTensors& tensors) {
  check_aligned("a", tensors.a, 16);
  check_aligned("b", tensors.b, 16);
  check_aligned("out", tensors.out, 16);
  check_aligned("group_rows", tensors.group_rows, sizeof(std::int32_t));
}

}  // namespace heddle
