// SPDX-License-Identifier: Apache-2.0
//
// The Blackwell matmul under a thousand random schedules for each configuration.
#include "../support/matmul_sm100_reference.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

class MatmulSm100Slow : public ::testing::TestWithParam<std::string> {};

TEST_P(MatmulSm100Slow, IsExactUnderAThousandSchedules) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    test::MatmulSm100Case matmul = test::some_tiles(GetParam(), seed);
    ASSERT_TRUE(test::runs_right(matmul, 8, seed));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulSm100Slow, ::testing::ValuesIn(matmul_sm100_configs()),
                         [](const auto& config) { return config.param; });

}  // namespace
}  // namespace heddle
