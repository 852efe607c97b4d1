// SPDX-License-Identifier: Apache-2.0
#include <heddle/kernel/scheduler.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "../support/schedule_share.h"
#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;  // m, n, batch, split

Place place_of(const TileWork& work) { return {work.m, work.n, work.batch, work.split}; }

TEST(FastDivisor, DividesAsTheOperatorDoes) {
  std::vector<std::uint32_t> divisors;
  for (std::uint32_t d = 1; d <= 300; ++d) divisors.push_back(d);
  for (std::uint32_t bit = 8; bit < 31; ++bit) {
    for (std::uint32_t off : {~0u, 0u, 1u}) divisors.push_back((1u << bit) + off);
  }
  divisors.push_back((1u << 31) - 1);
  divisors.push_back(1u << 31);
  std::mt19937 engine(1);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (int i = 0; i < 500; ++i) divisors.push_back(random() % ((1u << 31) - 1) + 1);
  for (const std::uint32_t d : divisors) {
    const FastDivisor by(d);
    std::vector<std::uint32_t> dividends = {0, 1, d - 1, (1u << 31) - 1, (1u << 31) - 2};
    for (int i = 0; i < 200; ++i) {
      const std::uint32_t quotient = random() % ((1u << 31) / d);
      for (std::uint32_t near : {quotient * d, quotient * d + d - 1}) dividends.push_back(near);
    }
    for (const std::uint32_t n : dividends) {
      if (n < (1u << 31)) {
        ASSERT_EQ(by.quotient(n), n / d) << n << " / " << d;
      }
    }
  }
}

// All work items of all CTAs, in the order of their clusters.
template <TileSchedulerConfig config>
std::map<Place, int> visits(const TileSchedulerParams& params, std::uint32_t clusters) {
  std::map<Place, int> seen;
  for (std::uint32_t cluster = 0; cluster < clusters; ++cluster) {
    std::array<std::vector<TileWork>, config.cluster.size()> by_rank;
    for (std::uint32_t rank = 0; rank < config.cluster.size(); ++rank) {
      const PersistentTileScheduler<config> scheduler(params, cluster, clusters, rank);
      for (auto work : scheduler.tiles()) {
        by_rank[rank].push_back(work);
        if (work.is_inside) ++seen[place_of(work)];
      }
    }
    // The CTAs of a cluster walk the same cluster tiles.
    for (std::uint32_t rank = 0; rank < config.cluster.size(); ++rank) {
      EXPECT_EQ(by_rank[rank].size(), by_rank[0].size());
      for (std::size_t i = 0; i < by_rank[0].size(); ++i) {
        const TileWork& mine = by_rank[rank][i];
        const TileWork& first = by_rank[0][i];
        EXPECT_EQ(mine.m, first.m + rank % config.cluster.m);
        EXPECT_EQ(mine.n, first.n + rank / config.cluster.m);
        EXPECT_EQ(std::tuple(mine.batch, mine.split), std::tuple(first.batch, first.split));
        EXPECT_EQ(std::pair(first.m % config.cluster.m, first.n % config.cluster.n), std::pair(0u, 0u));
      }
    }
  }
  return seen;
}

template <TileSchedulerConfig config>
void expect_each_tile_once() {
  test::CaseShare share(8);
  for (std::uint32_t m = 0; m <= 20; ++m) {
    for (std::uint32_t n = 0; n <= 20; ++n) {
      if (!share.takes_next()) continue;
      const TileSchedulerParams params = make_tile_scheduler_params<config>({.tiles_m = m, .tiles_n = n});
      for (const std::uint32_t clusters : {1u, 2u, 3u, 7u, 132u}) {
        const std::map<Place, int> seen = visits<config>(params, clusters);
        ASSERT_EQ(seen.size(), m * n) << m << " x " << n << " tiles over " << clusters << " clusters";
        for (const auto& [place, count] : seen) ASSERT_EQ(count, 1);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(TileSchedulerParams, SayOfNothingThatKIsInOnePart) {
  EXPECT_EQ(TileSchedulerParams{}.splits, 1u);
  EXPECT_EQ((KBlocks{.all = 7, .share = 3}.of_split(1).first), 3u);
  EXPECT_EQ((KBlocks{.all = 7, .share = 3}.of_split(2).count), 1u);
  EXPECT_EQ((KBlocks{.all = 7, .share = 3}.of_split(3).count), 0u);
}

TEST(TileWork, BeginsAtTheFirstTile) {
  EXPECT_EQ(TileWork{}, (TileWork{.m = 0, .n = 0, .batch = 0, .split = 0, .is_inside = true}));
}

TEST(TileSchedulerParams, OfNothingHaveNoTiles) {
  EXPECT_TRUE(visits<TileSchedulerConfig{}>(TileSchedulerParams{}, 2).empty());
  EXPECT_EQ(TileSchedulerParams{}.cluster_tiles, 0u);
}

TEST(PersistentTileScheduler, VisitsEachTileOnceAlongM) {
  expect_each_tile_once<TileSchedulerConfig{.raster = Raster::kAlongM, .group = 8}>();
  expect_each_tile_once<TileSchedulerConfig{.raster = Raster::kAlongM, .group = 1}>();
  expect_each_tile_once<TileSchedulerConfig{.raster = Raster::kAlongM, .group = 3}>();
}

TEST(PersistentTileScheduler, VisitsEachTileOnceAlongN) {
  expect_each_tile_once<TileSchedulerConfig{.raster = Raster::kAlongN, .group = 8}>();
  expect_each_tile_once<TileSchedulerConfig{.raster = Raster::kAlongN, .group = 20}>();
  expect_each_tile_once<TileSchedulerConfig{.raster = Raster::kAlongN, .group = 64}>();
}

TEST(PersistentTileScheduler, VisitsEachTileOnceWithClusters) {
  expect_each_tile_once<TileSchedulerConfig{.cluster = {2, 1}, .group = 4}>();
  expect_each_tile_once<TileSchedulerConfig{.cluster = {1, 2}, .group = 4}>();
  expect_each_tile_once<TileSchedulerConfig{.cluster = {2, 2}, .raster = Raster::kAlongN, .group = 3}>();
  expect_each_tile_once<TileSchedulerConfig{.cluster = {4, 2}, .raster = Raster::kAlongM, .group = 2}>();
  expect_each_tile_once<TileSchedulerConfig{.cluster = {3, 1}, .group = 16}>();
}

template <TileSchedulerConfig config>
void expect_batches_and_splits(const std::vector<std::uint32_t>& batches,
                               const std::vector<std::uint32_t>& splits) {
  for (const std::uint32_t batch_count : batches) {
    for (const std::uint32_t split_count : splits) {
      for (std::uint32_t m : {0u, 1u, 5u, 9u}) {
        for (std::uint32_t n : {1u, 4u, 7u}) {
          const TileSchedulerParams params = make_tile_scheduler_params<config>(
              {.tiles_m = m, .tiles_n = n, .batches = batch_count, .splits = split_count});
          const std::map<Place, int> seen = visits<config>(params, 5);
          ASSERT_EQ(seen.size(), m * n * batch_count * split_count);
          for (const auto& [place, count] : seen) {
            ASSERT_EQ(count, 1);
            ASSERT_LT(std::get<2>(place), batch_count);
            ASSERT_LT(std::get<3>(place), split_count);
          }
        }
      }
    }
  }
}

TEST(PersistentTileScheduler, VisitsEachTileOfEachBatchAndSplitOnce) {
  constexpr TileSchedulerConfig kBatched{.group = 4, .is_batched = true};
  constexpr TileSchedulerConfig kSplit{.cluster = {2, 1}, .group = 4, .is_split = true};
  constexpr TileSchedulerConfig kBoth{.group = 4, .is_batched = true, .is_split = true};
  expect_batches_and_splits<kBatched>({0, 1, 2, 5}, {1});
  expect_batches_and_splits<kSplit>({1}, {1, 2, 3, 8});
  expect_batches_and_splits<kBoth>({1, 2, 3}, {1, 2, 7});
}

TEST(PersistentTileScheduler, TilesOfOneSplitComeBeforeTheNext) {
  constexpr TileSchedulerConfig kConfig{.group = 4, .is_batched = true, .is_split = true};
  const auto params =
      make_tile_scheduler_params<kConfig>({.tiles_m = 3, .tiles_n = 2, .batches = 2, .splits = 2});
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  for (auto work : PersistentTileScheduler<kConfig>(params, 0, 1, 0).tiles()) {
    order.emplace_back(work.batch, work.split);
  }
  ASSERT_EQ(order.size(), 24u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(PersistentTileScheduler, WalksABandColumnByColumn) {
  constexpr TileSchedulerConfig kConfig{.raster = Raster::kAlongM, .group = 2};
  const auto params = make_tile_scheduler_params<kConfig>({.tiles_m = 5, .tiles_n = 3});
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  for (auto work : PersistentTileScheduler<kConfig>(params, 0, 1, 0).tiles()) order.emplace_back(work.m, work.n);
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> expected = {
      {0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2},  // rows 0 and 1
      {2, 0}, {3, 0}, {2, 1}, {3, 1}, {2, 2}, {3, 2},  // rows 2 and 3
      {4, 0}, {4, 1}, {4, 2}};                         // what is left
  EXPECT_EQ(order, expected);
}

// How many different rows of A and columns of B the tiles touch that are worked on at the same time.
template <TileSchedulerConfig config>
double loads_per_wave(std::uint32_t tiles, std::uint32_t ctas) {
  const auto params = make_tile_scheduler_params<config>({.tiles_m = tiles, .tiles_n = tiles});
  double loads = 0;
  std::uint32_t waves = 0;
  for (std::uint32_t first = 0; first + ctas <= params.cluster_tiles; first += ctas, ++waves) {
    std::set<std::uint32_t> rows, columns;
    for (std::uint32_t i = 0; i < ctas; ++i) {
      const TileWork work = tile_work<config>(params, first + i, 0);
      rows.insert(work.m);
      columns.insert(work.n);
    }
    loads += static_cast<double>(rows.size() + columns.size());
  }
  return loads / waves;
}

TEST(PersistentTileScheduler, BandsTouchFewerRowsAndColumnsThanPlainRows) {
  const double plain = loads_per_wave<TileSchedulerConfig{.raster = Raster::kAlongM, .group = 1}>(64, 132);
  const double banded = loads_per_wave<TileSchedulerConfig{.raster = Raster::kAlongM, .group = 8}>(64, 132);
  EXPECT_GT(plain, 60);
  EXPECT_LT(banded, 30) << "132 tiles in bands of 8 are about 8 rows and 17 columns";
}

TEST(PersistentTileScheduler, ShorterSideIsTheBand) {
  constexpr TileSchedulerConfig kConfig{.cluster = {2, 1}};
  EXPECT_TRUE(make_tile_scheduler_params<kConfig>({.tiles_m = 8, .tiles_n = 5}).is_along_m);
  EXPECT_FALSE(make_tile_scheduler_params<kConfig>({.tiles_m = 12, .tiles_n = 5}).is_along_m);
}

TEST(PersistentTileScheduler, LaunchShapeHoldsNoMoreThanTilesOrDevice) {
  constexpr TileSchedulerConfig kConfig{.cluster = {2, 2}};
  const auto shape_of = [&](std::uint32_t m, std::uint32_t n, std::uint32_t resident) {
    return persistent_launch_shape<kConfig>(make_tile_scheduler_params<kConfig>({.tiles_m = m, .tiles_n = n}),
                                            resident);
  };
  EXPECT_EQ(shape_of(64, 64, 132).grid, (isa::Dim3{66, 2, 1}));
  EXPECT_EQ(shape_of(3, 3, 132).grid, (isa::Dim3{8, 2, 1}));
  EXPECT_EQ(shape_of(0, 3, 132).grid, (isa::Dim3{2, 2, 1}));
  EXPECT_EQ(shape_of(64, 64, 1).grid, (isa::Dim3{2, 2, 1}));
  EXPECT_EQ(shape_of(64, 64, 132).cluster, (isa::Dim3{2, 2, 1}));
}

TEST(PersistentTileScheduler, CountsTilesOfHugeGridsWithoutWrappingRound) {
  constexpr TileSchedulerConfig kConfig{.is_batched = true};
  EXPECT_EQ(cluster_tiles_of<kConfig>({.tiles_m = 1u << 20, .tiles_n = 1u << 20}), std::uint64_t{1} << 40);
  EXPECT_GT(cluster_tiles_of<kConfig>({.tiles_m = ~0u, .tiles_n = ~0u, .batches = ~0u}), kMaxClusterTiles);
  // The largest that fits still gives every index a place.
  const auto params = make_tile_scheduler_params<kConfig>({.tiles_m = 46340, .tiles_n = 46340});
  const TileWork last = tile_work<kConfig>(params, params.cluster_tiles - 1, 0);
  EXPECT_EQ(std::pair(last.m, last.n), std::pair(46339u, 46339u));
}

// The order of a launch stands above the configuration's, and gives the same tiles as a configuration with it.
TEST(PersistentTileScheduler, GridChoosesItsOwnOrder) {
  constexpr TileSchedulerConfig kConfig{
      .cluster = {2, 1}, .raster = Raster::kAlongN, .group = 5, .is_split = true};
  constexpr TileSchedulerConfig kOther{
      .cluster = {2, 1}, .raster = Raster::kAlongM, .group = 3, .is_split = true};
  const auto order_of = [&]<TileSchedulerConfig config>(const TileGrid& grid) {
    const auto params = make_tile_scheduler_params<config>(grid);
    std::vector<TileWork> order;
    for (auto work : PersistentTileScheduler<config>(params, 0, 1, 1).tiles()) order.push_back(work);
    return order;
  };
  const TileGrid plain{.tiles_m = 9, .tiles_n = 7, .splits = 2};
  const TileGrid chosen{.tiles_m = 9, .tiles_n = 7, .splits = 2, .group = 3, .raster = Raster::kAlongM};
  const auto other = order_of.template operator()<kOther>(plain);
  EXPECT_EQ(order_of.template operator()<kConfig>(chosen), other);
  EXPECT_NE(order_of.template operator()<kConfig>(plain), other);
}

// Two warpgroups that take turns: together they see what one walk sees, and each knows whether another follows.
TEST(PersistentTileScheduler, WalksThatShareTheTilesTakeTurns) {
  constexpr TileSchedulerConfig kConfig{.raster = Raster::kAlongM, .group = 2};
  const auto params = make_tile_scheduler_params<kConfig>({.tiles_m = 5, .tiles_n = 3});
  for (const std::uint32_t clusters : {1u, 2u, 4u, 15u, 20u}) {
    for (std::uint32_t cluster = 0; cluster < clusters; ++cluster) {
      const PersistentTileScheduler<kConfig> scheduler(params, cluster, clusters, 0);
      std::vector<TileWork> all;
      for (auto work : scheduler.tiles()) all.push_back(work);
      std::size_t seen = 0;
      for (std::uint32_t first = 0; first < 2; ++first) {
        const auto tiles = scheduler.tiles(first, 2);
        std::size_t at = first;
        for (auto tile = tiles.begin(); tile != tiles.end(); ++tile, at += 2, ++seen) {
          ASSERT_LT(at, all.size());
          EXPECT_EQ(*tile, all[at]);
          EXPECT_EQ(tile.has_next(), at + 1 < all.size());
        }
      }
      EXPECT_EQ(seen, all.size());
    }
  }
}

// The scheduler finds its own place in the launch.
TEST(PersistentTileScheduler, LaunchedClustersShareTheTiles) {
  constexpr TileSchedulerConfig kConfig{.cluster = {2, 2}, .group = 2};
  for (const auto& [m, n] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 0}, {1, 1}, {7, 9}, {20, 3}}) {
    const auto params = make_tile_scheduler_params<kConfig>({.tiles_m = m, .tiles_n = n});
    const LaunchShape shape = persistent_launch_shape<kConfig>(params, 12);
    std::map<Place, int> seen;
    EXPECT_TRUE(is_silent(run_kernel<NoShared>(
        {.threads = 1, .grid = shape.grid, .cluster = shape.cluster, .sms = 12}, [&](NoShared&) {
          const PersistentTileScheduler<kConfig> scheduler(params);
          for (auto work : scheduler.tiles()) {
            if (work.is_inside) ++seen[place_of(work)];
          }
        })));
    EXPECT_EQ(seen.size(), m * n);
    for (const auto& [place, count] : seen) EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace heddle::test
