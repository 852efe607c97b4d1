// SPDX-License-Identifier: Apache-2.0
//
// The mbarrier instructions as a kernel sees them. The arithmetic behind them is in mbarrier_test.cpp, what is
// refused in mbarrier_fault_test.cpp.
#include <heddle/isa/cluster.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>

#include <gtest/gtest.h>

#include <array>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

using isa::MbarrierState;

struct Shared {
  SharedMemBarrier bar[4];
  std::uint32_t word[4];
};

// One thread, which has initialised bar[0] with `count`.
template <class Body>
sim::Report with_barrier(std::uint32_t count, const Body& body) {
  return run_kernel<Shared>({.threads = 1}, [&](Shared& shared) {
    init_barrier(shared.bar, count);
    body(shared);
  });
}

// Two CTAs, each with its own barrier; `body` runs in one thread of each, between two cluster barriers.
template <class Body>
sim::Report with_barrier_in_each_cta(std::uint32_t count, const sim::Schedule& schedule, const Body& body) {
  return run_kernel<Shared>({.threads = 1, .grid = {2}, .cluster = {2}, .schedule = schedule},
                            [&](Shared& shared) {
                              init_barrier(shared.bar, count);
                              isa::cluster_sync();
                              body(shared, isa::mapa(shared.bar, 1 - isa::cluster_ctarank()));
                              isa::cluster_sync();
                            });
}

TEST(MbarrierInstructions, TokenNamesThePhaseAndWhatWasPendingBefore) {
  std::array<std::uint32_t, 3> pending{};
  std::array<bool, 3> is_over{};
  EXPECT_TRUE(is_silent(with_barrier(3, [&](Shared& shared) {
    const MbarrierState first = isa::mbarrier_arrive(shared.bar);
    const MbarrierState second = isa::mbarrier_arrive_expect_tx(shared.bar, 0);
    is_over[0] = isa::mbarrier_test_wait(shared.bar, first);
    const MbarrierState third = isa::mbarrier_arrive(shared.bar, 1);
    is_over[1] = isa::mbarrier_test_wait(shared.bar, third);
    const MbarrierState next = isa::mbarrier_arrive(shared.bar);
    is_over[2] = isa::mbarrier_test_wait(shared.bar, next);
    pending = {isa::mbarrier_pending_count(first), isa::mbarrier_pending_count(second),
               isa::mbarrier_pending_count(third)};
  })));
  EXPECT_EQ(pending, (std::array<std::uint32_t, 3>{3, 2, 1}));
  EXPECT_EQ(is_over, (std::array<bool, 3>{false, true, false}));
}

TEST(MbarrierInstructions, ParityOfAFreshBarrierIsOverForOneAndNotForZero) {
  std::array<bool, 4> is_over{};
  EXPECT_TRUE(is_silent(with_barrier(1, [&](Shared& shared) {
    is_over[0] = isa::mbarrier_test_wait_parity(shared.bar, 0);
    is_over[1] = isa::mbarrier_test_wait_parity(shared.bar, 1);
    isa::mbarrier_arrive(shared.bar);
    is_over[2] = isa::mbarrier_test_wait_parity(shared.bar, 0);
    is_over[3] = isa::mbarrier_test_wait_parity(shared.bar, 1);
  })));
  EXPECT_EQ(is_over, (std::array<bool, 4>{false, true, true, false}));
}

TEST(MbarrierInstructions, EveryWaitPassesOnceThePhaseIsOver) {
  for (const sim::Schedule& schedule : some_schedules()) {
    std::array<std::uint32_t, 5> seen{};
    const sim::Report report = run_kernel<Shared>({.threads = 64, .schedule = schedule}, [&](Shared& shared) {
      if (isa::tid_x() == 0) init_barrier(shared.bar, 33);
      isa::syncthreads();
      if (isa::tid_x() == 0) {
        isa::st_shared(shared.word, 4711);
        isa::mbarrier_arrive(shared.bar);
      } else if (isa::tid_x() >= 32) {
        const MbarrierState state = isa::mbarrier_arrive(shared.bar);
        const std::uint32_t way = isa::laneid() % 5;
        const auto is_over = [&] {
          switch (way) {
            case 0: return isa::mbarrier_try_wait(shared.bar, state);
            case 1: return isa::mbarrier_try_wait_parity(shared.bar, 0);
            case 2: return isa::mbarrier_try_wait_parity_hint(shared.bar, 0, 1000);
            case 3: return isa::mbarrier_try_wait_parity_cluster(shared.bar, 0);
            default: return isa::mbarrier_test_wait(shared.bar, state);
          }
        };
        while (!is_over()) {
        }
        seen[way] = isa::ld_shared(shared.word);
      }
    });
    EXPECT_TRUE(is_silent(report));
    EXPECT_EQ(seen, (std::array<std::uint32_t, 5>{4711, 4711, 4711, 4711, 4711}));
  }
}

TEST(MbarrierInstructions, BytesMayCompleteBeforeTheyAreExpected) {
  std::array<bool, 3> is_over{};
  EXPECT_TRUE(is_silent(with_barrier(1, [&](Shared& shared) {
    isa::mbarrier_complete_tx_cluster(shared.bar, 64);
    const MbarrierState state = isa::mbarrier_arrive(shared.bar);
    is_over[0] = isa::mbarrier_test_wait(shared.bar, state);
    isa::mbarrier_expect_tx(shared.bar, 48);
    is_over[1] = isa::mbarrier_test_wait(shared.bar, state);
    isa::mbarrier_expect_tx(shared.bar, 16);
    is_over[2] = isa::mbarrier_test_wait(shared.bar, state);
  })));
  EXPECT_EQ(is_over, (std::array<bool, 3>{false, false, true}));
}

TEST(MbarrierInstructions, ArriveDropLeavesTheBarrierToTheOthers) {
  bool is_over = false;
  EXPECT_TRUE(is_silent(with_barrier(2, [&](Shared& shared) {
    isa::mbarrier_arrive_drop(shared.bar);
    isa::mbarrier_arrive(shared.bar);
    wait_parity(shared.bar, 0);
    isa::mbarrier_arrive(shared.bar);
    is_over = isa::mbarrier_test_wait_parity(shared.bar, 1);
  })));
  EXPECT_TRUE(is_over);
}

TEST(MbarrierInstructions, InvalidatedBarrierIsPlainMemoryAndCanBeInitialisedAgain) {
  std::uint32_t read_back = 0;
  EXPECT_TRUE(is_silent(with_barrier(1, [&](Shared& shared) {
    isa::mbarrier_inval(shared.bar);
    auto* words = reinterpret_cast<std::uint32_t*>(shared.bar);
    isa::st_shared(words + 1, 99);
    read_back = isa::ld_shared(words + 1);
    init_barrier(shared.bar, 2);
    isa::mbarrier_arrive(shared.bar, 2);
    wait_parity(shared.bar, 0);
  })));
  EXPECT_EQ(read_back, 99u);
}

TEST(MbarrierInstructions, PeersArriveExpectAndCompleteOnEachOthersBarriers) {
  for (const sim::Schedule& schedule : some_schedules()) {
    EXPECT_TRUE(is_silent(with_barrier_in_each_cta(2, schedule, [](Shared& shared, MbarPtr peers) {
      isa::mbarrier_arrive_cluster(peers);
      isa::mbarrier_arrive_expect_tx_cluster(peers, 32);
      isa::mbarrier_expect_tx_cluster(peers, 16);
      isa::mbarrier_complete_tx_cluster(peers, 48);
      wait_parity_cluster(shared.bar, 0);
    })));
  }
}

TEST(MbarrierInstructions, RemoteArrivalIsMissedByTheOwnerUntilItComes) {
  // One expected arrival more than the peer makes: both CTAs wait for ever.
  const auto with_count = [](std::uint32_t count) {
    return with_barrier_in_each_cta(count, {}, [](Shared& shared, MbarPtr peers) {
      isa::mbarrier_arrive_cluster(peers);
      wait_parity_cluster(shared.bar, 0);
    });
  };
  EXPECT_TRUE(faults_with(with_count(2), "deadlock",
                          "[deadlock] 2 threads are blocked and nothing in flight can wake them"));
  EXPECT_TRUE(is_silent(with_count(1)));
}

}  // namespace
}  // namespace heddle::test
