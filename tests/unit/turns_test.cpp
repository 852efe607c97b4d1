// SPDX-License-Identifier: Apache-2.0
//
// Warpgroups that take turns, and the numbers of their barriers.
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/named_barriers.h>
#include <heddle/kernel/turns.h>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;

TEST(NamedBarriers, NumbersFollowFromTheListAndBeginAfterSyncthreads) {
  using Barriers = NamedBarriers<BarrierUse<"turns", 3>, BarrierUse<"address">, BarrierUse<"clear", 2>>;
  static_assert(Barriers::first("turns") == 1);
  static_assert(Barriers::first("address") == 4);
  static_assert(Barriers::first("clear") == 5);
  EXPECT_EQ(Barriers::count, 6u);
  EXPECT_EQ((NamedBarriers<BarrierUse<"all", 15>>::count), 15u);
}

// A turn that nobody passes on, and workers of whom one does not come.
TEST(NamedBarriers, HaveTheirNamesInReports) {
  const auto waiting = test::run_kernel<test::NoShared>({.threads = 256}, [](test::NoShared&) {
    WarpgroupTurns<2, 4> turns(isa::warp_idx() / 4);
    if (isa::warp_idx() / 4 == 0) return;
    auto turn = turns.wait();
    std::move(turn).pass_if(false);
  });
  EXPECT_NE(waiting.text().find("waits on named barrier 5 (turns[1])"), std::string::npos) << waiting.text();
  using Barriers = NamedBarriers<BarrierUse<"turns", 2>, BarrierUse<"workers", 2>, BarrierUse<"end">>;
  const auto workers = test::run_kernel<test::NoShared>({.threads = 128}, [](test::NoShared&) {
    if (isa::warp_idx() == 0) Barriers::arrive<"end">(64);
    if (isa::warp_idx() < 3) Barriers::sync<"workers">(64, isa::warp_idx() / 2);
  });
  EXPECT_NE(workers.text().find("warp 2: waits on named barrier 4 (workers[1])"), std::string::npos)
      << workers.text();
  EXPECT_NE(
      workers.text().find("named barrier 5 (end): 32 of 64 threads are here: warp 0, and nobody waits for it"),
      std::string::npos)
      << workers.text();
}

struct Shared {
  std::uint32_t next;
  std::uint32_t order[16];
};

// In its turn a warpgroup writes its number to the next place of a list: in other hands it would be a race.
template <std::uint32_t count>
sim::Report write_in_turns(const sim::Schedule& schedule, std::uint32_t turns_of_all, bool waits,
                           std::vector<std::uint32_t>& order) {
  return test::run_kernel<Shared>({.threads = count * 128, .schedule = schedule}, [&](Shared& shared) {
    if (isa::tid_x() == 0) isa::st_shared(&shared.next, 0u);
    isa::syncthreads();
    const std::uint32_t warpgroup = isa::warp_idx() / 4;
    const auto write = [&] {
      if (isa::tid_x() % 128 != 0) return;
      const std::uint32_t at = isa::ld_shared(&shared.next);
      isa::st_shared(&shared.order[at], warpgroup);
      isa::st_shared(&shared.next, at + 1);
    };
    WarpgroupTurns<count, 2> turns(warpgroup);
    for (std::uint32_t i = warpgroup; i < turns_of_all; i += count) {
      if (!waits) {
        write();
        continue;
      }
      auto turn = turns.wait();
      write();
      std::move(turn).pass_if(i + 1 < turns_of_all);
    }
    isa::syncthreads();
    if (isa::tid_x() == 0) {
      for (std::uint32_t i = 0; i < turns_of_all; ++i) order.push_back(isa::ld_shared(&shared.order[i]));
    }
  });
}

template <std::uint32_t count>
void expect_turns_in_order() {
  for (const sim::Schedule& schedule : test::some_schedules()) {
    for (const std::uint32_t turns : {0u, 1u, 2u, 7u}) {
      std::vector<std::uint32_t> order;
      EXPECT_TRUE(is_silent(write_in_turns<count>(schedule, turns, true, order)));
      ASSERT_EQ(order.size(), turns);
      for (std::uint32_t i = 0; i < turns; ++i) EXPECT_EQ(order[i], i % count);
    }
    std::vector<std::uint32_t> order;
    const auto without = write_in_turns<count>(schedule, 7, false, order);
    ASSERT_FALSE(without.ok());
    EXPECT_EQ(without.diagnoses[0].code, "race") << without.text();
  }
}

TEST(WarpgroupTurns, GoRoundTwoWarpgroupsInOrder) { expect_turns_in_order<2>(); }
TEST(WarpgroupTurns, GoRoundThreeWarpgroupsInOrder) { expect_turns_in_order<3>(); }

TEST(WarpgroupTurns, OneWarpgroupHasEveryTurn) {
  std::vector<std::uint32_t> order;
  EXPECT_TRUE(is_silent(write_in_turns<1>({}, 7, true, order)));
  EXPECT_EQ(order, std::vector<std::uint32_t>(7, 0));
}

TEST(WarpgroupTurns, TurnThatIsNotPassedOnKeepsTheNextWarpgroupWaiting) {
  const auto report = test::run_kernel<Shared>({.threads = 256}, [&](Shared&) {
    WarpgroupTurns<2, 1> turns(isa::warp_idx() / 4);
    auto turn = turns.wait();
    std::move(turn).pass_if(false);
  });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnoses[0].code, "deadlock") << report.text();
}

// The compiler's own analysis does not follow members, so this builds and the simulated SM has the word.
TEST(WarpgroupTurns, DroppedTurnIsReported) {
  const auto report = test::run_kernel<Shared>({.threads = 256}, [&](Shared&) {
    WarpgroupTurns<2, 1> turns(isa::warp_idx() / 4);
    struct Forgetful {
      WarpgroupTurns<2, 1>::Turn turn;
    };
    Forgetful keeps{turns.wait()};
    static_cast<void>(keeps);
  });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnoses[0].code, "stage_dropped") << report.text();
}

}  // namespace
}  // namespace heddle
