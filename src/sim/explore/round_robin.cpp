// SPDX-License-Identifier: Apache-2.0
//
// Each thread runs until it blocks, then the next one; copies move when no thread can, oldest first.
#include "sim/explore/strategy.h"
#include "sim/machine/machine.h"

namespace heddle::sim::explore {

namespace {

class RoundRobin final : public Strategy {
 public:
  Choice choose(const machine::Machine& machine) override {
    const std::size_t ready = machine.ready().size();
    if (ready == 0 || (machine.in_flight() != 0 && turn_ > ready)) {
      turn_ = 0;
      return {.is_copy = true, .index = 0, .entropy = 0};
    }
    return {.is_copy = false, .index = turn_++ % ready, .entropy = 0};
  }
  bool preempts() override { return false; }
  bool wakes_early() override { return false; }

 private:
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_round_robin() { return std::make_unique<RoundRobin>(); }

}  // namespace heddle::sim::explore
