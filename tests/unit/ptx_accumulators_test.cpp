// SPDX-License-Identifier: Apache-2.0
//
// Registers in flight: PTX copies them freely, and the copies follow them.
#include "sim/frontend/ptx/interpreter.h"

#include <gtest/gtest.h>

namespace heddle::sim::ptx {
namespace {

struct InFlight {
  InFlight() {
    frame.rows.resize(16);
    warp.frame = &frame;
    warp.rows = frame.rows.data();
    auto set = std::make_unique<Accumulators>();
    set->frame = &frame;
    set->rows = {2, 3};
    set->words.resize(64);
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      set->words[2 * lane] = 100 + lane;
      set->words[2 * lane + 1] = 200 + lane;
    }
    set->in_flight = true;
    warp.accumulators.push_back(std::move(set));
    warp.accumulators_in_flight = 1;
  }

  Frame frame;
  Warp warp;
};

TEST(PtxAccumulators, CopiesInFlightGetTheValueOfTheirRegister) {
  InFlight state;
  note_copy(state.warp, 7, 3);
  note_copy(state.warp, 8, 7);  // a copy of the copy
  take_back(state.warp, *state.warp.accumulators[0]);
  EXPECT_EQ(state.frame.rows[2][5], 105u);
  EXPECT_EQ(state.frame.rows[7][5], 205u);
  EXPECT_EQ(state.frame.rows[8][31], 231u);
  EXPECT_EQ(state.warp.accumulators_in_flight, 0u);
}

TEST(PtxAccumulators, ACopyThatIsOverwrittenNoLongerFollows) {
  InFlight state;
  note_copy(state.warp, 7, 3);
  note_copy(state.warp, 7, 12);  // which is not in flight
  state.frame.rows[7].fill(1);
  take_back(state.warp, *state.warp.accumulators[0]);
  EXPECT_EQ(state.frame.rows[7][5], 1u);
}

}  // namespace
}  // namespace heddle::sim::ptx
