// SPDX-License-Identifier: Apache-2.0
#include <heddle/isa/matrix.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/warp.h>

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

using Lanes = std::array<std::uint32_t, 32>;

// Runs `instruction` in the lanes of `mask` under several schedules, and expects lane l to get expected(l).
void expect_in_lanes(std::uint32_t mask, const std::function<std::uint32_t()>& instruction,
                     const std::function<std::uint32_t(std::uint32_t)>& expected) {
  for (const sim::Schedule& schedule : some_schedules(4)) {
    Lanes got{};
    const sim::Report report = run_kernel<NoShared>({.schedule = schedule}, [&](NoShared&) {
      if ((mask >> isa::laneid() & 1) != 0) got[isa::laneid()] = instruction();
    });
    EXPECT_TRUE(is_silent(report));
    for (std::uint32_t l = 0; l < 32; ++l) {
      if ((mask >> l & 1) == 0) continue;
      EXPECT_EQ(got[l], expected(l)) << "lane " << l << " schedule " << schedule.name();
    }
  }
}

std::uint32_t value() { return 100 + isa::laneid(); }

TEST(Warp, ElectsTheLowestLaneOfTheMask) {
  for (const std::uint32_t mask : {0xffffffffu, 0x000fffe0u, 0x80000000u, 0x00010010u}) {
    const auto lowest = static_cast<std::uint32_t>(__builtin_ctz(mask));
    expect_in_lanes(
        mask, [=] { return isa::elect_sync(mask) ? 1u : 0u; },
        [=](std::uint32_t lane) { return lane == lowest ? 1u : 0u; });
  }
}

TEST(Warp, ShuffleByIndexReadsTheNamedLane) {
  expect_in_lanes(
      isa::kFullMask, [] { return isa::shfl_sync_idx(value(), 7); }, [](std::uint32_t) { return 107u; });
  expect_in_lanes(
      isa::kFullMask, [] { return isa::shfl_sync_idx(value(), 31 - isa::laneid()); },
      [](std::uint32_t lane) { return 100 + 31 - lane; });
}

TEST(Warp, ShuffleUpReadsALowerLaneOrTheOwn) {
  for (const std::uint32_t delta : {0u, 1u, 5u, 31u}) {
    expect_in_lanes(
        isa::kFullMask, [=] { return isa::shfl_sync_up(value(), delta); },
        [=](std::uint32_t lane) { return 100 + (lane < delta ? lane : lane - delta); });
  }
}

TEST(Warp, ShuffleDownReadsAHigherLaneOrTheOwn) {
  for (const std::uint32_t delta : {0u, 1u, 5u, 31u}) {
    expect_in_lanes(
        isa::kFullMask, [=] { return isa::shfl_sync_down(value(), delta); },
        [=](std::uint32_t lane) { return 100 + (lane + delta > 31 ? lane : lane + delta); });
  }
}

TEST(Warp, ButterflyShuffleReadsTheLaneWithBitsFlipped) {
  for (const std::uint32_t bits : {1u, 2u, 16u, 31u}) {
    expect_in_lanes(
        isa::kFullMask, [=] { return isa::shfl_sync_bfly(value(), bits); },
        [=](std::uint32_t lane) { return 100 + (lane ^ bits); });
  }
}

TEST(Warp, BallotHasABitForEachLaneWhosePredicateHolds) {
  expect_in_lanes(
      isa::kFullMask, [] { return isa::vote_sync_ballot(isa::laneid() % 3 == 0); },
      [](std::uint32_t) { return 0x49249249u; });
  expect_in_lanes(
      0x0000ff00u, [] { return isa::vote_sync_ballot(isa::laneid() % 2 == 0, 0x0000ff00u); },
      [](std::uint32_t) { return 0x00005500u; });
}

TEST(Warp, HalvesExchangeAmongThemselves) {
  const auto half = [] { return isa::laneid() < 16 ? 0x0000ffffu : 0xffff0000u; };
  expect_in_lanes(
      isa::kFullMask, [=] { return isa::shfl_sync_bfly(value(), 8, half()); },
      [](std::uint32_t lane) { return 100 + (lane ^ 8); });
  expect_in_lanes(
      isa::kFullMask, [=] { return isa::vote_sync_ballot(true, half()); },
      [](std::uint32_t lane) { return lane < 16 ? 0x0000ffffu : 0xffff0000u; });
}

TEST(Warp, MeetsTheSameInstructionInBothBranches) {
  expect_in_lanes(
      isa::kFullMask,
      [] { return isa::laneid() < 8 ? isa::vote_sync_ballot(true) : isa::vote_sync_ballot(false); },
      [](std::uint32_t) { return 0xffu; });
}

TEST(Warp, MeetsInTheLastWarpThoughItIsNotFull) {
  std::uint32_t ballot = 0;
  const sim::Report report = run_kernel<NoShared>({.threads = 40}, [&](NoShared&) {
    const std::uint32_t mine = isa::vote_sync_ballot(true, isa::warp_idx() == 0 ? isa::kFullMask : 0xffu);
    if (isa::tid_x() == 32) ballot = mine;
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(ballot, 0xffu);
}

struct Shared {
  std::uint32_t word[32];
  SharedMemBarrier bar;
};

TEST(Warp, SyncwarpOrdersTheLanesMemoryAccesses) {
  for (const sim::Schedule& schedule : some_schedules()) {
    Lanes got{};
    const sim::Report report = run_kernel<Shared>({.schedule = schedule}, [&](Shared& shared) {
      isa::st_shared(shared.word + isa::laneid(), value());
      isa::syncwarp();
      got[isa::laneid()] = isa::ld_shared(shared.word + (isa::laneid() + 1) % 32);
    });
    EXPECT_TRUE(is_silent(report));
    for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(got[l], 100 + (l + 1) % 32);
  }
}

TEST(Warp, SyncwarpOfSomeLanesDoesNotWaitForTheOthers) {
  bool passed = false;
  const sim::Report report = run_kernel<NoShared>({}, [&](NoShared&) {
    if (isa::laneid() >= 4) return;
    isa::syncwarp(0xf);
    passed = true;
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_TRUE(passed);
}

TEST(Warp, MaskWithoutTheExecutingLaneIsReported) {
  const auto with_mask = [](std::uint32_t mask) {
    return run_kernel<NoShared>({}, [=](NoShared&) {
      if (isa::laneid() < 2) isa::syncwarp(mask);
    });
  };
  EXPECT_TRUE(faults_with(with_mask(0x2), "divergence",
                          "[divergence] bar.warp.sync with mask 0x00000002, which does not name the lane that "
                          "executes it"));
  EXPECT_TRUE(is_silent(with_mask(0x3)));
}

TEST(Warp, LanesThatHaveExitedAreNotWaitedFor) {
  for (const sim::Schedule& schedule : some_schedules()) {
    Lanes ballots{}, shuffled{};
    std::uint32_t elected = 0;
    const sim::Report report = run_kernel<NoShared>({.schedule = schedule}, [&](NoShared&) {
      if (isa::laneid() < 8) return;
      ballots[isa::laneid()] = isa::vote_sync_ballot(true);
      isa::syncwarp();
      shuffled[isa::laneid()] = isa::shfl_sync_idx(value(), 9);
      if (isa::elect_sync()) elected = isa::laneid();
    });
    EXPECT_TRUE(is_silent(report));
    EXPECT_EQ(elected, 8u);
    for (std::uint32_t l = 8; l < 32; ++l) {
      EXPECT_EQ(ballots[l], 0xffffff00u);
      EXPECT_EQ(shuffled[l], 109u);
    }
  }
}

struct Matrices {
  alignas(16) std::uint32_t word[32];
};

TEST(Warp, InstructionOfTheWholeWarpWithoutSomeLanesIsReported) {
  const auto without = [](std::uint32_t lanes, std::uint32_t threads, const sim::Schedule& schedule) {
    return run_kernel<Matrices>({.threads = threads, .schedule = schedule}, [=](Matrices& shared) {
      if (isa::laneid() < lanes) return;
      if (isa::warp_idx() == 0) isa::st_shared(shared.word + isa::laneid(), 7);
      isa::syncwarp();
      std::uint32_t matrix[1];
      isa::ldmatrix_x1(matrix, shared.word + isa::laneid() % 8 * 4);
    });
  };
  EXPECT_TRUE(
      faults_with(without(1, 32, {}), "divergence",
                  "[divergence] ldmatrix with mask 0xffffffff, but of these lanes only 0xfffffffe have not "
                  "exited"));
  EXPECT_TRUE(faults_with(without(0, 40, {}), "divergence",
                          "[divergence] ldmatrix in a warp of 8 threads; all 32 must execute it"));
  EXPECT_TRUE(is_silent(without(0, 32, {})));
}

TEST(Warp, DifferentInstructionsInOneMaskAreReported) {
  const auto second_half = [](bool votes) {
    return run_kernel<NoShared>({}, [=](NoShared&) {
      if (isa::laneid() < 16 || votes) {
        isa::vote_sync_ballot(true);
      } else {
        isa::syncwarp();
      }
    });
  };
  EXPECT_TRUE(
      faults_with(second_half(false), "divergence",
                  "[divergence] bar.warp.sync with mask 0xffffffff, while lanes 0x0000ffff of the warp wait "
                  "at vote.sync.ballot with mask 0xffffffff"));
  EXPECT_TRUE(is_silent(second_half(true)));
}

TEST(Warp, MeetingsThatWaitForEachOtherAreReported) {
  const auto with_masks = [](std::uint32_t low, std::uint32_t high) {
    return run_kernel<NoShared>({}, [=](NoShared&) { isa::syncwarp(isa::laneid() < 16 ? low : high); });
  };
  EXPECT_TRUE(
      faults_with(with_masks(0x0001ffff, 0xffff8000), "divergence",
                  "[divergence] bar.warp.sync with mask 0xffff8000, while lanes 0x0000ffff of the warp wait at "
                  "bar.warp.sync with mask 0x0001ffff"));
  EXPECT_TRUE(is_silent(with_masks(0x0000ffff, 0xffff0000)));
}

// Lane 1 is in both masks, and comes to one after the other.
TEST(Warp, MasksMayOverlap) {
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    const sim::Report report = run_kernel<NoShared>({.schedule = sim::Schedule::parse(schedule)}, [](NoShared&) {
      if (isa::laneid() < 2) isa::syncwarp(0x3);
      if (isa::laneid() == 1 || isa::laneid() == 2) isa::syncwarp(0x6);
    });
    EXPECT_TRUE(report.ok()) << schedule << "\n" << report.text();
  }
}

TEST(Warp, ShuffleFromALaneOutsideOfTheMaskIsReported) {
  const auto from_lane = [](std::uint32_t lane) {
    return run_kernel<NoShared>({}, [=](NoShared&) {
      if (isa::laneid() < 8) isa::shfl_sync_idx(value(), lane, 0xff);
    });
  };
  EXPECT_TRUE(faults_with(from_lane(8), "divergence",
                          "[divergence] shfl.sync.idx reads lane 8, which is not in its mask 0x000000ff"));
  EXPECT_TRUE(is_silent(from_lane(7)));
}

// On the card it is a shuffle, too: a lane that takes it alone waits for the others.
TEST(Warp, TheIndexOfTheWarpIsTakenByAllLanesTogether) {
  for (const sim::Schedule& schedule : some_schedules(4)) {
    std::array<std::uint32_t, 96> got{};
    EXPECT_TRUE(is_silent(run_kernel<NoShared>({.threads = 96, .schedule = schedule},
                                               [&](NoShared&) { got[isa::tid_x()] = isa::warp_idx(); })));
    for (std::uint32_t t = 0; t < 96; ++t) EXPECT_EQ(got[t], t / 32);
    const auto in_some_lanes = [&](std::uint32_t count) {
      return run_kernel<NoShared>({.threads = 64, .schedule = schedule}, [count](NoShared&) {
        if (isa::laneid() < count) isa::warp_idx();
        isa::syncthreads();
      });
    };
    EXPECT_TRUE(is_silent(in_some_lanes(32)));
    EXPECT_TRUE(is_silent(in_some_lanes(0)));
    const sim::Report alone = in_some_lanes(1);
    EXPECT_TRUE(alone.has("deadlock")) << alone.text();
    EXPECT_NE(alone.text().find("shfl.sync.idx: lanes 0x00000001 are here, 0xfffffffe are not"),
              std::string::npos)
        << alone.text();
  }
}

TEST(Warp, LanesThatNeverComeAreNamedInTheHang) {
  std::uint32_t shuffle_line = 0;
  std::uint32_t wait_line = 0;
  const auto with_mask = [&](std::uint32_t mask) {
    return run_kernel<Shared>({}, [&, mask](Shared& shared) {
      if (isa::laneid() == 0) init_barrier(&shared.bar, 1);
      isa::syncwarp();
      if (isa::laneid() < 30) {
        shuffle_line = __LINE__ + 1;
        isa::shfl_sync_idx(1, 0, mask);
        if (isa::laneid() == 0) isa::mbarrier_arrive(&shared.bar);
      } else {
        wait_line = __LINE__ + 1;
        wait_parity(&shared.bar, 0);
      }
    });
  };
  const sim::Report report = with_mask(0x7fffffff);
  EXPECT_EQ(
      report.text(),
      "[deadlock] 32 threads are blocked and nothing in flight can wake them\n" +
          line_at("warp 0: waits for the other lanes of mask 0x7fffffff", "warp_test.cpp", shuffle_line) +
          "    shfl.sync.idx: lanes 0x3fffffff are here, 0x40000000 are not\n" +
          line_at("warp 0: waits for the barrier at shared address 0x480, phase 0", "warp_test.cpp", wait_line) +
          "    arrivals 0 of 1\n"
          "  again: tiny with schedule rr\n");
  EXPECT_TRUE(is_silent(with_mask(0x3fffffff)));
}

}  // namespace
}  // namespace heddle::test
