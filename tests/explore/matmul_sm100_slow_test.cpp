// SPDX-License-Identifier: Apache-2.0
//
// The Blackwell matmuls under a thousand random schedules for each configuration, for each layout of operands,
// and for each format with scales.
#include "../support/matmul_cases.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

class MatmulSm100Slow : public ::testing::TestWithParam<std::string> {};

TEST_P(MatmulSm100Slow, IsExactUnderAThousandSchedules) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    test::MatmulCase matmul = test::some_tiles(GetParam(), seed);
    ASSERT_TRUE(test::runs_right_on_sm100(matmul, test::few_sms(GetParam(), seed), seed));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulSm100Slow, ::testing::ValuesIn(matmul_sm100_configs()),
                         [](const auto& config) { return config.param; });

class MatmulSm100LayoutsSlow : public ::testing::TestWithParam<test::OperandLayouts> {};

// Configurations take turns, and in each of them types.
TEST_P(MatmulSm100LayoutsSlow, AreExactUnderAThousandSchedules) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const std::string& config = test::kConfigsWithLayouts[seed % 3];
    const test::MatmulCase matmul = test::in_layouts(test::some_tiles(config, seed), GetParam(), seed / 3);
    ASSERT_TRUE(test::runs_right_on_sm100(matmul, test::few_sms(config, seed / 2), seed));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulSm100LayoutsSlow, ::testing::ValuesIn(test::kOtherLayouts),
                         [](const auto& layouts) { return std::string(layouts.param.name); });

class MatmulScaledSlow : public ::testing::TestWithParam<ScaledFormat> {};

TEST_P(MatmulScaledSlow, IsExactUnderAThousandSchedules) {
  const std::vector<std::string> configs = matmul_scaled_sm100_configs(GetParam());
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const std::string& config = configs[seed % configs.size()];
    test::MatmulScaledCase matmul = test::some_scaled_tiles(GetParam(), config, seed);
    ASSERT_TRUE(test::runs_right(matmul, test::few_sms(config, seed / 2), seed));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulScaledSlow, ::testing::ValuesIn(test::kScaledFormats),
                         [](const auto& format) { return std::string(name_of(format.param)); });

}  // namespace
}  // namespace heddle
