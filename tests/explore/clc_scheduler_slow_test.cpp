// SPDX-License-Identifier: Apache-2.0
//
// More of explore/clc_scheduler_test.cpp than fits into seconds: every number of SMs, tile counts up to 1,000.
#include "../support/clc_kernel.h"

#include <gtest/gtest.h>

namespace heddle::test {
namespace {

template <ClcCase test_case>
void explore_all() {
  std::uint64_t seed = 100'000;
  for (const std::uint32_t tiles : {1u, 2u, 3u, 5u, 8u, 16u, 17u, 33u, 100u, 317u, 1000u}) {
    for (std::uint32_t sms = test_case.cluster.size(); sms <= 16; ++sms) {
      const std::uint64_t seeds = tiles < 50 ? 20 : tiles < 500 ? 4 : 1;
      expect_each_tile_once<test_case>({tiles, 1}, sms, seeds, seed);
      seed += seeds;
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ClcTileSchedulerSlow, OneCta) { explore_all<ClcCase{}>(); }
TEST(ClcTileSchedulerSlow, ClusterOfTwo) { explore_all<ClcCase{.cluster = {2, 1}, .stages = 3}>(); }
TEST(ClcTileSchedulerSlow, ClusterOfFourByOne) { explore_all<ClcCase{.cluster = {4, 1}, .stages = 1}>(); }
TEST(ClcTileSchedulerSlow, ClusterOfTwoByTwo) { explore_all<ClcCase{.cluster = {2, 2}}>(); }

}  // namespace
}  // namespace heddle::test
