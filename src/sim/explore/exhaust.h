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
// clusters and transfers of tensor memory the first in flight goes.
#pragma once

#include <heddle/sim/launch.h>
#include <heddle/sim/report.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace heddle::sim::explore {

struct Exhausted {
  std::uint64_t executions = 0;         // run to their end
  std::uint64_t cut = 0;                // left because what was to come had been seen
  std::uint64_t failed = 0;             // of the executions, those with a report
  bool is_complete = false;             // nothing is left
  std::optional<Report> shortest = {};  // of those that failed, that with the fewest switches of threads
};

enum class Actors : std::uint8_t {
  kThreads,  // each goes on its own: kernels in C++
  kWarps     // lanes of a warp go together: PTX
};

// Runs the launch with these options until all is seen, or `most` executions have ended. All that the launch
// writes must be as it was before each of them.
Exhausted exhaust(const LaunchOptions& options, Actors actors, std::uint64_t most,
                  const std::function<Report(const LaunchOptions&)>& run_once);

}  // namespace heddle::sim::explore
