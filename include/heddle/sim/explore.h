// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel of your own under many schedules, or in every order that can matter, each time from the same
// memory, and asks whether what it wrote is right.
//
//   const sim::Exploration result = sim::explore_launch<Sum>(
//       {.memory = &memory}, {.grid = {4}}, params, {.schedules = 1000}, [&] { return sums == expected; });
//   EXPECT_TRUE(result.ok()) << result.text();
#pragma once

#include <heddle/sim/launch.h>

#include <cstdint>
#include <functional>
#include <string>

namespace heddle::sim {

struct ExploreOptions {
  std::uint32_t schedules = 100;  // after that of the launch's options
  std::uint64_t seed = 1;         // of the first of them
  std::uint32_t depth = 0;        // they are those of PCT, with this depth; 0: random
  bool exhaust = false;           // every order of threads and copies that can matter instead,
  std::uint64_t limit = 10'000;   // up to so many executions: for a few threads and a few steps of each
};

struct Exploration {
  std::uint64_t runs = 0;
  std::uint64_t reports = 0;
  std::uint64_t wrong = 0;    // without a report, but the result was not right
  std::uint64_t pruned = 0;   // by the search, because they end as others do; not among the runs
  bool is_complete = false;   // the search has left nothing out
  std::uint64_t actors = 0;   // warps, and one for all copies: n of the bound of PCT
  std::uint64_t steps = 0;    // of the first run: its k
  std::string schedule = {};  // of those that failed, that with the fewest switches of threads
  Report shortest = {};       // its report

  bool ok() const { return reports == 0 && wrong == 0; }
  // The report, or that the result is wrong, and how many runs there were.
  std::string text() const;
};

// The memory that the options name is as the last run left it. Throws InputError as launch_entry does.
Exploration explore_entry(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry,
                          const void* params, const ExploreOptions& how, const std::function<bool()>& verify);

template <Kernel K>
Exploration explore_launch(const LaunchOptions& options, const LaunchShape& shape,
                           const typename K::Params& params, const ExploreOptions& how,
                           const std::function<bool()>& verify) {
  return explore_entry(options, shape, entry_of<K>(shape), &params, how, verify);
}

}  // namespace heddle::sim
