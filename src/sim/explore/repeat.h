// SPDX-License-Identifier: Apache-2.0
//
// A launch again under many schedules, from the same memory, on all cores, or in every order that can matter: it
// must end well and write the same bytes each time. Finds what no rule of the checkers knows.
#pragma once

#include "sim/explore/exhaust.h"

#include <heddle/sim/launch.h>
#include <heddle/sim/report.h>

#include <cstdint>
#include <functional>

namespace heddle::sim::explore {

struct Repetition {
  std::uint32_t schedules = 0;  // after the first
  std::uint64_t seed = 1;       // of the first of them
  std::uint32_t depth = 0;      // of PCT; 0: random schedules
  std::uint32_t workers = 0;    // threads; 0: one for each core
};

// The schedule of that number, counted from 0. `steps` are those of the first run.
Schedule schedule_of(const Repetition& how, std::uint64_t number, std::uint64_t steps);

// Runs the launch with these options, which name its schedule and its memory. Calls that are not the first come
// from several threads at once.
using RunOnce = std::function<Report(const LaunchOptions& options, bool is_first)>;

// The first run is as `options` say and leaves its bytes in their memory; the others have copies of it. All that
// the launch writes must lie there.
//
// The report is that of the first run if it has stopped. Else it is of a schedule that stops, or under which
// other bytes are written than under the first: of several that of the fewest switches. A difference that only
// the order of floating-point atomics explains is formal. What the other runs have told is in it, each pair of
// places once.
//
// Throws InputError if there is no memory for the copies; nothing has run then.
Report repeat(const LaunchOptions& options, const Repetition& how, const RunOnce& run_once);

// How far a search goes.
struct SearchLimits {
  std::uint64_t executions = 10'000;
  std::uint64_t steps = 20'000;  // of the first run; a longer launch is not searched
};

struct SearchedLaunch {
  Exhausted counts = {};
  std::uint64_t steps = 0;   // of the first run
  bool is_too_long = false;  // and not searched
};

// The same for every order that can matter, one after the other, instead of some schedules. The first run is none
// of the executions that are counted.
Report search(const LaunchOptions& options, Actors actors, const SearchLimits& limits, const RunOnce& run_once,
              SearchedLaunch& searched);

}  // namespace heddle::sim::explore
