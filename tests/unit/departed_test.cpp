// SPDX-License-Identifier: Apache-2.0
#include "sim/check/departed.h"
#include "sim/check/by_cta.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace heddle::sim::check {
namespace {

// Clusters of 2 x 2 CTAs in a grid that is `width` CTAs wide: two warps of each, the second with a role.
std::vector<Departed> warps_of(std::uint32_t cluster, std::uint32_t width) {
  static const char* const kRole = "load";
  const std::uint32_t per_row = width / 2;
  const std::uint32_t first = cluster / per_row * 2 * width + cluster % per_row * 2;
  std::vector<Departed> warps;
  for (const std::uint32_t cta : {first, first + 1, first + width, first + width + 1}) {
    warps.push_back({cta, 0, nullptr});
    warps.push_back({cta, 32, kRole});
  }
  return warps;
}

TEST(DepartedClusters, AreFoundInWhateverOrderTheyEnd) {
  constexpr std::uint32_t kWidth = 64;
  std::vector<std::uint32_t> order(2000);
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  DepartedClusters all;
  for (const std::uint32_t cluster : order) all.add(cluster, warps_of(cluster, kWidth));
  for (const std::uint32_t cluster : order) {
    const std::vector<Departed> warps = warps_of(cluster, kWidth);
    for (std::uint32_t w = 0; w < warps.size(); ++w) ASSERT_EQ(all.find(cluster, w), warps[w]) << cluster;
  }
}

TEST(DepartedClusters, OfARowTakeOneEntry) {
  constexpr std::uint32_t kWidth = 1000;
  DepartedClusters all;
  for (std::uint32_t cluster = 0; cluster < 5 * kWidth / 2; ++cluster) {
    all.add(cluster ^ 1, warps_of(cluster ^ 1, kWidth));  // each pair in the opposite order
  }
  EXPECT_LE(all.entries(), 10u);
}

TEST(DepartedClusters, OfDifferentShapesAreKeptApart) {
  DepartedClusters all;
  for (std::uint32_t i = 0; i < 100; ++i) all.add(i, {{i, 0, i % 3 == 0 ? "other" : nullptr}});
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(all.find(i, 0).cta, i);
    EXPECT_EQ(all.find(i, 0).role != nullptr, i % 3 == 0);
  }
}

TEST(ByCta, HasWhatWasSetAndNotErased) {
  ByCta<std::unique_ptr<int>> all;
  EXPECT_FALSE(all.has(5));
  for (std::uint32_t cta = 0; cta < 5000; ++cta) all.set(cta, std::make_unique<int>(static_cast<int>(cta)));
  for (std::uint32_t cta = 0; cta < 5000; ++cta) {
    if (cta % 1000 != 7) all.erase(cta);
  }
  all.erase(70'000);
  std::vector<std::uint32_t> left;
  EXPECT_FALSE(all.any([&](std::uint32_t cta) {
    left.push_back(cta);
    return *all[cta] != static_cast<int>(cta);
  }));
  EXPECT_EQ(left, (std::vector<std::uint32_t>{7, 1007, 2007, 3007, 4007}));
  EXPECT_TRUE(all.has(1007));
  EXPECT_FALSE(all.has(1008));
}

}  // namespace
}  // namespace heddle::sim::check
