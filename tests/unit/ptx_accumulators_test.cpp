// SPDX-License-Identifier: Apache-2.0
//
// Registers in flight: PTX copies them freely, and the copies follow them.
#include "sim/frontend/ptx/interpreter.h"

#include <gtest/gtest.h>

namespace heddle::sim::ptx {
namespace {

struct OneSet {
  OneSet() {
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
    for (const std::uint32_t row : set->rows) mark_in_flight(frame, row, kResult);
    warp.accumulators.push_back(std::move(set));
    warp.accumulators_in_flight = 1;
  }

  void copy(std::uint32_t to, std::uint32_t from) {
    Instruction instruction;
    instruction.d = to;
    instruction.a = from;
    Flow flow;
    flow.kind = FlowKind::kCopy;
    flow.reads = {from};
    flow.writes = {to};
    note_move(warp, instruction, flow);
  }

  Frame frame;
  Warp warp;
};

TEST(PtxAccumulators, CopiesInFlightGetTheValueOfTheirRegister) {
  OneSet state;
  state.copy(7, 3);
  state.copy(8, 7);  // a copy of the copy
  take_back(state.warp, *state.warp.accumulators[0]);
  EXPECT_EQ(state.frame.rows[2][5], 105u);
  EXPECT_EQ(state.frame.rows[7][5], 205u);
  EXPECT_EQ(state.frame.rows[8][31], 231u);
  EXPECT_EQ(state.warp.accumulators_in_flight, 0u);
}

TEST(PtxAccumulators, ACopyThatIsOverwrittenNoLongerFollows) {
  OneSet state;
  state.copy(7, 3);
  state.copy(7, 12);  // which is not in flight
  state.frame.rows[7].fill(1);
  take_back(state.warp, *state.warp.accumulators[0]);
  EXPECT_EQ(state.frame.rows[7][5], 1u);
}

}  // namespace
}  // namespace heddle::sim::ptx
