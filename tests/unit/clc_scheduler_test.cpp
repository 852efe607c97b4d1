// SPDX-License-Identifier: Apache-2.0
#include "../support/clc_kernel.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::test {
namespace {

constexpr ClcCase kPair{.cluster = {2, 1}};
constexpr ClcCase kSquare{.cluster = {2, 2}};

TEST(ClcTileScheduler, DoesEachTileOnceOnOneCta) {
  for (const std::uint32_t tiles : {1u, 2u, 3u, 7u, 40u}) {
    for (const std::uint32_t sms : {1u, 2u, 16u}) expect_each_tile_once<ClcCase{}>({tiles, 1}, sms, 3);
  }
}

TEST(ClcTileScheduler, DoesEachTileOnceOnClusters) {
  for (const TileGrid& grid : {TileGrid{4, 4}, TileGrid{2, 9}, TileGrid{12, 2}}) {
    expect_each_tile_once<kPair>(grid, 4, 3);
    expect_each_tile_once<kSquare>(grid, 8, 3);
  }
}

TEST(ClcTileScheduler, HasNothingToDoWithoutTiles) {
  for (const TileGrid& grid : {TileGrid{0, 0}, TileGrid{0, 5}, TileGrid{5, 0}}) {
    expect_each_tile_once<ClcCase{}>(grid, 4, 3);
    expect_each_tile_once<kSquare>(grid, 4, 3);
  }
}

TEST(ClcTileScheduler, ClustersReachOverTheEdge) {
  for (const TileGrid& grid : {TileGrid{1, 1}, TileGrid{3, 3}, TileGrid{5, 2}, TileGrid{1, 7}}) {
    expect_each_tile_once<kPair>(grid, 2, 3);
    expect_each_tile_once<kSquare>(grid, 4, 3);
  }
}

// A slot of the ring is used an even and an odd number of times, by one cluster that does everything.
template <std::uint32_t stages>
void expect_drained() {
  for (std::uint32_t tiles = 0; tiles <= 2 * stages + 3; ++tiles) {
    expect_each_tile_once<ClcCase{.stages = stages}>({tiles, 1}, 1, 2);
    expect_each_tile_once<ClcCase{.cluster = {2, 1}, .stages = stages}>({2 * tiles, 1}, 2, 2);
  }
}

TEST(ClcTileScheduler, DrainsAfterAnyNumberOfUsesOfASlot) {
  expect_drained<1>();
  expect_drained<2>();
  expect_drained<3>();
  expect_drained<4>();
}

// One SM and no bad luck: the first cluster cancels all others.
TEST(ClcTileScheduler, CancelsWhatDoesNotFit) {
  const ClcRun run = walk_tiles<ClcCase{}>({50, 1}, 1, sim::Schedule::round_robin());
  EXPECT_TRUE(is_silent(run.report));
  EXPECT_EQ(run.report.stats.ctas, 1u);
  EXPECT_EQ(run.report.stats.cancelled_clusters, 49u);
}

// Planted mistakes. Each is an operator and a site, and the code and the barrier that the report must name.
struct LongExpect : ClcSignals {
  static void expect_response(MbarPtr full, std::uint32_t cta_rank, CallSite site) {
    isa::mbarrier_arrive_expect_tx_cluster(isa::mapa(full, cta_rank, site), 32, site);
  }
};

struct ShortExpect : ClcSignals {
  static void expect_response(MbarPtr full, std::uint32_t cta_rank, CallSite site) {
    isa::mbarrier_arrive_expect_tx_cluster(isa::mapa(full, cta_rank, site), 8, site);
  }
};

struct ExpectInFirstCtaOnly : ClcSignals {
  static void expect_response(MbarPtr full, std::uint32_t cta_rank, CallSite site) {
    if (cta_rank == 0) ClcSignals::expect_response(full, cta_rank, site);
  }
};

struct NoThrottleConsumer : ClcSignals {
  template <class Throttle>
  static void take_leave(Throttle&, CallSite) {}
};

struct EpilogueDoesNotArrive : ClcSignals {
  static void release_response(MbarPtr empty, CallSite site) {
    if (!ClcRoles::is<ClcEpilogue>()) ClcSignals::release_response(empty, site);
  }
};

struct OneArrivalForTheWarp : ClcSignals {
  static void release_response(MbarPtr empty, CallSite site) {
    isa::fence_proxy_async_shared_cta(site);
    isa::syncwarp(isa::kFullMask, site);
    if (isa::elect_sync(isa::kFullMask, site)) isa::mbarrier_arrive_cluster(isa::mapa(empty, 0, site), 1, site);
  }
};

struct MmaArrivesTwice : ClcSignals {
  static void release_response(MbarPtr empty, CallSite site) {
    ClcSignals::release_response(empty, site);
    if (ClcRoles::is<ClcMma>()) ClcSignals::release_response(empty, site);
  }
};

// The elected thread tells of reads that the other lanes may still have to make.
struct ReleaseWithoutMeeting : ClcSignals {
  static void release_response(MbarPtr empty, CallSite site) {
    if (isa::elect_sync(isa::kFullMask, site)) {
      isa::mbarrier_arrive_cluster(isa::mapa(empty, 0, site), isa::kWarpThreads, site);
    }
  }
};

// Every schedule must show the mistake: it is one of the protocol, not of a race.
template <ClcCase test_case, class Signals>
void expect_report(const std::string& code, const std::string& what) {
  for (const sim::Schedule& schedule : some_schedules(6)) {
    const ClcRun run = walk_tiles<test_case, Signals>({24, 2}, 4, schedule);
    EXPECT_TRUE(run.report.has(code)) << schedule.name() << "\n" << run.report.text();
    EXPECT_NE(run.report.text().find(what), std::string::npos) << schedule.name() << "\n" << run.report.text();
  }
}

TEST(ClcTileScheduler, LongExpectAtSchedulerIsADeadlock) {
  expect_report<ClcCase{}, LongExpect>("deadlock", "bytes 16 of 32");
  expect_report<kPair, LongExpect>("deadlock", "bytes 16 of 32");
}

TEST(ClcTileScheduler, ShortExpectAtSchedulerIsADeadlock) {
  expect_report<ClcCase{}, ShortExpect>("deadlock", "bytes 16 of 8");
}

TEST(ClcTileScheduler, ExpectInOneCtaOfAClusterIsADeadlock) {
  expect_report<kPair, ExpectInFirstCtaOnly>("deadlock", "full of clc[0]");
}

TEST(ClcTileScheduler, DroppedThrottleAtSchedulerIsADeadlock) {
  expect_report<ClcCase{}, NoThrottleConsumer>("deadlock", "empty of clc throttle[");
}

TEST(ClcTileScheduler, DroppedThrottleSignalAtLoadIsADeadlock) {
  expect_report<ClcCase{.gives_leave = false}, ClcSignals>("deadlock", "full of clc throttle[0]");
}

TEST(ClcTileScheduler, DroppedReleaseAtEpilogueIsADeadlock) {
  expect_report<ClcCase{}, EpilogueDoesNotArrive>("deadlock", "empty of clc[");
}

TEST(ClcTileScheduler, OneArrivalForAWarpIsADeadlock) {
  expect_report<ClcCase{}, OneArrivalForTheWarp>("deadlock", "empty of clc[");
}

TEST(ClcTileScheduler, RoleThatStopsEarlyIsADeadlock) {
  expect_report<ClcCase{.mma_tiles = 1}, ClcSignals>("deadlock", "input[");
}

TEST(ClcTileScheduler, SecondReleaseAtMmaIsReported) {
  for (const sim::Schedule& schedule : some_schedules(6)) {
    const ClcRun run = walk_tiles<ClcCase{}, MmaArrivesTwice>({24, 2}, 4, schedule);
    EXPECT_TRUE(run.report.has("over_arrival") || run.report.has("write_while_read")) << run.report.text();
  }
}

TEST(ClcTileScheduler, ReleaseWithoutMeetingIsReported) {
  for (const sim::Schedule& schedule : some_schedules(6)) {
    const ClcRun run = walk_tiles<ClcCase{}, ReleaseWithoutMeeting>({24, 2}, 1, schedule);
    EXPECT_TRUE(run.report.has("write_while_read")) << run.report.text();
  }
}

}  // namespace
}  // namespace heddle::test
