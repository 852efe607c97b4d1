// SPDX-License-Identifier: Apache-2.0
//
// Which instance, order of tiles and parts of K a problem gets where the caller names none.
#include "matmul_sm90_instances.h"
#include "matmul_sm90_plan.h"
#include "matmul_tune_file.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heddle {

namespace {

std::uint32_t tiles_along(std::int64_t elems, std::uint32_t tile) {
  return static_cast<std::uint32_t>((elems + tile - 1) / tile);
}

constexpr double kSms = 132;

// Those that clusters add at the edges included.
double tiles_of(const MatmulProblem& p, const MatmulSm90Config& c) {
  return double(tiles_along(p.m, c.tile_m * c.cluster_m) * c.cluster_m) *
         double(tiles_along(p.n, c.tile_n * c.cluster_n) * c.cluster_n);
}

// The constants are those under which the model loses least over 29 shapes that an H200 timed with every
// configuration: 0.7 % against the best of them. None of the shapes is in a table of docs/results.
constexpr double kFixedCycles = 8000;       // of a launch
constexpr double kL2BytesPerCycle = 9240;    // of all SMs
constexpr double kSmBytesPerCycle = 67.8;      // into one SM
constexpr double kMemoryBytesPerCycle = 2040;
constexpr double kReadersOfMemory = 95;     // SMs that can take all of it
constexpr double kMisalignedRows = 1.34;     // times as much through L2, where rows of K begin inside of 128 bytes
constexpr double kShareOfLastRound = 0.66;  // of its idle time, that is lost where there are many rounds
constexpr double kBytesOfPower = 1.0;       // where there are many rounds, power is the limit, and moving bytes takes it
constexpr double kAddCycles = 5500;         // to add up parts of K, besides
constexpr double kAddedBytesPerCycle = 2140;

// Of the tensor cores' peak.
double efficiency(const MatmulSm90Config& c) {
  const double form = c.form == MatmulForm::kSingle ? 0.81 : c.form == MatmulForm::kPingpong ? 0.98 : 0.95;
  const double width = c.tile_n >= 160 ? 1.0 : c.tile_n >= 112 ? 0.97 : c.tile_n >= 64 ? 0.74 : 0.41;
  return form * width;
}

// The time of a problem in cycles, roughly: rounds of tiles over the SMs, each at the pace of the tensor cores, of
// what goes into an SM or of what L2 can deliver; or else what memory can deliver.
double cost(const MatmulProblem& p, const MatmulSm90Config& c, std::uint32_t splits) {
  const double tiles = tiles_of(p, c) * splits;
  const double k_blocks = tiles_along(tiles_along(p.k, c.tile_k), splits);
  const double active = std::min(tiles, kSms);
  const double share = tiles / kSms;
  const bool has_many_rounds = share > 3;
  const double rounds = has_many_rounds ? share + kShareOfLastRound * (std::ceil(share) - share) : std::ceil(share);

  const auto m = static_cast<double>(p.m);
  const auto n = static_cast<double>(p.n);
  const auto k = static_cast<double>(p.k);
  const double rows = std::min<double>(c.tile_m, std::ceil(m / 8) * 8);
  const double block_bytes = 2.0 * c.tile_k * (rows + c.tile_n);
  const double l2_bytes = 2.0 * c.tile_k * (rows / c.cluster_n + double(c.tile_n) / c.cluster_m) *
                          (p.k % 64 == 0 ? 1.0 : kMisalignedRows);
  const double block = std::max({c.tile_m * c.tile_n * c.tile_k / 2048.0 / efficiency(c), block_bytes / kSmBytesPerCycle,
                                 l2_bytes * active / kL2BytesPerCycle});
  const double store = c.warpgroup_rows() * c.tile_n / 16.0;
  double cycles = rounds * k_blocks * block + (c.form == MatmulForm::kPingpong ? store : rounds * store);
  if (has_many_rounds) cycles *= 1 + kBytesOfPower * (1.0 / c.tile_m + 1.0 / c.tile_n);

  const double memory_bytes = 2.0 * (m * k + n * k + m * n);
  const double readers = double(tiles_along(p.m, c.tile_m)) * tiles_along(p.n, c.tile_n) * splits;
  const double memory = memory_bytes / kMemoryBytesPerCycle / std::min(1.0, readers / kReadersOfMemory);
  const double added = splits == 1 ? 0 : kAddCycles + 4.0 * splits * m * n / kAddedBytesPerCycle;
  // CTAs of a cluster that have nothing to do are in the way of the others.
  const double idle = tiles > readers ? 1.02 : 1.0;
  return std::max(cycles, memory) * idle + kFixedCycles + added;
}

// What the search of bench/matmul_bench found on an H200.
struct Tuned {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
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

void choose_order(const MatmulProblem& p, MatmulSm90Choice& choice) {
  // Neighbours share what their clusters do not; without clusters, the larger operand.
  const MatmulSm90Config& c = kMatmulSm90Instances[choice.instance].config;
  const bool is_one_round = c.cluster() > 1 && tiles_of(p, c) * choice.splits <= kSms;
  choice.group = is_one_round ? 32 : 8;
  choice.bands_along_m = c.cluster() > 1 ? c.cluster_n > 1 : p.n > p.m;
}

MatmulSm90Choice choose_matmul_sm90(const MatmulProblem& problem, const MatmulSm90Needs& needs) {
  const bool is_split = problem.splits > 1;
  if (!is_split) {
    if (const std::optional<MatmulSm90Choice> tuned = tuned_matmul_choice(problem, needs)) return *tuned;
  }
  if (!is_split && !needs.is_simulated && can_run(0, problem, needs, false)) {
    for (const Tuned& tuned : kTuned) {
      if (tuned.m == problem.m && tuned.n == problem.n && tuned.k == problem.k) {
        return read_matmul_sm90_choice(problem, needs, tuned.config);
      }
    }
  }
  const std::vector<std::uint32_t> all_splits = is_split ? std::vector<std::uint32_t>{static_cast<std::uint32_t>(problem.splits)}
                                                         : std::vector<std::uint32_t>{1, 2, 3, 4, 6, 8, 12, 16};
  MatmulSm90Choice best;
  double least = -1;
  for (std::uint32_t i = 0; i < kMatmulSm90InstanceCount; ++i) {
    const MatmulSm90Config& config = kMatmulSm90Instances[i].config;
    for (const std::uint32_t splits : all_splits) {
      if (!can_run(i, problem, needs, splits > 1) || possible_splits(i, problem, splits) != splits) continue;
      // Parts that nobody asked for must fill SMs that are idle without them. The simulated SM has none of these.
      if (splits > 1 && !is_split &&
          (needs.is_simulated || tiles_of(problem, config) * splits > kSms ||
           workspace_of(problem, splits) > needs.workspace_bytes)) {
        continue;
      }
      const double cycles = cost(problem, config, splits);
      if (least < 0 || cycles < least) {
        best.instance = i;
        best.splits = splits;
        least = cycles;
      }
    }
  }
  if (least < 0) {
    throw InputError(fmt::format("matmul: splits is {}; the parts of K are equal and multiples of 64, and one would be empty. "
                                 "{} would pass",
                                 problem.splits, possible_splits(0, problem, static_cast<std::uint32_t>(problem.splits))));
  }
  choose_order(problem, best);
  return best;
}

}  // namespace heddle
