// SPDX-License-Identifier: Apache-2.0
#include "sim/explore/strategy.h"

namespace heddle::sim::explore {

std::unique_ptr<Strategy> make_strategy(const Schedule& schedule) {
  return schedule.kind == Schedule::Kind::kRandom ? make_random(schedule.seed) : make_round_robin();
}

}  // namespace heddle::sim::explore
