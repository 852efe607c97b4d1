// SPDX-License-Identifier: Apache-2.0
//
// Cluster launch control under a thousand schedules: 1 to 1,000 tiles over 1 to 16 SMs, clusters of 1, 2 and 4.
#include "../support/clc_kernel.h"
#include "../support/schedule_share.h"

#include <gtest/gtest.h>

namespace heddle::test {
namespace {

// Many runs with few tiles, where ends meet beginnings, and fewer with many.
template <ClcCase test_case>
std::uint32_t explore() {
  const std::uint32_t size = test_case.cluster.size();
  std::uint32_t runs = 0;
  std::uint64_t seed = 1;
  CaseShare share(5);
  const auto run = [&](const TileGrid& grid, std::uint32_t sms, std::uint64_t seeds) {
    if (!share.takes_next()) return;
    runs += expect_each_tile_once<test_case>(grid, sms, seeds, seed);
    seed += seeds;
  };
  for (std::uint32_t tiles = 1; tiles <= 12; ++tiles) {
    for (const std::uint32_t clusters : {1u, 2u, 3u, 5u, 8u, 16u}) {
      if (clusters * size <= 16) run({tiles, 1 + tiles % 3}, clusters * size, 5);
    }
  }
  for (const std::uint32_t clusters : {1u, 4u, 16u}) {
    if (clusters * size <= 16) run({25, 4}, clusters * size, 2);
  }
  return runs;
}

TEST(ClcTileScheduler, DoesEachTileOnceUnderAThousandSchedules) {
  std::uint32_t runs = explore<ClcCase{}>();
  runs += explore<ClcCase{.cluster = {2, 1}}>();
  runs += explore<ClcCase{.cluster = {2, 2}}>();
  EXPECT_GE(runs, is_whole() ? 1000u : 50u);
}

TEST(ClcTileScheduler, DoesAThousandTiles) {
  const TileGrid tiles{40, static_cast<std::uint32_t>(schedule_share(25))};
  expect_each_tile_once<ClcCase{}>(tiles, 1, 1);
  expect_each_tile_once<ClcCase{}>(tiles, 16, 1);
  expect_each_tile_once<ClcCase{.cluster = {2, 1}, .stages = 3}>(tiles, 16, 1);
  expect_each_tile_once<ClcCase{.cluster = {2, 2}, .stages = 3}>(tiles, 16, 1);
}

}  // namespace
}  // namespace heddle::test
