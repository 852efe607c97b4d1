// SPDX-License-Identifier: Apache-2.0
//
// Which instance, order of tiles and parts of K a problem gets where the caller names none.
#include "matmul/device/matmul_sm90_instances.h"
#include "matmul_choice_cache.h"
#include "matmul_first_use.h"
#include "matmul_sm90_cost.h"
#include "matmul_sm90_plan.h"
#include "matmul_tune_file.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle {

namespace {

std::uint32_t tiles_along(std::int64_t elems, std::uint32_t tile) {
  return static_cast<std::uint32_t>((elems + tile - 1) / tile);
}

// Those that clusters add at the edges included.
double tiles_of(const MatmulProblem& p, const MatmulSm90Config& c) {
  return double(tiles_along(c.is_swapped ? p.n : p.m, c.tile_m * c.cluster_m) * c.cluster_m) *
         double(tiles_along(c.is_swapped ? p.m : p.n, c.tile_n * c.cluster_n) * c.cluster_n);
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
    {2048, 2048, 2048, "128x256x64_4_2x1_coop@n2"},
    {4096, 4096, 4096, "128x256x64_4_2x1_coop@n8"},
    {8192, 8192, 8192, "184x256x64_3_1x1_coop_swapped@m16"},
    {16384, 16384, 16384, "256x192x64_3_1x2_coop@n8"},
    {4096, 14336, 4096, "256x176x64_3_1x2_coop@m8"},
    {4096, 4096, 14336, "128x256x64_4_2x1_coop@n8"},
    {8192, 8192, 1024, "200x128x64_5_1x1_pingpong_swapped@n32"},
    {64, 8192, 8192, "64x128x64_8_2x1_single@m2"},
    {16, 4096, 14336, "64x32x128_9_1x1_single@m6"},
    {128, 7168, 16384, "64x112x64_9_2x1_single@n2"},
};

}  // namespace

void choose_order(const MatmulProblem& p, MatmulSm90Choice& choice) {
  // Neighbours share what their clusters do not; without clusters, the larger operand. Where all clusters run at
  // once, short bands across those that share are better: by a percent in the mean, by up to five.
  const MatmulSm90Config& c = kMatmulSm90Instances[choice.instance].config;
  const bool is_one_round = c.cluster() > 1 && tiles_of(p, c) * choice.splits <= kMatmulSm90Sms;
  const bool shares_along_n = (c.cluster_n > 1) != c.is_swapped;
  choice.group = is_one_round ? 2 : 8;
  choice.bands_along_m = c.cluster() == 1 ? p.n > p.m : shares_along_n != is_one_round;
}

namespace {

struct Candidate {
  MatmulSm90Way way;
  double us;  // by the formula
};

// The simulated SM has times of its own, and its problems are small: it gets the smallest tile with which a card
// would be done in one round, or else the largest.
double simulated_us(const MatmulProblem& problem, std::uint32_t instance, std::uint32_t splits) {
  const MatmulSm90Config& config = kMatmulSm90Instances[instance].config;
  const double area = double(config.tile_m) * config.tile_n;
  return tiles_of(problem, config) * splits <= kMatmulSm90Sms ? area : 1e9 / area;
}

std::vector<Candidate> candidates(const MatmulProblem& problem, const MatmulSm90Needs& needs) {
  std::vector<Candidate> all;
  const auto add = [&](std::uint32_t instance, std::uint32_t splits) {
    if (!can_run(instance, problem, needs, splits) || possible_splits(instance, problem, splits) != splits)
      return false;
    // Where the caller lets launches overlap, those whose CTAs share nothing may do better without.
    const bool may_be_alone =
        problem.is_dependent && splits == 1 && kMatmulSm90Instances[instance].config.cluster() == 1;
    for (const bool is_alone : {false, true}) {
      if (is_alone && (needs.is_simulated || !may_be_alone)) continue;
      const MatmulSm90Way way{instance, splits, is_alone || !problem.is_dependent};
      all.push_back({way, needs.is_simulated ? simulated_us(problem, instance, splits)
                                             : matmul_sm90_formula_us(problem, way)});
    }
    return true;
  };
  for (std::uint32_t i = 0; i < kMatmulSm90InstanceCount; ++i) {
    if (problem.splits > 1) {
      add(i, static_cast<std::uint32_t>(problem.splits));
      continue;
    }
    add(i, 1);
    // Parts that nobody asked for must shorten the rounds of tiles. The simulated SM has none of these.
    if (needs.is_simulated) continue;
    const MatmulSm90Config& config = kMatmulSm90Instances[i].config;
    const double tiles = tiles_of(problem, config);
    double least_rounds = std::ceil(tiles / kMatmulSm90Sms);
    for (const std::uint32_t splits : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 10u, 12u, 16u}) {
      const double rounds = std::ceil(tiles * splits / kMatmulSm90Sms) / splits;
      if (rounds > 0.9 * least_rounds || tiles_along(problem.k, config.tile_k) < 2 * splits ||
          !fits_workspace(problem, needs, {.instance = i, .splits = splits})) {
        continue;
      }
      if (add(i, splits)) least_rounds = rounds;
    }
  }
  return all;
}

// By the whole model, all that are within `share` of the best, and some others. What the formula puts far behind
// is left out.
std::vector<Candidate> corrected(const MatmulProblem& problem, const MatmulSm90Needs& needs,
                                 std::vector<Candidate> all, double share) {
  constexpr double kFar = 1.35;
  std::ranges::stable_sort(all, {}, &Candidate::us);
  std::erase_if(all, [far = all.empty() ? 0 : kFar * all[0].us](const Candidate& one) { return one.us > far; });
  if (needs.is_simulated) return all;
  std::vector<Candidate> near;
  double best = std::numeric_limits<double>::infinity();
  for (Candidate& one : all) {
    if (one.us * matmul_sm90_least_correction(one.way.instance) > share * best) continue;
    one.us *= matmul_sm90_correction(problem, one.way);
    best = std::min(best, one.us);
    near.push_back(one);
  }
  return near;
}

MatmulSm90Choice choice_of(const MatmulProblem& problem, const Candidate& one) {
  MatmulSm90Choice choice{.instance = one.way.instance,
                          .splits = one.way.splits,
                          .is_alone = one.way.is_alone && problem.is_dependent};
  choose_order(problem, choice);
  return choice;
}

MatmulSm90Choice choose_anew(const MatmulProblem& problem, const MatmulSm90Needs& needs) {
  const bool is_split = problem.splits > 1;
  if (!is_split) {
    if (const std::optional<MatmulSm90Choice> tuned = tuned_matmul_choice(problem, needs)) return *tuned;
  }
  if (!is_split && !needs.is_simulated && can_run(0, problem, needs, 1)) {
    for (const Tuned& tuned : kTuned) {
      if (tuned.m == problem.m && tuned.n == problem.n && tuned.k == problem.k) {
        return read_matmul_sm90_choice(problem, needs, tuned.config);
      }
    }
  }
  const std::vector<Candidate> all = candidates(problem, needs);
  if (all.empty()) {
    throw InputError(
        fmt::format("matmul: splits is {}; the parts of K are equal and multiples of 64, and one would be empty. "
                    "{} would pass",
                    problem.splits, possible_splits(0, problem, static_cast<std::uint32_t>(problem.splits))));
  }
  MatmulSm90Choice best;
  double best_us = -1;
  for (const Candidate& one : corrected(problem, needs, all, 1)) {
    if (best_us >= 0 && one.us >= best_us) continue;
    best_us = one.us;
    best = choice_of(problem, one);
  }
  return best;
}

}  // namespace

std::vector<MatmulSm90Choice> likely_matmul_sm90(const MatmulProblem& problem, const MatmulSm90Needs& needs,
                                                 double share, std::size_t most) {
  std::vector<Candidate> all = corrected(problem, needs, candidates(problem, needs), share);
  std::ranges::sort(all, {}, &Candidate::us);
  std::vector<MatmulSm90Choice> likely;
  for (const Candidate& one : all) {
    if (likely.size() == most || one.us > share * all[0].us) break;
    likely.push_back(choice_of(problem, one));
  }
  return likely;
}

MatmulSm90Choice choose_matmul_sm90(const MatmulProblem& problem, const MatmulSm90Needs& needs) {
  thread_local MatmulChoiceCache cache;
  const std::uint64_t version = matmul_tune_file_version();
  if (const MatmulSm90Choice* seen = cache.find(problem, needs, version)) return *seen;
  const MatmulSm90Choice choice = choose_anew(problem, needs);
  cache.put(problem, needs, choice);
  return choice;
}

}  // namespace heddle
