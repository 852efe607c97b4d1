// SPDX-License-Identifier: Apache-2.0
//
// Attention for Blackwell under a thousand schedules.
#include <gtest/gtest.h>

#include <string>

#include "../support/attention_sm100_case.h"

namespace heddle {
namespace {

TEST(AttentionSm100, AThousandSchedulesGiveTheSameBits) {
  std::string report;
  EXPECT_EQ(test::first_other_seed(1000, report), 0u) << report;
}

}  // namespace
}  // namespace heddle
