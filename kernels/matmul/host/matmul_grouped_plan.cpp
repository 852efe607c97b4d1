// SPDX-License-Identifier: Apache-2.0
#include "matmul_grouped_plan.h"

#include "matmul_checks.h"
#include "matmul_sm100_grouped_configs.h"

#include "matmul/device/matmul_sm90_grouped_instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace heddle {

using namespace matmul_checks;

namespace {

constexpr std::int64_t kMaxRows = 1 << 30;  // what positions of rows as 32-bit numbers allow, with tiles added
constexpr double kMaxTiles = double{1u << 31};
constexpr std::int64_t kScaleBlock = 128;

std::string name_of(const MatmulGroupedInstance& instance) {
  const MatmulGroupedConfig& c = instance.config;
  const bool is_fp8 = instance.a_type != MatmulElement::kBf16;
  return fmt::format("{}x{}x{}_{}_{}x{}{}{}{}", c.tile_m, c.tile_n, c.tile_k, c.stages, c.cluster_m, c.cluster_n,
                     is_fp8 ? std::string("_") + name_of(instance.a_type) : "",
                     c.accumulation == Accumulation::kPromoted    ? "_exact"
                     : c.accumulation == Accumulation::kBlockwise ? "_blocks"
                                                                  : "",
                     instance.takes_turns ? "_pingpong" : "");
}

// Whether an instance multiplies what the problem has, in the way that it asks for.
bool fits(const MatmulGroupedInstance& instance, const MatmulGroupedProblem& p) {
  const Accumulation wanted = p.scaling == GroupScaling::kBlocks ? Accumulation::kBlockwise
                              : p.is_exact                       ? Accumulation::kPromoted
                                                                 : Accumulation::kWhole;
  return instance.a_type == p.a_type && instance.b_type == p.b_type && instance.config.accumulation == wanted &&
         (!instance.takes_turns || (p.rows == GroupRows::kAll && p.scaling == GroupScaling::kTensors));
}

std::int64_t rounded_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// Cycles of an H200 for groups of `rows` rows each. Tiles are dealt out in rounds; of a tile, a warpgroup's share
// of rows is multiplied whole or not at all. A round takes as long as its multiplications or its copies; B, which
// is read once, takes the memory's time. Warpgroups that take turns leave nothing idle between two tiles, and
// power hides what they wait for in shared memory.
double cost(const MatmulGroupedInstance& instance, const MatmulGroupedProblem& p, std::int64_t rows) {
  const MatmulGroupedConfig& c = instance.config;
  const bool in_turns = instance.takes_turns;
  constexpr std::int64_t kSms = 132;
  constexpr double kTensorBytes = 8192;            // of K times M times N, in each cycle of an SM
  const double copied_bytes = in_turns ? 64 : 40;  // in each cycle of an SM, from the L2 cache
  constexpr double kMemoryBytes = 2450;            // in each cycle, of all SMs
  constexpr double kStore = 2500;                  // cycles to store a tile, for which nothing is multiplied
  constexpr double kKeep = 1200;                   // and to scale one that is stored later
  constexpr double kOneWarpgroup = 1.1;            // alone it leaves gaps between its multiplications
  constexpr double kPromoted = 1.12;               // two that add to totals leave some, too
  const double row_bytes = static_cast<double>(p.k) * element_bytes_of(p.a_type);
  const std::int64_t cluster = c.cluster();
  const std::int64_t cluster_rows = std::int64_t{c.tile_m} * c.cluster_m;
  const std::int64_t cluster_cols = std::int64_t{c.tile_n} * c.cluster_n;
  const std::int64_t tiles_m = rounded_up(rows, cluster_rows) / cluster_rows;
  const std::int64_t tiles = p.groups * tiles_m * (rounded_up(p.n, cluster_cols) / cluster_cols);
  const std::int64_t rounds = rounded_up(tiles, kSms / cluster) / (kSms / cluster);
  const std::int64_t share = in_turns ? c.tile_m : c.tile_m / c.warpgroups;
  const double tile_rows = std::min(static_cast<double>(c.tile_m),
                                    static_cast<double>(rounded_up(rows, share)) / static_cast<double>(tiles_m));
  // Tensor cores and copies share the bandwidth of shared memory, 128 bytes in each cycle: an instruction of n
  // columns reads 2048 + 32 n bytes in n / 2 cycles, and a stage of the tile is written once.
  const double m = c.tile_m;
  const double n = c.tile_n;
  const double slowed = in_turns ? 1.0
                                 : std::max(c.accumulation == Accumulation::kWhole ? 1.0 : kPromoted,
                                            (4096 / n + 64 + 4096 * (1 / m + 1 / n)) / 128);
  const double multiply =
      2.0 * tile_rows * n * row_bytes / kTensorBytes * slowed * (c.warpgroups == 1 ? kOneWarpgroup : 1.0);
  const double copies =
      static_cast<double>(c.tile_m / c.cluster_n + c.tile_n / c.cluster_m) * row_bytes / copied_bytes;
  const double memory = static_cast<double>(p.groups) * static_cast<double>(p.n) * row_bytes / kMemoryBytes;
  const bool is_scaled_whole = p.a_type != MatmulElement::kBf16 && c.accumulation == Accumulation::kWhole;
  const double stored = in_turns ? 0 : !c.stores_later() ? kStore : is_scaled_whole ? kKeep : 0;
  const double of_rounds = static_cast<double>(rounds) * (std::max(multiply, copies) + stored);
  return std::max(of_rounds, memory) + 0.1 * std::min(of_rounds, memory);
}

std::int64_t rows_of_group(const MatmulGroupedProblem& p) {
  const std::int64_t all = p.expected_rows > 0 ? p.expected_rows : p.m / std::max<std::int64_t>(p.groups, 1);
  return std::max<std::int64_t>(all, 1);
}

std::uint32_t chosen(const MatmulGroupedProblem& p) {
  const std::int64_t rows = rows_of_group(p);
  std::uint32_t best = kMatmulGroupedInstanceCount;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < kMatmulGroupedInstanceCount; ++i) {
    const MatmulGroupedInstance& instance = kMatmulGroupedInstances[i];
    if (instance.is_simulated_only || !fits(instance, p)) continue;
    const double cycles = cost(instance, p, rows);
    if (cycles < least) {
      least = cycles;
      best = i;
    }
  }
  return best;
}

[[noreturn]] void refuse_config(const std::string& config, const std::vector<std::string>& names) {
  throw InputError(fmt::format("matmul: no configuration for this problem is called '{}'; there are {}", config,
                               fmt::join(names, ", ")));
}

// No card has timed these: the least tile that has the rows of a group, and else the largest.
std::uint32_t sm100_instance_of(const MatmulGroupedProblem& p) {
  const std::vector<std::string> names = matmul_grouped_sm100_configs(p);
  if (!p.config.empty()) {
    const auto found = std::find(names.begin(), names.end(), p.config);
    if (found == names.end()) refuse_config(p.config, names);
    return static_cast<std::uint32_t>(found - names.begin());
  }
  if (p.scaling == GroupScaling::kBlocks) return 0;
  const std::int64_t rows = rows_of_group(p);
  for (std::uint32_t i = 0; i + 1 < kGroupedConfigCount; ++i) {
    if (rows <= kGroupedConfigs[i].config.tile_m) return i;
  }
  return kGroupedConfigCount - 1;
}

std::uint32_t instance_of(const MatmulGroupedProblem& p, bool is_simulated) {
  if (p.config.empty()) {
    const std::uint32_t best = chosen(p);
    require(best < kMatmulGroupedInstanceCount,
            fmt::format("there is no kernel for {} times {} with scales of {}{}; e4m3 times e4m3 would pass",
                        name_of(p.a_type), name_of(p.b_type), name_of(p.scaling), p.is_exact ? ", exact" : ""));
    return best;
  }
  for (std::uint32_t i = 0; i < kMatmulGroupedInstanceCount; ++i) {
    const MatmulGroupedInstance& instance = kMatmulGroupedInstances[i];
    if (is_compiled(instance, is_simulated) && fits(instance, p) && name_of(instance) == p.config) return i;
  }
  refuse_config(p.config, matmul_grouped_sm90_configs(p, is_simulated));
}

void check_sizes(const MatmulGroupedProblem& p, Arch arch) {
  check_extent("groups", p.groups, kMaxRows);
  check_extent("m", p.m, kMaxRows);
  check_extent("n", p.n, kMaxRows);
  check_extent("k", p.k, kMaxRows);
  require(p.k > 0, fmt::format("k is 0; {} takes 1 and more", limits_of(arch).name));
  check_enumerator("rows", p.rows, GroupRows::kAll);
  check_enumerator("a_type", p.a_type, MatmulElement::kE5m2);
  check_enumerator("b_type", p.b_type, MatmulElement::kE5m2);
  check_enumerator("out_type", p.out_type, MatmulElement::kE5m2);
  check_enumerator("scaling", p.scaling, GroupScaling::kBlocks);
  const bool is_bf16 = p.a_type == MatmulElement::kBf16 && p.b_type == MatmulElement::kBf16;
  const bool is_fp8 =
      (p.a_type == MatmulElement::kE4m3 || p.a_type == MatmulElement::kE5m2) && p.b_type == MatmulElement::kE4m3;
  require(
      is_bf16 || is_fp8,
      fmt::format("{} times {} is not a supported pair of types; bf16 times bf16, e4m3 times e4m3 or e5m2 times "
                  "e4m3 would pass",
                  name_of(p.a_type), name_of(p.b_type)));
  require(is_fp8 == (p.scaling != GroupScaling::kNone),
          fmt::format("the types are {} and {}, and the scales {}; FP8 has scales, and bf16 has none",
                      name_of(p.a_type), name_of(p.b_type), name_of(p.scaling)));
  require(is_fp8 || !p.is_exact, "is_exact is for FP8; false would pass");
  require(arch == Arch::kSm90 || !p.is_exact,
          "is_exact is for sm90, whose tensor cores add FP8 with fewer bits than bf16; those of sm100 add both "
          "alike, and false would pass");
  check_output_type(name_of(p.a_type), p.out_type);
  require(p.rows != GroupRows::kAll || p.groups == 1,
          fmt::format("groups is {}, and all rows are one group; 1 would pass", p.groups));
  require(p.n % 8 == 0, fmt::format("n is {}; groups store their last rows 16 bytes at a time, and {} would pass",
                                    p.n, rounded_up(p.n, 8)));
  require(p.rows != GroupRows::kCounts || p.groups == 0 || p.m % p.groups == 0,
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
  check_address("a_scales", tensors.a_scales, plan.a_scales_bytes);
  check_address("b_scales", tensors.b_scales, plan.b_scales_bytes);
  check_apart("a_scales", tensors.a_scales, plan.a_scales_bytes, tensors.out, plan.out_bytes);
  check_apart("b_scales", tensors.b_scales, plan.b_scales_bytes, tensors.out, plan.out_bytes);
}

std::int64_t blocks_of(std::int64_t extent) { return rounded_up(extent, kScaleBlock) / kScaleBlock; }

void plan_scales(const MatmulGroupedProblem& p, MatmulGroupedPlan& plan) {
  const auto bytes = [](const char* what, std::int64_t rows, std::int64_t cols) {
    const auto pitch = static_cast<std::uint64_t>(cols);
    return checked_bytes(what, rows, cols, pitch, pitch * static_cast<std::uint64_t>(rows), 1, sizeof(float));
  };
  switch (p.scaling) {
    case GroupScaling::kNone: return;
    case GroupScaling::kTensors:
      plan.a_scales_bytes = sizeof(float);
      plan.b_scales_bytes = bytes("b_scales", 1, p.groups);
      return;
    case GroupScaling::kRows:
      plan.a_scales_bytes = bytes("a_scales", 1, p.m);
      plan.b_scales_bytes = bytes("b_scales", p.groups, p.n);
      return;
    case GroupScaling::kBlocks:
      plan.a_scales_pitch = checked_pitch(
          "a_scales", p.a_scales_pitch == 0 ? rounded_up(p.m, 4) : p.a_scales_pitch, p.m, sizeof(float));
      plan.a_scales_bytes =
          checked_bytes("a_scales", blocks_of(p.k), p.m, plan.a_scales_pitch,
                        plan.a_scales_pitch * static_cast<std::uint64_t>(blocks_of(p.k)), 1, sizeof(float));
      plan.b_scales_bytes = bytes("b_scales", p.groups, blocks_of(p.n) * blocks_of(p.k));
      return;
  }
}

void check_aligned(const char* what, const void* address, std::uintptr_t step) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  require(value % step == 0, fmt::format("{} is at 0x{:x}; addresses are multiples of {}, and 0x{:x} would pass",
                                         what, value, step, value / step * step));
}

}  // namespace

const char* name_of(GroupRows rows) {
  return rows == GroupRows::kEnds ? "ends" : rows == GroupRows::kCounts ? "counts" : "all";
}

const char* name_of(GroupScaling scaling) {
  switch (scaling) {
    case GroupScaling::kNone: return "none";
    case GroupScaling::kTensors: return "tensors";
    case GroupScaling::kRows: return "rows";
    case GroupScaling::kBlocks: return "blocks";
  }
  return "unknown";
}

std::vector<std::string> matmul_grouped_sm90_configs(const MatmulGroupedProblem& problem, bool is_simulated) {
  std::vector<std::string> names;
  for (const MatmulGroupedInstance& instance : kMatmulGroupedInstances) {
    if (is_compiled(instance, is_simulated) && fits(instance, problem)) names.push_back(name_of(instance));
  }
  return names;
}

std::vector<std::string> matmul_grouped_sm100_configs(const MatmulGroupedProblem& problem) {
  std::vector<std::string> names;
  if (problem.scaling == GroupScaling::kBlocks) {
    for (const MatmulSm100GroupedNamed& named : kGroupedBlockwiseConfigs) names.emplace_back(named.name);
  } else {
    for (const MatmulSm100GroupedNamed& named : kGroupedConfigs) names.emplace_back(named.name);
  }
  return names;
}

std::string config_of(const MatmulGroupedPlan& plan) {
  if (plan.arch == Arch::kSm90) return name_of(kMatmulGroupedInstances[plan.instance]);
  return (plan.is_blockwise ? kGroupedBlockwiseConfigs : kGroupedConfigs)[plan.instance].name;
}

MatmulGroupedPlan plan_matmul_grouped(const MatmulGroupedProblem& p, const MatmulGroupedTensors& tensors,
                                      bool is_simulated, Arch arch) {
  check_sizes(p, arch);
  const std::uint32_t elem = element_bytes_of(p.a_type);
  const std::uint32_t out_elem = element_bytes_of(p.out_type);
  MatmulGroupedPlan plan;
  plan.arch = arch;
  plan.is_blockwise = p.scaling == GroupScaling::kBlocks;
  plan.a_pitch = checked_pitch("a", p.a_pitch, p.k, elem);
  plan.b_pitch = checked_pitch("b", p.b_pitch, p.k, elem);
  plan.out_pitch = checked_pitch("out", p.out_pitch, p.n, out_elem);
  plan.b_group_stride = checked_batch_stride("b", p.b_group_stride, plan.b_pitch, p.n, p.groups, elem, "group");
  const auto rows = static_cast<std::uint64_t>(p.m);
  plan.a_bytes = checked_bytes("a", p.m, p.k, plan.a_pitch, plan.a_pitch * rows, 1, elem);
  plan.b_bytes = checked_bytes("b", p.n, p.k, plan.b_pitch, plan.b_group_stride, p.groups, elem);
  plan.out_bytes = checked_bytes("out", p.m, p.n, plan.out_pitch, plan.out_pitch * rows, 1, out_elem);
  plan.group_rows_bytes =
      p.rows == GroupRows::kAll ? 0 : static_cast<std::size_t>(p.groups) * sizeof(std::int32_t);
  plan_scales(p, plan);
  if (p.groups == 0) plan.out_bytes = 0;
  if (plan.out_bytes != 0) check_tensors(tensors, plan);
  plan.instance = arch == Arch::kSm90 ? instance_of(p, is_simulated) : sm100_instance_of(p);
  return plan;
}

void check_alignment(const MatmulGroupedTensors& tensors) {
  check_aligned("a", tensors.a, 16);
  check_aligned("b", tensors.b, 16);
  check_aligned("out", tensors.out, 16);
  check_aligned("group_rows", tensors.group_rows, sizeof(std::int32_t));
  check_aligned("a_scales", tensors.a_scales, 16);
  check_aligned("b_scales", tensors.b_scales, 16);
}

}  // namespace heddle
