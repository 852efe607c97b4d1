// SPDX-License-Identifier: Apache-2.0
//
// The units of the timing model: requests that do not come in the order of their times.
#include "sim/trace/unit.h"

#include <gtest/gtest.h>

namespace heddle::test {
namespace {

using sim::trace::Time;
using sim::trace::Unit;

TEST(TimingUnit, ServesRequestsOneAfterAnother) {
  Unit unit;
  EXPECT_EQ(unit.serve(10, 5), 15u);
  EXPECT_EQ(unit.serve(12, 5), 20u);
  EXPECT_EQ(unit.serve(100, 5), 105u);
  EXPECT_EQ(unit.serve(7, 0), 7u);
}

TEST(TimingUnit, AnEarlierRequestTakesAGapThatIsLongEnough) {
  Unit unit;
  unit.serve(10, 10);
  unit.serve(30, 10);
  EXPECT_EQ(unit.serve(0, 10), 10u);
  EXPECT_EQ(unit.serve(5, 11), 51u);  // 20 to 30 is too short for it
  EXPECT_EQ(unit.serve(5, 10), 30u);
  EXPECT_EQ(unit.serve(0, 1), 52u);  // all is taken now
}

}  // namespace
}  // namespace heddle::test
