// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm90_plan.h"

#include "matmul_sm90_instances.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace heddle {

namespace {

constexpr std::uint32_t kMaxExtent = 1u << 30;

void require(bool holds, const std::string& message) {
  if (!holds) throw InputError("matmul: " + message);
}

std::uint32_t bytes_of(MatmulType type) { return type == MatmulType::kFp32 ? 4 : 2; }

const char* name_of(MatmulType type) {
  return type == MatmulType::kBf16 ? "bf16" : type == MatmulType::kFp16 ? "fp16" : "fp32";
}

const char* name_of(MatmulForm form) {
  return form == MatmulForm::kCooperative ? "coop" : form == MatmulForm::kPingpong ? "pingpong" : "single";
}

std::string name_of(const MatmulSm90Instance& instance) {
  const MatmulSm90Config& c = instance.config;
  return fmt::format("{}x{}x{}_{}_{}x{}_{}{}{}", c.tile_m, c.tile_n, c.tile_k, c.stages, c.cluster_m, c.cluster_n,
                     name_of(c.form), c.b_major == Major::kMN ? "_kn" : "", has_fused_epilogue(instance.group) ? "_fused" : "");
}

// The copy engine stores multiples of 16 bytes.
bool is_ragged(const MatmulProblem& p) { return std::uint64_t{p.n} * bytes_of(p.output) % 16 != 0; }

bool can_run(const MatmulSm90Instance& instance, const MatmulProblem& p, bool is_fused, bool is_simulated) {
  const bool is_kn = instance.config.b_major == Major::kMN;
  return is_kn == (p.b_layout == BLayout::kKN) && ((!is_fused && !is_ragged(p)) || has_fused_epilogue(instance.group)) &&
         (is_simulated || instance.group != MatmulGroup::kSimulated);
}

std::uint64_t checked_pitch(const char* what, std::uint64_t pitch, std::uint64_t cols, std::uint32_t element_bytes) {
  const std::uint64_t taken = pitch == 0 ? cols : pitch;
  require(taken >= cols, fmt::format("{}_pitch is {} elements, less than the {} of a row", what, taken, cols));
  const std::uint32_t step = 16 / element_bytes;
  require(taken % step == 0,
          fmt::format("rows of {} are {} elements apart, {} bytes; the copy engine takes multiples of 16 bytes. A pitch "
                      "of {} would pass",
                      what, taken, taken * element_bytes, (taken + step - 1) / step * step));
  return taken;
}

void require_address(const char* what, const void* address) {
  require(address != nullptr, fmt::format("{} is null", what));
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  require(value % 16 == 0, fmt::format("{} is at 0x{:x}; addresses are multiples of 16, and 0x{:x} would pass", what, value,
                                       value / 16 * 16));
}

void check(const MatmulProblem& p) {
  const auto extent = [](const char* what, std::uint32_t value) {
    require(value >= 1 && value <= kMaxExtent, fmt::format("{} is {}; 1 to {}", what, value, kMaxExtent));
  };
  extent("m", p.m);
  extent("n", p.n);
  extent("k", p.k);
  require(p.input != MatmulType::kFp32, fmt::format("the input is {}; bf16 or fp16", name_of(p.input)));
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

std::uint32_t tiles_along(std::uint32_t elems, std::uint32_t tile) { return (elems + tile - 1) / tile; }

// What an H200 showed: bands of 8 move least between L2 and memory, unless both operands stay in L2 anyway.
void choose_order(const MatmulProblem& p, const MatmulSm90Config& c, MatmulSm90Plan& plan) {
  constexpr std::uint64_t kKeptBytes = std::uint64_t{40} << 20;
  const std::uint32_t m_tiles = tiles_along(p.m, c.tile_m * c.cluster_m);
  const std::uint32_t n_tiles = tiles_along(p.n, c.tile_n * c.cluster_n);
  const std::uint64_t operand_bytes = 2 * (std::uint64_t{p.m} + p.n) * p.k;
  plan.group = operand_bytes <= kKeptBytes ? 32 : 8;
  plan.bands_along_m = operand_bytes > kKeptBytes && (c.cluster_m > 1 || n_tiles > m_tiles);
}

// The time of a problem in cycles, roughly: rounds of tiles over the SMs, or what L2 and memory can deliver.
double cost(const MatmulProblem& p, const MatmulSm90Config& c) {
  constexpr double kSms = 132;
  constexpr double kL2BytesPerCycle = 6000;
  constexpr double kMemoryBytesPerCycle = 2200;
  constexpr double kLatency = 3000;
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
  const double rows = p.m < c.tile_m ? p.m : c.tile_m;
  const double l2_bytes = tiles * k_blocks * c.tile_k * 2.0 * (rows / c.cluster_n + double(c.tile_n) / c.cluster_m);
  const double memory_bytes = 2.0 * (double(p.m) * p.k + double(p.n) * p.k + double(p.m) * p.n);
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

std::vector<std::string> matmul_configs(const MatmulProblem& problem, bool is_fused, bool is_simulated) {
  std::vector<std::string> names;
  for (const MatmulSm90Instance& instance : kMatmulSm90Instances) {
    if (can_run(instance, problem, is_fused, is_simulated)) names.push_back(name_of(instance));
  }
  return names;
}

std::string matmul_choice(const MatmulProblem& problem, bool is_fused, bool is_simulated) {
  check(problem);
  if (!is_fused && problem.b_layout == BLayout::kNK && !is_ragged(problem)) {
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
  check(problem);
  require_address("a", tensors.a);
  require_address("b", tensors.b);
  require_address("out", tensors.out);
  MatmulSm90Plan plan;
  plan.is_fused = problem.alpha != 1 || problem.beta != 0 || problem.activation != Activation::kNone ||
                  tensors.bias != nullptr || tensors.residual != nullptr;
  plan.is_ragged = is_ragged(problem);
  plan.a_pitch = checked_pitch("a", problem.a_pitch, problem.k, bytes_of(problem.input));
  plan.b_pitch = checked_pitch("b", problem.b_pitch, problem.b_layout == BLayout::kNK ? problem.k : problem.n,
                               bytes_of(problem.input));
  plan.out_pitch = checked_pitch("out", problem.out_pitch, problem.n, bytes_of(problem.output));
  plan.residual_pitch = problem.residual_pitch == 0 ? problem.n : problem.residual_pitch;
  require(plan.residual_pitch >= problem.n,
          fmt::format("residual_pitch is {} elements, less than the {} of a row", plan.residual_pitch, problem.n));

  const std::string named =
      problem.config.empty() ? matmul_choice(problem, plan.is_fused, is_simulated) : problem.config;
  const std::size_t at = named.find('@');
  const std::string name = named.substr(0, at);
  for (plan.instance = 0; plan.instance < kMatmulSm90InstanceCount; ++plan.instance) {
    if (name_of(kMatmulSm90Instances[plan.instance]) == name) break;
  }
  require(plan.instance < kMatmulSm90InstanceCount, fmt::format("no configuration is called '{}'", name));
  const MatmulSm90Instance& instance = kMatmulSm90Instances[plan.instance];
  require(can_run(instance, problem, plan.is_fused, is_simulated),
          fmt::format("configuration '{}' cannot run this problem: {}", name,
                      (instance.config.b_major == Major::kMN) != (problem.b_layout == BLayout::kKN)
                          ? "it has the other layout of B"
                      : plan.is_fused ? "it stores the sums as they are"
                      : plan.is_ragged ? "its rows of the output end on multiples of 16 bytes"
                                      : "it is for the simulated SM"));
  choose_order(problem, instance.config, plan);
  if (at != std::string::npos) read_order(std::string_view(named).substr(at + 1), plan);
  return plan;
}

void check_matmul_data(const MatmulProblem& problem, const MatmulSm90Plan& plan, const MatmulData& data) {
  const auto need = [](const char* what, std::size_t bytes, std::uint64_t rows, std::uint64_t cols, std::uint64_t pitch,
                       MatmulType type) {
    const std::uint64_t least = ((rows - 1) * pitch + cols) * bytes_of(type);
    require(bytes >= least, fmt::format("{} has {} bytes; its matrix takes {}", what, bytes, least));
  };
  const bool is_nk = problem.b_layout == BLayout::kNK;
  need("a", data.a.size(), problem.m, problem.k, plan.a_pitch, problem.input);
  need("b", data.b.size(), is_nk ? problem.n : problem.k, is_nk ? problem.k : problem.n, plan.b_pitch, problem.input);
  need("out", data.out.size(), problem.m, problem.n, plan.out_pitch, problem.output);
  if (!data.bias.empty()) need("bias", data.bias.size(), 1, problem.n, problem.n, problem.output);
  if (!data.residual.empty()) {
    need("residual", data.residual.size(), problem.m, problem.n, plan.residual_pitch, problem.output);
  }
}

}  // namespace heddle
