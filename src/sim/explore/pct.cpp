// SPDX-License-Identifier: Apache-2.0
//
// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatti: A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs, ASPLOS 2010). An actor is a warp, or all operations in flight
// together.
//
// Model: of the lanes of a warp, and of the operations in flight, any may go; the bound counts each as one actor.
#include "sim/explore/generator.h"
#include "sim/explore/strategy.h"
#include "sim/machine/machine.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

namespace heddle::sim::explore {

namespace {

// An actor that goes so often while nothing changes waits for another: a priority that is kept for ever would let
// it wait for ever.
constexpr std::uint32_t kPatience = 256;

class Pct final : public Strategy {
 public:
  explicit Pct(const Schedule& schedule) : generator_(schedule.seed) {
    engine_ = first_priority();
    for (std::uint32_t c = 1; c < schedule.depth; ++c)
      changes_.push_back(1 + generator_() % std::max<std::uint64_t>(schedule.steps, 1));
    std::sort(changes_.begin(), changes_.end(), std::greater<>());
  }

  Choice choose(const machine::Machine& machine) override {
    const std::int64_t* best = machine.in_flight() != 0 ? &engine_ : nullptr;
    std::size_t index = 0;
    std::size_t lanes = 0;
    const std::vector<machine::Thread*>& ready = machine.ready();
    for (std::size_t r = 0; r < ready.size(); ++r) {
      const std::int64_t& priority = priority_of(*ready[r]);
      if (best != nullptr && priority < *best) continue;
      lanes = &priority == best ? lanes + 1 : 1;
      best = &priority;
      // Each lane of the warp is as likely.
      if (lanes == 1 || generator_.one_in(static_cast<std::uint32_t>(lanes))) index = r;
    }
    if (best == &engine_) {
      went(engine_, machine);
      step();
      return {.is_copy = true, .index = generator_.below(machine.in_flight()), .entropy = generator_()};
    }
    went(priority_of(*ready[index]), machine);
    return {.is_copy = false, .index = index, .entropy = 0};
  }

  bool preempts() override {
    step();
    return true;
  }
  bool wakes_early() override { return false; }

 private:
  struct Warp {
    std::uint64_t cta = 0;  // linear index + 1; a place is taken by one CTA after the other
    std::int64_t priority = 0;
  };

  // Above all that a change gives, and hardly ever the same for two.
  std::int64_t first_priority() { return static_cast<std::int64_t>(generator_() >> 1); }

  std::int64_t& priority_of(const machine::Thread& thread) {
    const std::size_t slot = thread.slot - thread.lane();
    if (slot >= warps_.size()) warps_.resize(slot + 1);
    Warp& warp = warps_[slot];
    if (warp.cta != thread.cta->linear + std::uint64_t{1}) {
      warp = {thread.cta->linear + std::uint64_t{1}, first_priority()};
    }
    return warp.priority;
  }

  void went(std::int64_t& actor, const machine::Machine& machine) {
    if (&actor != running_ || machine.state_changes() != last_change_) alone_ = 0;
    running_ = &actor;
    last_change_ = machine.state_changes();
    if (++alone_ > kPatience) fall_behind();
  }

  void step() {
    ++steps_;
    while (!changes_.empty() && changes_.back() <= steps_) {
      changes_.pop_back();
      if (running_ != nullptr) fall_behind();
    }
  }

  void fall_behind() {
    *running_ = --lowest_;
    alone_ = 0;
  }

  Generator generator_;
  std::vector<std::uint64_t> changes_;  // the steps at which priorities change, the next one last
  std::deque<Warp> warps_;              // by the slot of their first thread; they stay where they are
  std::int64_t engine_;                 // of what is in flight
  std::int64_t lowest_ = 0;
  std::int64_t* running_ = nullptr;
  std::uint64_t steps_ = 0;
  std::uint64_t last_change_ = 0;
  std::uint32_t alone_ = 0;  // turns in a row in which nothing changed
};

}  // namespace

std::unique_ptr<Strategy> make_pct(const Schedule& schedule) { return std::make_unique<Pct>(schedule); }

}  // namespace heddle::sim::explore
