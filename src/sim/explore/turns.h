// SPDX-License-Identifier: Apache-2.0
//
// Who can go next, by numbers that are the same whenever a launch is run again, and the rule that says who goes
// if nothing else does: whoever went last, as long as it can, then the first. A schedule of turns is what an
// execution has beyond this rule.
#pragma once

#include "sim/explore/strategy.h"

#include <heddle/sim/schedule.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace heddle::sim::explore {

using Actor = std::uint64_t;
inline constexpr Actor kCopy = Actor{1} << 63;  // the bit of a copy; alone: all else that is in flight

class Candidates {
 public:
  explicit Candidates(Actors actors) : actors_(actors) {}

  void begin() { following_.clear(); }  // a run
  void list(const machine::Machine& machine);
  const std::map<Actor, Choice>& choices() const { return choices_; }

  // In lockstep: the turn of a lane whose warp has gone and which has not. Asked for before each decision.
  std::optional<Choice> unfinished(const machine::Machine& machine);
  // Lets the others of a warp follow the one that was chosen.
  void go(const machine::Machine& machine, const Choice& choice);

  // Who goes by the rule; at least one can.
  Actor by_rule(Actor last) const { return choices_.contains(last) ? last : choices_.begin()->first; }

 private:
  Actors actors_;
  std::map<Actor, Choice> choices_;
  std::vector<const machine::Thread*> following_;  // the next one last
};

// Writes down the turns of an execution that is not one of the rule alone.
class TurnRecorder {
 public:
  void begin() {
    turns_.clear();
    last_ = 0;
    decisions_ = 0;
  }
  void went(const Candidates& candidates, Actor actor);
  const std::vector<Turn>& turns() const { return turns_; }

 private:
  std::vector<Turn> turns_;
  Actor last_ = 0;
  std::uint64_t decisions_ = 0;  // since the last turn that is written down
};

}  // namespace heddle::sim::explore
