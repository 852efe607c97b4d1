// SPDX-License-Identifier: Apache-2.0
//
// Rings of 1 to 4 stages, used 0 to 6 times, under many schedules: what every kind of pipeline must survive. The
// number of schedules for each ring is 1,000, or the share of it that this run takes.
#pragma once

#include "schedule_share.h"

#include <heddle/sim/schedule.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace heddle::test {

// Calls test.operator()<stages>(turns, schedule) for each of them and stops at the first failure.
template <class Test>
void for_every_ring_and_schedule(const Test& test) {
  const auto with_stages = [&]<std::uint32_t stages>() {
    for (std::uint32_t turns = 0; turns <= 6; ++turns) {
      for (std::uint64_t seed = 0; seed < schedule_share(1000); ++seed) {
        const sim::Schedule schedule = seed == 0 ? sim::Schedule::round_robin() : sim::Schedule::random(seed);
        test.template operator()<stages>(turns, schedule);
        if (::testing::Test::HasFailure()) {
          ADD_FAILURE() << stages << " stages, " << turns << " turns, schedule " << schedule.name();
          return;
        }
      }
    }
  };
  with_stages.template operator()<1>();
  with_stages.template operator()<2>();
  with_stages.template operator()<3>();
  with_stages.template operator()<4>();
}

}  // namespace heddle::test
