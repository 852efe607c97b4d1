// SPDX-License-Identifier: Apache-2.0
#include "sim/explore/strategy.h"

namespace heddle::sim::explore {

std::unique_ptr<Strategy> make_strategy(const Schedule& schedule) {
  switch (schedule.kind) {
    case Schedule::Kind::kRoundRobin: break;
    case Schedule::Kind::kRandom: return make_random(schedule.seed);
    case Schedule::Kind::kPct: return make_pct(schedule);
    case Schedule::Kind::kTurns: return make_turns(schedule);
  }
  return make_round_robin();
}

}  // namespace heddle::sim::explore
