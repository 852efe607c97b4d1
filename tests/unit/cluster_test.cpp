// SPDX-License-Identifier: Apache-2.0
#include <heddle/isa/address.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

using isa::Dim3;

struct Shared {
  std::uint32_t word[16];
  SharedMemBarrier bar[2];
};

struct Place {
  Dim3 id, in_cluster, cluster;
  std::uint32_t rank = 0, size = 0;
};

TEST(Cluster, RanksAndIdsCountTheFirstDimensionFirst) {
  std::vector<Place> places;
  const sim::Report report =
      run_kernel<NoShared>({.threads = 1, .grid = {4, 6, 4}, .cluster = {2, 3, 2}, .sms = 24}, [&](NoShared&) {
        places.push_back({isa::ctaid(), isa::cluster_ctaid(), isa::clusterid(), isa::cluster_ctarank(),
                          isa::cluster_nctarank()});
        EXPECT_EQ(isa::nctaid(), (Dim3{4, 6, 4}));
      });
  EXPECT_TRUE(is_silent(report));
  ASSERT_EQ(places.size(), 96u);
  std::set<std::uint32_t> seen;
  for (const Place& p : places) {
    EXPECT_EQ(p.in_cluster, (Dim3{p.id.x % 2, p.id.y % 3, p.id.z % 2}));
    EXPECT_EQ(p.cluster, (Dim3{p.id.x / 2, p.id.y / 3, p.id.z / 2}));
    EXPECT_EQ(p.rank, p.in_cluster.x + 2 * (p.in_cluster.y + 3 * p.in_cluster.z));
    EXPECT_EQ(p.size, 12u);
    seen.insert(p.id.x + 4 * (p.id.y + 6 * p.id.z));
  }
  EXPECT_EQ(seen.size(), 96u);
}

TEST(Cluster, CtaAloneIsAClusterOfOne) {
  Place place;
  EXPECT_TRUE(is_silent(run_kernel<NoShared>({.threads = 1}, [&](NoShared&) {
    place = {isa::ctaid(), isa::cluster_ctaid(), isa::clusterid(), isa::cluster_ctarank(),
             isa::cluster_nctarank()};
    isa::cluster_sync();
  })));
  EXPECT_EQ(place.id, (Dim3{0, 0, 0}));
  EXPECT_EQ(place.cluster, (Dim3{0, 0, 0}));
  EXPECT_EQ(place.rank, 0u);
  EXPECT_EQ(place.size, 1u);
}

TEST(Cluster, MapaKeepsTheOffsetAndPutsTheRankAboveBit24) {
  std::array<std::uint32_t, 4> own{};
  std::array<std::array<std::uint32_t, 4>, 4> mapped{};
  EXPECT_TRUE(is_silent(run_kernel<Shared>({.threads = 1, .grid = {4}, .cluster = {4}}, [&](Shared& shared) {
    const std::uint32_t rank = isa::cluster_ctarank();
    own[rank] = isa::shared_address(shared.word + 3);
    for (std::uint32_t r = 0; r < 4; ++r) mapped[rank][r] = isa::shared_address(isa::mapa(shared.word + 3, r));
  })));
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(own[rank], rank << 24 | 0x40cu) << "shared memory starts at 1024";
    for (std::uint32_t r = 0; r < 4; ++r) EXPECT_EQ(mapped[rank][r], r << 24 | 0x40cu);
  }
}

TEST(Cluster, MapaOfAPeersAddressLeadsToTheNamedRank) {
  std::uint32_t there_and_back = 0;
  EXPECT_TRUE(is_silent(run_kernel<Shared>({.threads = 1, .grid = {3}, .cluster = {3}}, [&](Shared& shared) {
    if (isa::cluster_ctarank() == 1) {
      there_and_back = isa::shared_address(isa::mapa(isa::mapa(shared.bar, 2), 1));
      EXPECT_EQ(isa::mapa(isa::mapa(shared.bar, 2), 1), shared.bar);
    }
  })));
  EXPECT_EQ(there_and_back, 1u << 24 | 0x440u);
}

TEST(Cluster, BarrierHoldsEveryThreadUntilAllHaveArrived) {
  for (const sim::Schedule& schedule : some_schedules()) {
    std::uint32_t arrived = 0;
    bool too_early = false;
    const sim::Report report =
        run_kernel<NoShared>({.threads = 64, .grid = {4}, .cluster = {4}, .schedule = schedule}, [&](NoShared&) {
          for (std::uint32_t round = 1; round <= 4; ++round) {
            ++arrived;
            if (round % 2 == 0) {
              isa::barrier_cluster_arrive();
            } else {
              isa::barrier_cluster_arrive_relaxed();
            }
            isa::barrier_cluster_wait();
            too_early |= arrived < round * 256;
          }
        });
    EXPECT_TRUE(is_silent(report));
    EXPECT_FALSE(too_early);
    EXPECT_EQ(arrived, 1024u);
  }
}

TEST(Cluster, BarrierDoesNotWaitForThreadsThatHaveExited) {
  for (const sim::Schedule& schedule : some_schedules()) {
    std::uint32_t passed = 0;
    const sim::Report report =
        run_kernel<NoShared>({.threads = 64, .grid = {2}, .cluster = {2}, .schedule = schedule}, [&](NoShared&) {
          if (isa::tid_x() % 3 == 0) return;
          isa::cluster_sync();
          if (isa::tid_x() % 3 == 1) return;
          isa::cluster_sync();
          ++passed;
        });
    EXPECT_TRUE(is_silent(report));
    EXPECT_EQ(passed, 2 * 21u) << "threads whose number leaves 2";
  }
}

TEST(Cluster, ThreadMayArriveAndExitWithoutWaiting) {
  for (const sim::Schedule& schedule : some_schedules(40)) {
    std::uint32_t arrived = 0;
    std::uint32_t passed = 0;
    bool too_early = false;
    const sim::Report report =
        run_kernel<NoShared>({.threads = 32, .grid = {2}, .cluster = {2}, .schedule = schedule}, [&](NoShared&) {
          ++arrived;
          isa::barrier_cluster_arrive();
          if (isa::laneid() == 0) return;
          isa::barrier_cluster_wait();
          too_early |= arrived < 64;
          isa::cluster_sync();
          ++passed;
        });
    EXPECT_TRUE(is_silent(report));
    EXPECT_FALSE(too_early) << "those that left have arrived, and count once";
    EXPECT_EQ(passed, 62u);
  }
}

TEST(Cluster, ClustersDoNotWaitForEachOther) {
  // On two SMs the second cluster starts when the first has ended.
  std::uint32_t passed = 0;
  EXPECT_TRUE(
      is_silent(run_kernel<NoShared>({.threads = 32, .grid = {6}, .cluster = {2}, .sms = 2}, [&](NoShared&) {
        isa::cluster_sync();
        ++passed;
      })));
  EXPECT_EQ(passed, 192u);
}

TEST(Cluster, SecondArrivalWithoutAWaitIsReported) {
  const auto run = [](bool waits) {
    return run_kernel<NoShared>({.threads = 1, .grid = {2}, .cluster = {2}}, [=](NoShared&) {
      isa::barrier_cluster_arrive();
      if (waits) isa::barrier_cluster_wait();
      isa::barrier_cluster_arrive();
      isa::barrier_cluster_wait();
    });
  };
  EXPECT_TRUE(
      faults_with(run(false), "cluster_barrier",
                  "[cluster_barrier] barrier.cluster.arrive twice without barrier.cluster.wait between; each "
                  "thread arrives once in a round"));
  EXPECT_TRUE(is_silent(run(true)));
}

TEST(Cluster, WaitWithoutArrivalIsReported) {
  const auto run = [](bool arrives) {
    return run_kernel<NoShared>({.threads = 1, .grid = {2}, .cluster = {2}}, [=](NoShared&) {
      if (arrives) isa::barrier_cluster_arrive();
      isa::barrier_cluster_wait();
    });
  };
  EXPECT_TRUE(faults_with(run(false), "cluster_barrier",
                          "[cluster_barrier] barrier.cluster.wait without barrier.cluster.arrive before it"));
  EXPECT_TRUE(is_silent(run(true)));
}

TEST(Cluster, MapaBeyondTheClusterIsReported) {
  const auto map_to = [](std::uint32_t rank) {
    return run_kernel<Shared>({.threads = 1, .grid = {2}, .cluster = {2}},
                              [=](Shared& shared) { isa::mapa(shared.bar, rank); });
  };
  EXPECT_TRUE(
      faults_with(map_to(2), "bad_rank", "[bad_rank] mapa to rank 2, but the cluster has 2 CTAs: ranks 0 to 1"));
  EXPECT_TRUE(is_silent(map_to(1)));
}

TEST(Cluster, SignalToACtaThatHasExitedIsReported) {
  const auto run = [](const sim::Schedule& schedule, bool stays) {
    return run_kernel<Shared>(
        {.threads = 1, .grid = {2}, .cluster = {2}, .schedule = schedule}, [=](Shared& shared) {
          init_barrier(shared.bar, 1);
          isa::cluster_sync();
          if (isa::cluster_ctarank() == 0 && !stays) return;
          isa::cluster_sync();  // rank 1 goes through when rank 0 has arrived, or has exited
          if (isa::cluster_ctarank() == 1) isa::mbarrier_arrive_cluster(isa::mapa(shared.bar, 0));
          isa::cluster_sync();
        });
  };
  for (const sim::Schedule& schedule : some_schedules()) {
    EXPECT_TRUE(faults_with(run(schedule, false), "exited_cta",
                            "[exited_cta] mbarrier.arrive reaches block 0, which has exited"));
    EXPECT_TRUE(is_silent(run(schedule, true)));
  }
}

TEST(Cluster, HangOnTheClusterBarrierNamesTheBlocks) {
  std::uint32_t wait_line = 0;
  std::uint32_t sync_line = 0;
  const auto run = [&](bool all) {
    return run_kernel<Shared>({.threads = 32, .grid = {2}, .cluster = {2}}, [&, all](Shared& shared) {
      if (isa::tid_x() == 0) init_barrier(shared.bar, 1);
      isa::cluster_sync();
      wait_line = __LINE__ + 1;
      if (isa::cluster_ctarank() == 1 && isa::tid_x() == 0 && !all) wait_parity(shared.bar, 0);
      sync_line = __LINE__ + 1;
      isa::cluster_sync();
    });
  };
  const sim::Report report = run(false);
  EXPECT_EQ(report.text(),
            "[deadlock] 64 threads are blocked and nothing in flight can wake them\n" +
                line_at("block 0, warp 0: waits on the cluster barrier", "cluster_test.cpp", sync_line) +
                line_at("block 1, warp 0, lane 0: waits for the barrier at shared address 0x440, phase 0",
                        "cluster_test.cpp", wait_line) +
                "    arrivals 0 of 1\n" +
                line_at("block 1, warp 0: waits on the cluster barrier", "cluster_test.cpp", sync_line) +
                "  again: tiny with schedule rr\n");
  EXPECT_TRUE(is_silent(run(true)));
}

}  // namespace
}  // namespace heddle::test
