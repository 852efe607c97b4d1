// SPDX-License-Identifier: Apache-2.0
//
// Every order of a small launch that can matter: depth-first search over its executions, each run from the start,
// with dynamic partial-order reduction (Flanagan, Godefroid: Dynamic Partial-Order Reduction for Model Checking
// Software, POPL 2005) and sleep sets (Godefroid, 1996). Of executions that differ only in the order of steps
// that do not touch one another, one is run.
//
// Model: what steps have in common are barriers, bulk groups and strong accesses. Weak accesses that nothing
// orders are for the race checker to report, in any of the executions; a launch without it has them all in
// common. A wait that finds its phase over and one that sleeps are two executions; a mbarrier.test_wait that
// fails is not told, so that a kernel which does something else after it is not searched completely. The pieces
// of one copy land in order, a cp.async lands when it is waited for, and of multiplications, requests for
// clusters and transfers of tensor memory the first in flight goes. A thread that has done the same thing more
// than 16 times in a row polls, and is not made to do so once more before others go on.
#pragma once

#include <heddle/sim/launch.h>
#include <heddle/sim/report.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace heddle::sim::explore {

using sim::Actors;

struct Exhausted {
  std::uint64_t executions = 0;           // run to their end
  std::uint64_t cut = 0;                  // left because what was to come had been seen
  std::uint64_t failed = 0;               // of the executions, those that did not end well
  std::uint64_t depth = 0;                // decisions of the longest
  bool is_complete = false;               // nothing is left
  std::optional<Schedule> schedule = {};  // of those that failed, that with the fewest switches of threads
  std::optional<Report> shortest = {};    // its report
};

// How an execution ended.
struct Execution {
  bool is_well;
  std::uint64_t switches;  // of threads
};

// Runs the launch with these options until all is seen, or `most` executions have ended or been cut. All that the
// launch writes must be as it was before each of them. `ended` is called after each that was not cut, with the
// schedule that shows it again.
Exhausted walk_orders(const LaunchOptions& options, Actors actors, std::uint64_t most,
                      const std::function<Execution(const LaunchOptions&)>& run_once,
                      const std::function<void(const Schedule&)>& ended = {});

// The same where a report says how it ended. The shortest that failed is run once more, by its schedule, so that
// its report names it.
Exhausted exhaust(const LaunchOptions& options, Actors actors, std::uint64_t most,
                  const std::function<Report(const LaunchOptions&)>& run_once,
                  const std::function<void(const Report&, const Schedule&)>& ended = {});

}  // namespace heddle::sim::explore
