// SPDX-License-Identifier: Apache-2.0
//
// Who goes next: the decision behind every schedule.
#pragma once

#include <heddle/sim/schedule.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace heddle::sim::machine {
class Machine;
struct Thread;
}

namespace heddle::sim::explore {

struct Choice {
  bool is_copy;           // a step of a copy in flight; otherwise a thread that is ready
  std::size_t index;      // among the ready threads, or among the copies
  std::uint64_t entropy;  // which part of the copy
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // At least one thread is ready, or one copy in flight.
  virtual Choice choose(const machine::Machine& machine) = 0;

  // Whether a thread gives way before an instruction that others can see, though it is not blocked.
  virtual bool preempts() = 0;

  // Whether a try_wait returns before its phase is over, which hardware may do at any time.
  virtual bool wakes_early() = 0;
};

std::unique_ptr<Strategy> make_strategy(const Schedule& schedule);
std::unique_ptr<Strategy> make_round_robin();
std::unique_ptr<Strategy> make_random(std::uint64_t seed);
std::unique_ptr<Strategy> make_pct(const Schedule& schedule);
std::unique_ptr<Strategy> make_turns(const Schedule& schedule);

}  // namespace heddle::sim::explore
