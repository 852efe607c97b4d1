// SPDX-License-Identifier: Apache-2.0
//
// Every feature of attention for Hopper under twenty schedules: silent, near double, and the same bits each time.
#include "attention/attention_decode_sm90_host.h"
#include "attention/attention_sm90_host.h"

#include <gtest/gtest.h>

#include "../support/attention_features.h"

namespace heddle {
namespace {

class AttentionSm90Features : public testing::TestWithParam<test::AttentionFeature> {};

TEST_P(AttentionSm90Features, GiveTheSameBitsUnderTwentySchedules) {
  const auto run = [](reference::AttentionCase& one, const RunOptions& options) {
    return one.is_decode
               ? attention_decode_sm90<Target::kSim>(one.decode_problem(), one.decode_tensors(), options)
               : attention_sm90<Target::kSim>(one.problem, one.tensors(), options);
  };
  EXPECT_EQ(test::differs_between_schedules(GetParam(), 20, run), "");
}

INSTANTIATE_TEST_SUITE_P(Each, AttentionSm90Features, testing::ValuesIn(test::kAttentionFeatures),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace heddle
