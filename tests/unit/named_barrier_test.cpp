// SPDX-License-Identifier: Apache-2.0
#include <heddle/isa/annotate.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/warp.h>

#include <gtest/gtest.h>

#include <array>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

struct Shared {
  std::uint32_t word[160];
};

TEST(NamedBarrier, WritesBeforeItAreSeenByAllThatSync) {
  for (const sim::Schedule& schedule : some_schedules()) {
    std::array<std::uint32_t, 128> seen{};
    const sim::Report report = run_kernel<Shared>({.threads = 128, .schedule = schedule}, [&](Shared& shared) {
      isa::st_shared(shared.word + isa::tid_x(), 1000 + isa::tid_x());
      isa::bar_sync(3, 128);
      seen[isa::tid_x()] = isa::ld_shared(shared.word + 127 - isa::tid_x());
    });
    EXPECT_TRUE(is_silent(report));
    for (std::uint32_t t = 0; t < 128; ++t) EXPECT_EQ(seen[t], 1000 + 127 - t) << "thread " << t;
  }
}

TEST(NamedBarrier, ArriveHandsOverWithoutWaiting) {
  for (const sim::Schedule& schedule : some_schedules()) {
    std::uint32_t seen = 0;
    const sim::Report report = run_kernel<Shared>({.threads = 64, .schedule = schedule}, [&](Shared& shared) {
      if (isa::warp_idx() == 0) {
        if (isa::laneid() == 5) isa::st_shared(shared.word, 7);
        isa::bar_arrive(1, 64);
      } else {
        isa::bar_sync(1, 64);
        seen = isa::ld_shared(shared.word);
      }
    });
    EXPECT_TRUE(is_silent(report));
    EXPECT_EQ(seen, 7u);
  }
}

TEST(NamedBarrier, SixteenBarriersServeSixteenPairsOfWarps) {
  for (const sim::Schedule& schedule : some_schedules(3)) {
    std::array<std::uint32_t, 16> seen{};
    const sim::Report report = run_kernel<Shared>({.threads = 1024, .schedule = schedule}, [&](Shared& shared) {
      const std::uint32_t pair = isa::warp_idx() / 2;
      if (isa::warp_idx() % 2 == 0 && isa::laneid() == 0) isa::st_shared(shared.word + pair, pair + 50);
      isa::bar_sync(pair, 64);
      if (isa::warp_idx() % 2 == 1) seen[pair] = isa::ld_shared(shared.word + pair);
    });
    EXPECT_TRUE(is_silent(report));
    for (std::uint32_t pair = 0; pair < 16; ++pair) EXPECT_EQ(seen[pair], pair + 50);
  }
}

TEST(NamedBarrier, RoundFollowsRound) {
  for (const sim::Schedule& schedule : some_schedules()) {
    std::array<std::uint32_t, 96> last{};
    const sim::Report report = run_kernel<Shared>({.threads = 96, .schedule = schedule}, [&](Shared& shared) {
      const std::uint32_t next = (isa::tid_x() + 32) % 96;
      std::uint32_t value = isa::tid_x();
      for (int round = 0; round < 5; ++round) {
        isa::st_shared(shared.word + isa::tid_x(), value);
        isa::bar_sync(1, 96);
        value = isa::ld_shared(shared.word + next) + 1;
        isa::bar_sync(1, 96);
      }
      last[isa::tid_x()] = value;
    });
    EXPECT_TRUE(is_silent(report));
    for (std::uint32_t t = 0; t < 96; ++t) EXPECT_EQ(last[t], (t + 5 * 32) % 96 + 5) << "thread " << t;
  }
}

TEST(NamedBarrier, SyncthreadsMeetsAlsoWhereTheLastWarpIsNotFull) {
  for (const std::uint32_t threads : {1u, 31u, 33u, 40u, 127u}) {
    for (const sim::Schedule& schedule : some_schedules(3)) {
      std::uint32_t seen = 0;
      const sim::Report report =
          run_kernel<Shared>({.threads = threads, .schedule = schedule}, [&](Shared& shared) {
            if (isa::tid_x() == isa::ntid_x() - 1) isa::st_shared(shared.word, 5);
            isa::syncthreads();
            if (isa::tid_x() == 0) seen = isa::ld_shared(shared.word);
          });
      EXPECT_TRUE(is_silent(report)) << threads << " threads";
      EXPECT_EQ(seen, 5u) << threads << " threads";
    }
  }
}

// The operands of one bar_sync by a CTA of two warps.
sim::Report sync_with(std::uint32_t id, std::uint32_t threads) {
  return run_kernel<Shared>({.threads = 64}, [=](Shared&) { isa::bar_sync(id, threads); });
}

TEST(NamedBarrier, SyncthreadsDoesNotWaitForThreadsThatHaveExited) {
  // A lane of each warp, a whole warp, and all but one thread of the last one return at once.
  for (const std::uint32_t threads : {160u, 150u}) {
    for (const sim::Schedule& schedule : some_schedules()) {
      std::uint32_t passed = 0;
      const sim::Report report =
          run_kernel<Shared>({.threads = threads, .schedule = schedule}, [&](Shared& shared) {
            const bool leaves = isa::warp_idx() == 1 || isa::laneid() == 3 || isa::tid_x() > 128;
            if (leaves) return;
            isa::st_shared(shared.word + isa::tid_x(), isa::tid_x());
            isa::syncthreads();
            passed += isa::ld_shared(shared.word + 128) == 128 && isa::ld_shared(shared.word) == 0 ? 1 : 0;
          });
      EXPECT_TRUE(is_silent(report));
      EXPECT_EQ(passed, 3u * 31 + 1);
    }
  }
}

TEST(NamedBarrier, CountWaitsForWarpsThatHaveExited) {
  const auto with_warps = [](std::uint32_t stay) {
    return run_kernel<Shared>({.threads = 96}, [=](Shared&) {
      if (isa::warp_idx() < stay) isa::bar_sync(1, 64);
    });
  };
  EXPECT_TRUE(faults_with(with_warps(1), "deadlock",
                          "[deadlock] 32 threads are blocked and nothing in flight can wake them"));
  EXPECT_TRUE(is_silent(with_warps(2)));
}

TEST(NamedBarrier, IdBeyondFifteenIsReported) {
  EXPECT_TRUE(faults_with(sync_with(16, 64), "named_barrier",
                          "[named_barrier] named barrier 16; a CTA has 16, numbered 0 to 15"));
  EXPECT_TRUE(is_silent(sync_with(15, 64)));
}

TEST(NamedBarrier, CountThatIsNoMultipleOfAWarpIsReported) {
  EXPECT_TRUE(
      faults_with(sync_with(1, 33), "named_barrier",
                  "[named_barrier] named barrier 1 with 33 threads; the count is a multiple of 32, 64 would "
                  "pass"));
  EXPECT_TRUE(
      faults_with(sync_with(1, 0), "named_barrier",
                  "[named_barrier] named barrier 1 with 0 threads; the count is a multiple of 32, 32 would "
                  "pass"));
  EXPECT_TRUE(is_silent(sync_with(1, 64)));
}

TEST(NamedBarrier, CountAboveTheCtasThreadsIsReported) {
  EXPECT_TRUE(faults_with(sync_with(1, 96), "named_barrier",
                          "[named_barrier] named barrier 1 waits for 96 threads, but the CTA has 64"));
  EXPECT_TRUE(is_silent(sync_with(1, 32)));
}

TEST(NamedBarrier, DifferentCountsInOneRoundAreReported) {
  const auto second_count = [](std::uint32_t threads) {
    return run_kernel<Shared>({.threads = 96}, [=](Shared&) {
      if (isa::warp_idx() == 2) return;
      isa::bar_sync(2, isa::warp_idx() == 0 ? 64 : threads);
    });
  };
  EXPECT_TRUE(
      faults_with(second_count(96), "named_barrier",
                  "[named_barrier] named barrier 2 with 96 threads, but others use it with 64 in the same "
                  "round"));
  EXPECT_TRUE(is_silent(second_count(64)));
}

TEST(NamedBarrier, SecondArrivalInOneRoundIsReported) {
  const auto sync_on = [](std::uint32_t id) {
    return run_kernel<Shared>({.threads = 64}, [=](Shared&) {
      if (isa::warp_idx() == 0) {
        isa::bar_arrive(1, 64);
        isa::bar_sync(id, id == 1 ? 64 : 32);
      } else {
        isa::bar_sync(1, 64);
      }
    });
  };
  EXPECT_TRUE(
      faults_with(sync_on(1), "named_barrier",
                  "[named_barrier] a thread arrives twice on named barrier 1 in one round; 1 of 64 threads "
                  "are here"));
  EXPECT_TRUE(is_silent(sync_on(2)));
}

TEST(NamedBarrier, WarpThatArrivesInPartIsReported) {
  const auto lanes_of_each_warp = [](std::uint32_t lanes) {
    return run_kernel<Shared>({.threads = 64}, [=](Shared&) {
      if (isa::laneid() < lanes) isa::bar_sync(4, 2 * lanes);
      isa::syncwarp();
    });
  };
  EXPECT_TRUE(
      faults_with(lanes_of_each_warp(16), "divergence",
                  "[divergence] named barrier 4 was reached by 16 of 32 lanes of warp 0; a warp arrives as a "
                  "whole"));
  EXPECT_TRUE(is_silent(lanes_of_each_warp(32)));
}

TEST(NamedBarrier, HangNamesTheBarrierAndWhoIsThere) {
  std::uint32_t line = 0;
  const auto with_threads = [&](std::uint32_t threads) {
    return run_kernel<Shared>({.threads = 96}, [&, threads](Shared&) {
      isa::annotate_role("store");
      if (isa::warp_idx() == 1) return;
      line = __LINE__ + 1;
      isa::bar_sync(5, threads);
    });
  };
  const sim::Report report = with_threads(96);
  EXPECT_EQ(report.text(),
            "[deadlock] 1 role is blocked and nothing in flight can wake them\n" +
                line_at("store, warps 0, 2: waits on named barrier 5", "named_barrier_test.cpp", line) +
                "    64 of 96 threads are here: warps 0, 2\n"
                "  exited: store, warp 1\n"
                "  again: tiny with schedule rr\n");
  EXPECT_TRUE(is_silent(with_threads(64)));
}

// One side has the wrong number.
TEST(NamedBarrier, HangNamesABarrierThatNobodyWaitsFor) {
  const auto arrive_on = [](std::uint32_t id) {
    return run_kernel<Shared>({.threads = 64}, [id](Shared&) {
      if (isa::warp_idx() == 0) isa::bar_arrive(id, 64);
      else isa::bar_sync(3, 64);
    });
  };
  const sim::Report report = arrive_on(2);
  EXPECT_NE(
      report.text().find("\n  named barrier 2: 32 of 64 threads are here: warp 0, and nobody waits for it\n"),
      std::string::npos)
      << report.text();
  EXPECT_TRUE(is_silent(arrive_on(3)));
}

}  // namespace
}  // namespace heddle::test
