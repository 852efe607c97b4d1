// SPDX-License-Identifier: Apache-2.0
#include "matmul_first_use.h"

#include "matmul_checks.h"
#include "matmul_tune_file.h"

#include <heddle/host/error.h>

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

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::array<std::int64_t, 3>, int, int, int,
                       std::uint64_t, std::string>;

Key key_of(const MatmulProblem& p, const MatmulSm90Needs& needs) {
  return {p.m,
          p.n,
          p.k,
          row_steps_of(p),
          int(p.a_type),
          int(p.out_type),
          int(p.b_layout),
          needs.workspace_bytes,
          std::string(needs.gpu)};
}

// The problems that this process has tried, and those that a version of the tune file is known to have. Who holds
// the mutex may wait for a stream, so nobody waits for the mutex: threads whose streams wait for one another, as
// those of a collective do, would never end.
struct Tried {
  std::mutex mutex;
  std::set<Key> keys;
  std::set<Key> known;
  std::uint64_t version = 0;
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

// What the model puts near its best, and what the library takes if nothing is timed: a table may have it.
std::vector<MatmulSm90Choice> worth_timing(const MatmulProblem& problem, const MatmulSm90Needs& needs) {
  constexpr double kShare = 1.25;
  constexpr std::size_t kMost = 12;
  std::vector<MatmulSm90Choice> all = likely_matmul_sm90(problem, needs, kShare, kMost);
  if (all.empty()) throw InputError("no configuration is likely");
  const MatmulSm90Choice own = choose_matmul_sm90(problem, needs);
  const auto is_own = [name = name_of(own)](const MatmulSm90Choice& one) { return name_of(one) == name; };
  if (std::ranges::none_of(all, is_own)) all.push_back(own);
  return all;
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
      std::fprintf(stderr, "heddle: HEDDLE_TUNE is '%s'; 0 and 1 are known, and it counts as 0\n", value.c_str());
    return value == "1";
  }();
  return tunes;
}

std::string matmul_tune_path() {
  if (const std::string named = environment("HEDDLE_TUNE_FILE"); !named.empty()) return named;
  if (!matmul_tunes_first_use()) return {};
  // A file for other kernels or of a later version would be refused, and nothing would be kept.
  const std::string file = fmt::format("/heddle/matmul-{}-{}.tune", kMatmulTuneFileVersion, matmul_kernels_id());
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) return cache + file;
  const std::string home = environment("HOME");
  return home.empty() ? home : home + "/.cache" + file;
}

bool is_first_use(const MatmulProblem& problem, const MatmulTensors& tensors, const MatmulSm90Needs& needs) {
  if (needs.is_simulated || matmul_checks::is_fused(problem, tensors) || !problem.config.empty() ||
      problem.splits > 1 || std::min({problem.m, problem.n, problem.k}) <= 0) {
    return false;
  }
  Tried& all = tried();
  const std::unique_lock lock(all.mutex, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  if (const std::uint64_t version = matmul_tune_file_version(); version != all.version) {
    all.known.clear();
    all.version = version;
  }
  const Key key = key_of(problem, needs);
  if (all.keys.contains(key) || all.known.contains(key)) return false;
  if (!tuned_matmul_choice(problem, needs)) return true;
  all.known.insert(key);
  return false;
}

void tune_first_use(const MatmulProblem& problem, const MatmulSm90Needs& needs,
                    const std::function<MatmulTimer()>& timer_of) {
  // One at a time: others would disturb the times.
  const std::unique_lock lock(tried().mutex, std::try_to_lock);
  if (!lock.owns_lock() || !tried().keys.insert(key_of(problem, needs)).second) return;
  Fastest best;
  try {
    const std::vector<MatmulSm90Choice> all = worth_timing(problem, needs);
    const MatmulTimer timer = timer_of();
    time_all(all, timer, best);
    if (best.us < std::numeric_limits<double>::infinity()) time_all({other_way(best.choice)}, timer, best);
  } catch (const std::exception& error) {
    best.why = error.what();
  }
  if (best.us == std::numeric_limits<double>::infinity()) {
    const std::string text =
        fmt::format("heddle: matmul {},{},{} was not tuned: {}\n", problem.m, problem.n, problem.k, best.why);
    std::fputs(text.c_str(), stderr);
    return;
  }
  MatmulProblem found{.m = problem.m,
                      .n = problem.n,
                      .k = problem.k,
                      .a_type = problem.a_type,
                      .b_type = problem.b_type,
                      .out_type = problem.out_type,
                      .b_layout = problem.b_layout,
                      .a_pitch = problem.a_pitch,
                      .b_pitch = problem.b_pitch,
                      .out_pitch = problem.out_pitch,
                      .config = name_of(best.choice)};
  keep_tuned_matmul_choice({.gpu = std::string(needs.gpu), .problem = std::move(found)});
}

}  // namespace heddle
