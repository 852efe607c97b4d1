// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm90_plan.h"

#include "matmul_checks.h"
#include "matmul_sm90_instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace heddle {

using namespace matmul_checks;

namespace {

bool has_types(MatmulElement a, MatmulElement b) {
  return a == b && (a == MatmulElement::kBf16 || a == MatmulElement::kFp16);
}

constexpr MatmulRules kRules{.arch = "sm90",
                             .max_extent = 1 << 30,
                             .has_empty_k = false,
                             .has_batches = false,
                             .max_splits = 1,
                             .has_beta = true,
                             .has_mn_major_a = false,
                             .has_mn_major_b = true,
                             .has_types = has_types,
                             .types = "bf16 times bf16 or fp16 times fp16"};

const char* name_of(MatmulForm form) {
  return form == MatmulForm::kCooperative ? "coop" : form == MatmulForm::kPingpong ? "pingpong" : "single";
}

std::string name_of(const MatmulSm90Instance& instance) {
  const MatmulSm90Config& c = instance.config;
  return fmt::format("{}x{}x{}_{}_{}x{}_{}{}{}", c.tile_m, c.tile_n, c.tile_k, c.stages, c.cluster_m, c.cluster_n,
                     name_of(c.form), c.b_major == Major::kMN ? "_kn" : "", has_fused_epilogue(instance.group) ? "_fused" : "");
}

// The copy engine stores multiples of 16 bytes.
bool is_ragged(const MatmulProblem& p) { return p.n * element_bytes_of(p.out_type) % 16 != 0; }

bool can_run(const MatmulSm90Instance& instance, const MatmulProblem& p, bool is_fused, bool is_simulated) {
  const bool is_kn = instance.config.b_major == Major::kMN;
  return is_kn == (p.b_layout == OperandLayout::kMnMajor) && ((!is_fused && !is_ragged(p)) || has_fused_epilogue(instance.group)) &&
         (is_simulated || instance.group != MatmulGroup::kSimulated);
}

// "@m8": bands of 8 clusters' tiles along M.
void read_order(std::string_view text, MatmulSm90Plan& plan) {
  const std::string_view digits = text.substr(std::min<std::size_t>(1, text.size()));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), plan.group);
  require(!digits.empty() && (text[0] == 'm' || text[0] == 'n') && error == std::errc() &&
              end == digits.data() + digits.size() && plan.group >= 1,
          fmt::format("the order '@{}' of a configuration; '@m8' and '@n8' are examples", text));
  plan.bands_along_m = text[0] == 'm';
}

std::uint32_t tiles_along(std::int64_t elems, std::uint32_t tile) {
  return static_cast<std::uint32_t>((elems + tile - 1) / tile);
}

// What an H200 showed: bands of 8 move least between L2 and memory, unless both operands stay in L2 anyway.
void choose_order(const MatmulProblem& p, const MatmulSm90Config& c, MatmulSm90Plan& plan) {
  constexpr std::uint64_t kKeptBytes = std::uint64_t{40} << 20;
  const std::uint32_t m_tiles = tiles_along(p.m, c.tile_m * c.cluster_m);
  const std::uint32_t n_tiles = tiles_along(p.n, c.tile_n * c.cluster_n);
  const std::uint64_t operand_bytes = 2 * static_cast<std::uint64_t>((p.m + p.n) * p.k);
  plan.group = operand_bytes <= kKeptBytes ? 32 : 8;
  plan.bands_along_m = operand_bytes > kKeptBytes && (c.cluster_m > 1 || n_tiles > m_tiles);
}

// The time of a problem in cycles, roughly: rounds of tiles over the SMs, or what L2 and memory can deliver.
double cost(const MatmulProblem& p, const MatmulSm90Config& c) {
  constexpr double kSms = 132;
  constexpr double kL2BytesPerCycle = 6000;
  constexpr double kMemoryBytesPerCycle = 2200;
  constexpr double kLatency = 3000;
  const auto m = static_cast<double>(p.m);
  const auto n = static_cast<double>(p.n);
  const auto k = static_cast<double>(p.k);
  const bool is_pingpong = c.form == MatmulForm::kPingpong;
  const double m_tiles = tiles_along(p.m, c.tile_m * c.cluster_m) * c.cluster_m;
  const double n_tiles = tiles_along(p.n, c.tile_n * c.cluster_n) * c.cluster_n;
  const double k_blocks = tiles_along(p.k, c.tile_k);
  const double tiles = m_tiles * n_tiles;
  // Where there are many rounds power is the limit, and SMs that idle in the last one leave theirs to others.
  const double share = tiles / kSms;
  const double rounds = share > 3 ? (share + std::ceil(share)) / 2 : std::ceil(share);
  const double width = c.tile_n >= 160 ? 0.97 : c.tile_n >= 128 ? 0.93 : c.tile_n >= 64 ? 0.85 : 0.5;
  const double tile_cycles = k_blocks * c.tile_m * c.tile_n * c.tile_k / 2048.0 / width;
  const double store_cycles = 500 + c.warpgroup_rows() * c.tile_n / 16.0;
  const double math = is_pingpong ? rounds * tile_cycles + store_cycles : rounds * (tile_cycles + store_cycles);
  const double rows = std::min<double>(m, c.tile_m);
  const double l2_bytes = tiles * k_blocks * c.tile_k * 2.0 * (rows / c.cluster_n + double(c.tile_n) / c.cluster_m);
  const double memory_bytes = 2.0 * (m * k + n * k + m * n);
  const double readers = std::min(1.0, tiles / 110);
  return std::max({math, l2_bytes / kL2BytesPerCycle, memory_bytes / kMemoryBytesPerCycle / readers}) + kLatency;
}

// What the search of bench/matmul_bench found on an H200.
struct Tuned {
  std::uint32_t m;
  std::uint32_t n;
  std::uint32_t k;
  const char* config;
};
constexpr Tuned kTuned[] = {
    {512, 512, 512, "64x32x128_9_1x1_single@m8"},
    {1024, 1024, 1024, "64x128x64_8_1x1_single@n12"},
    {2048, 2048, 2048, "128x128x64_6_1x1_pingpong@m3"},
    {4096, 4096, 4096, "128x256x64_4_2x1_coop@n8"},
    {8192, 8192, 8192, "128x192x64_5_2x1_pingpong@m8"},
    {16384, 16384, 16384, "256x192x64_3_1x2_coop@n8"},
    {4096, 14336, 4096, "256x176x64_3_1x2_coop@m8"},
    {4096, 4096, 14336, "128x256x64_4_2x1_coop@n8"},
    {8192, 8192, 1024, "128x192x64_5_2x1_pingpong@n32"},
    {64, 8192, 8192, "64x64x64_13_1x1_single@n3"},
    {16, 4096, 14336, "64x32x128_9_1x1_single@m6"},
    {128, 7168, 16384, "64x112x64_9_2x1_single@n2"},
};

}  // namespace

std::vector<std::string> matmul_sm90_configs(const MatmulProblem& problem, bool is_fused, bool is_simulated) {
  std::vector<std::string> names;
  for (const MatmulSm90Instance& instance : kMatmulSm90Instances) {
    if (can_run(instance, problem, is_fused, is_simulated)) names.push_back(name_of(instance));
  }
  return names;
}

std::string matmul_sm90_choice(const MatmulProblem& problem, bool is_fused, bool is_simulated) {
  if (!is_fused && problem.b_layout == OperandLayout::kKMajor && !is_ragged(problem)) {
    for (const Tuned& tuned : kTuned) {
      if (tuned.m == problem.m && tuned.n == problem.n && tuned.k == problem.k) return tuned.config;
    }
  }
  const MatmulSm90Instance* best = nullptr;
  double least = 0;
  for (const MatmulSm90Instance& instance : kMatmulSm90Instances) {
    if (!can_run(instance, problem, is_fused, is_simulated)) continue;
    const double cycles = cost(problem, instance.config);
    if (best == nullptr || cycles < least) {
      best = &instance;
      least = cycles;
    }
  }
  require(best != nullptr, "no configuration can run the problem");
  MatmulSm90Plan plan;
  choose_order(problem, best->config, plan);
  return fmt::format("{}@{}{}", name_of(*best), plan.bands_along_m ? 'm' : 'n', plan.group);
}

MatmulSm90Plan plan_matmul_sm90(const MatmulProblem& problem, const MatmulTensors& tensors, bool is_simulated) {
  MatmulSm90Plan plan{check_matmul(problem, tensors, kRules)};
  if (plan.out_bytes == 0) return plan;
  const std::string named =
      problem.config.empty() ? matmul_sm90_choice(problem, plan.is_fused, is_simulated) : problem.config;
  const std::size_t at = named.find('@');
  const std::string name = named.substr(0, at);
  for (plan.instance = 0; plan.instance < kMatmulSm90InstanceCount; ++plan.instance) {
    if (name_of(kMatmulSm90Instances[plan.instance]) == name) break;
  }
  require(plan.instance < kMatmulSm90InstanceCount, fmt::format("no configuration is called '{}'", name));
  const MatmulSm90Instance& instance = kMatmulSm90Instances[plan.instance];
  require(can_run(instance, problem, plan.is_fused, is_simulated),
          fmt::format("configuration '{}' cannot run this problem: {}", name,
                      (instance.config.b_major == Major::kMN) != (problem.b_layout == OperandLayout::kMnMajor)
                          ? "it has the other layout of B"
                      : plan.is_fused ? "it stores the sums as they are"
                      : plan.is_ragged ? "its rows of the output end on multiples of 16 bytes"
                                      : "it is for the simulated SM"));
  choose_order(problem, instance.config, plan);
  if (at != std::string::npos) read_order(std::string_view(named).substr(at + 1), plan);
  return plan;
}

}  // namespace heddle
