// SPDX-License-Identifier: Apache-2.0
#include "matmul_first_use.h"

#include "matmul_checks.h"
#include "matmul_tune_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <set>
#include <tuple>

namespace heddle {

namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, int, int, int, std::uint64_t, std::string>;

Key key_of(const MatmulProblem& p, const MatmulSm90Needs& needs) {
  return {p.m,
          p.n,
          p.k,
          int(p.a_type),
          int(p.out_type),
          int(p.b_layout),
          needs.workspace_bytes,
          std::string(needs.gpu)};
}

// The problems that this process has tried.
struct Tried {
  std::mutex mutex;
  std::set<Key> keys;
};

Tried& tried() {
  static Tried one;
  return one;
}

// The fastest of some, those that cannot be timed left out; the reason of the last of these.
struct Fastest {
  MatmulSm90Choice choice;
  double us = std::numeric_limits<double>::infinity();
  std::string why;
};

void time_all(const std::vector<MatmulSm90Choice>& all, const MatmulTimer& timer, Fastest& best) {
  for (const MatmulSm90Choice& one : all) {
    try {
      const double us = timer(one);
      if (us < best.us) best = {one, us, {}};
    } catch (const std::exception& error) {
      best.why = error.what();
    }
  }
}

// The same in the order that the model did not take.
MatmulSm90Choice other_way(MatmulSm90Choice choice) {
  choice.bands_along_m = !choice.bands_along_m;
  return choice;
}

}  // namespace

bool matmul_tunes_first_use() {
  static const bool tunes = [] {
    const std::string value = environment("HEDDLE_TUNE");
    if (!value.empty() && value != "0" && value != "1")
      fmt::print(stderr, "heddle: HEDDLE_TUNE is '{}'; 0 and 1 are known, and it counts as 0\n", value);
    return value == "1";
  }();
  return tunes;
}

std::string matmul_tune_path() {
  if (const std::string named = environment("HEDDLE_TUNE_FILE"); !named.empty()) return named;
  if (!matmul_tunes_first_use()) return {};
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return cache + "/heddle/matmul.tune";
  const std::string home = environment("HOME");
  return home.empty() ? home : home + "/.cache/heddle/matmul.tune";
}

bool is_first_use(const MatmulProblem& problem, const MatmulTensors& tensors, const MatmulSm90Needs& needs) {
  if (needs.is_simulated || matmul_checks::is_fused(problem, tensors) || !problem.config.empty() ||
      problem.splits > 1 || std::min({problem.m, problem.n, problem.k}) <= 0) {
    return false;
  }
  {
    const std::lock_guard lock(tried().mutex);
    if (tried().keys.contains(key_of(problem, needs))) return false;
  }
  return !tuned_matmul_choice(problem, needs);
}

void tune_first_use(const MatmulProblem& problem, const MatmulSm90Needs& needs,
                    const std::function<MatmulTimer()>& timer_of) {
  constexpr double kShare = 1.25;
  constexpr std::size_t kMost = 12;
  // One at a time: others would disturb the times.
  const std::lock_guard lock(tried().mutex);
  if (!tried().keys.insert(key_of(problem, needs)).second) return;
  Fastest best;
  try {
    const MatmulTimer timer = timer_of();
    time_all(likely_matmul_sm90(problem, needs, kShare, kMost), timer, best);
    if (best.why.empty() || best.us < std::numeric_limits<double>::infinity())
      time_all({other_way(best.choice)}, timer, best);
  } catch (const std::exception& error) {
    best.why = error.what();
  }
  if (best.us == std::numeric_limits<double>::infinity()) {
    fmt::print(stderr, "heddle: matmul {},{},{} was not tuned: {}\n", problem.m, problem.n, problem.k, best.why);
    return;
  }
  MatmulProblem found{.m = problem.m,
                      .n = problem.n,
                      .k = problem.k,
                      .a_type = problem.a_type,
                      .b_type = problem.b_type,
                      .out_type = problem.out_type,
                      .b_layout = problem.b_layout,
                      .config = name_of(best.choice)};
  keep_tuned_matmul_choice({.gpu = std::string(needs.gpu), .problem = std::move(found)});
}

}  // namespace heddle
