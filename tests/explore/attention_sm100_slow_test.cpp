// SPDX-License-Identifier: Apache-2.0
//
// Attention for Blackwell under a thousand schedules, and each of its features under twenty.
#include "attention/attention_decode_sm100_host.h"

#include <gtest/gtest.h>

#include <string>

#include "../support/attention_features.h"
#include "../support/attention_sm100_case.h"

namespace heddle {
namespace {

// In parts, so that processes can share them.
constexpr int kParts = 20;
constexpr int kSchedulesOfAPart = 50;

class AttentionSm100Schedules : public testing::TestWithParam<int> {};

TEST_P(AttentionSm100Schedules, GiveTheSameBits) {
  const auto first = static_cast<std::uint64_t>(1 + GetParam() * kSchedulesOfAPart);
  std::string report;
  EXPECT_EQ(test::first_other_seed(first, kSchedulesOfAPart, report), 0u) << report;
}

INSTANTIATE_TEST_SUITE_P(AThousand, AttentionSm100Schedules, testing::Range(0, kParts));

class AttentionSm100Features : public testing::TestWithParam<test::AttentionFeature> {};

TEST_P(AttentionSm100Features, GiveTheSameBitsUnderTwentySchedules) {
  const auto run = [](reference::AttentionCase& one, RunOptions options) {
    options.arch = Arch::kSm100;
    return one.is_decode
               ? attention_decode_sm100<Target::kSim>(one.decode_problem(), one.decode_tensors(), options)
               : attention_sm100<Target::kSim>(one.problem, one.tensors(), options);
  };
  EXPECT_EQ(test::differs_between_schedules(GetParam(), 20, run), "");
}

INSTANTIATE_TEST_SUITE_P(Each, AttentionSm100Features, testing::ValuesIn(test::kAttentionFeatures),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace heddle
