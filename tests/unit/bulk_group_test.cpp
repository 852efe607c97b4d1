// SPDX-License-Identifier: Apache-2.0
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/sim/event.h>

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "../support/tiny_kernel.h"
#include "sim/machine/tma.h"

namespace heddle::test {
namespace {

using sim::machine::BulkGroups;

TEST(BulkGroups, WithoutCopiesAreReached) {
  BulkGroups groups;
  EXPECT_TRUE(groups.reached(0, false));
  groups.commit();
  EXPECT_TRUE(groups.reached(0, false)) << "an empty group is complete";
}

TEST(BulkGroups, OpenGroupIsNotWaitedFor) {
  BulkGroups groups;
  const std::uint64_t group = groups.add();
  EXPECT_TRUE(groups.reached(0, false));
  groups.commit();
  EXPECT_FALSE(groups.reached(0, false));
  groups.read_done(group);
  groups.finished(group);
  EXPECT_TRUE(groups.reached(0, false));
}

TEST(BulkGroups, GroupIsReadAndCompleteWithTheLastOfItsCopies) {
  BulkGroups groups;
  const std::uint64_t group = groups.add();
  EXPECT_EQ(groups.add(), group);
  groups.commit();
  groups.read_done(group);
  EXPECT_FALSE(groups.reached(0, true));
  groups.read_done(group);
  EXPECT_TRUE(groups.reached(0, true));
  groups.finished(group);
  EXPECT_FALSE(groups.reached(0, false));
  groups.finished(group);
  EXPECT_TRUE(groups.reached(0, false));
}

TEST(BulkGroups, NewestMayStayPendingAndTheOldestMayNot) {
  BulkGroups groups;
  const std::uint64_t first = groups.add();
  groups.commit();
  const std::uint64_t second = groups.add();
  groups.commit();
  const auto end = [&](std::uint64_t group) {
    groups.read_done(group);
    groups.finished(group);
  };
  EXPECT_FALSE(groups.reached(1, false));
  EXPECT_TRUE(groups.reached(2, false));
  end(second);
  EXPECT_FALSE(groups.reached(1, false)) << "the first is still pending";
  end(first);
  EXPECT_TRUE(groups.reached(0, false));
  const std::uint64_t third = groups.add();
  EXPECT_GT(third, second);
  groups.commit();
  EXPECT_FALSE(groups.reached(0, true));
  end(third);
  EXPECT_TRUE(groups.reached(0, false));
}

constexpr std::uint32_t kBytes = 128;

struct Shared {
  alignas(16) unsigned char tile[2][kBytes];
};

// By this thread, so that it may issue the store.
void fill(Shared& shared) {
  for (std::uint32_t at = 0; at < sizeof shared.tile; at += 16) {
    isa::st_shared(reinterpret_cast<isa::Bytes16*>(&shared.tile[at / kBytes][at % kBytes]), {{at, at, at, at}});
  }
  isa::fence_proxy_async_shared_cta();
}

// Which copies were complete, or had their sources read, when a wait for groups passed.
struct GroupWatch : sim::Watcher<GroupWatch> {
  void on(const sim::event::CopyReadShared& event) { is_read[event.copy] = true; }
  void on(const sim::event::CopyDone& event) { is_done[event.copy] = true; }
  void on(const sim::event::GroupPass& event) { passes.push_back({event.pending, is_read, is_done}); }

  struct Pass {
    std::uint64_t pending;
    std::array<bool, 4> is_read, is_done;  // by number of the copy, from 1
  };
  std::array<bool, 4> is_read{}, is_done{};
  std::vector<Pass> passes;
};

alignas(16) unsigned char output[2][kBytes];

sim::GlobalMemory output_memory() {
  sim::GlobalMemory memory;
  memory.add("output", output, sizeof output);
  return memory;
}

// Stores twice, as two groups, and waits with `wait`.
template <class Wait>
GroupWatch::Pass two_stores(std::uint64_t seed, const Wait& wait) {
  const sim::GlobalMemory memory = output_memory();
  GroupWatch watch;
  const sim::Report report = run_kernel<Shared>(
      {.threads = 1, .memory = &memory, .schedule = sim::Schedule::random(seed), .observers = {&watch}},
      [&](Shared& shared) {
        fill(shared);
        for (int group = 0; group < 2; ++group) {
          isa::cp_async_bulk_store(output[group], shared.tile[group], kBytes);
          isa::cp_async_bulk_commit_group();
        }
        wait();
        isa::cp_async_bulk_wait_group<0>();
      });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(watch.passes.size(), 2u);
  return watch.passes.at(0);
}

TEST(BulkGroup, WaitIsForWritesAndWaitReadForSourcesOnly) {
  int read_before_done = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const GroupWatch::Pass done = two_stores(seed, [] { isa::cp_async_bulk_wait_group<0>(); });
    EXPECT_TRUE(done.is_done[1] && done.is_done[2]) << "seed " << seed;
    const GroupWatch::Pass read = two_stores(seed, [] { isa::cp_async_bulk_wait_group_read<0>(); });
    EXPECT_TRUE(read.is_read[1] && read.is_read[2]) << "seed " << seed;
    read_before_done += read.is_done[1] && read.is_done[2] ? 0 : 1;
  }
  EXPECT_GT(read_before_done, 10) << "the weaker wait returns earlier";
}

TEST(BulkGroup, WaitLeavesTheNewestGroupsPending) {
  int left_pending = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const GroupWatch::Pass pass = two_stores(seed, [] { isa::cp_async_bulk_wait_group<1>(); });
    EXPECT_EQ(pass.pending, 1u);
    EXPECT_TRUE(pass.is_done[1]) << "seed " << seed;
    left_pending += pass.is_done[2] ? 0 : 1;
    EXPECT_TRUE(two_stores(seed, [] { isa::cp_async_bulk_wait_group_read<1>(); }).is_read[1]) << "seed " << seed;
  }
  EXPECT_GT(left_pending, 10);
}

TEST(BulkGroup, WaitOfAThreadThatStoredNothingPasses) {
  // Thread 1 does not wait for what thread 0 has issued.
  const sim::GlobalMemory memory = output_memory();
  GroupWatch watch;
  const sim::Report report =
      run_kernel<Shared>({.threads = 2, .memory = &memory, .observers = {&watch}}, [&](Shared& shared) {
        if (isa::tid_x() == 0) {
          fill(shared);
          isa::cp_async_bulk_store(output[0], shared.tile[0], kBytes);
          isa::cp_async_bulk_commit_group();
        }
        isa::syncwarp(0x3);
        isa::cp_async_bulk_wait_group<0>();
      });
  EXPECT_TRUE(is_silent(report));
  ASSERT_EQ(watch.passes.size(), 2u);
  EXPECT_FALSE(watch.passes[0].is_done[1]);
  EXPECT_TRUE(watch.passes[1].is_done[1]);
}

TEST(BulkGroup, StoreThatWasNotCommittedIsNotWaitedFor) {
  const sim::GlobalMemory memory = output_memory();
  const auto run = [&](bool commits) {
    return run_kernel<Shared>({.threads = 1, .memory = &memory}, [&, commits](Shared& shared) {
      fill(shared);
      isa::cp_async_bulk_store(output[0], shared.tile[0], kBytes);
      if (commits) isa::cp_async_bulk_commit_group();
      isa::cp_async_bulk_wait_group_read<0>();
    });
  };
  const sim::Report report = run(false);
  ASSERT_TRUE(report.ok()) << report.text();
  ASSERT_EQ(report.formal.size(), 1u);
  EXPECT_EQ(
      report.formal[0].text.find("[exit_in_flight] formal: the CTA exits while a bulk store of 128 bytes is in "
                                 "flight on its shared memory\n"),
      0u)
      << report.remarks();
  const sim::Report mended = run(true);
  EXPECT_TRUE(mended.ok() && mended.formal.empty()) << mended.text() << mended.remarks();
}

// Whether it is over when the CTA exits is a matter of luck, and nobody knows.
TEST(BulkGroup, StoreThatNobodyHasWaitedForIsToldUnderEverySchedule) {
  const sim::GlobalMemory memory = output_memory();
  int done_at_exit = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto run = [&](bool waits, GroupWatch& watch) {
      return run_kernel<Shared>(
          {.threads = 1, .memory = &memory, .schedule = sim::Schedule::random(seed), .observers = {&watch}},
          [&, waits](Shared& shared) {
            fill(shared);
            isa::cp_async_bulk_store(output[0], shared.tile[0], kBytes);
            isa::cp_async_bulk_commit_group();
            for (int i = 0; i < 10; ++i) isa::syncwarp(0x1);
            if (waits) isa::cp_async_bulk_wait_group_read<0>();
            else isa::cp_async_bulk_wait_group<1>();  // allows it to be in flight
          });
    };
    GroupWatch watch;
    const sim::Report report = run(false, watch);
    ASSERT_TRUE(report.ok()) << report.text();
    ASSERT_EQ(report.formal.size(), 1u) << "seed " << seed;
    EXPECT_EQ(report.formal[0].code, "exit_in_flight");
    done_at_exit += watch.passes.at(0).is_read[1] ? 1 : 0;
    GroupWatch other;
    EXPECT_TRUE(is_silent(run(true, other))) << "seed " << seed;
  }
  EXPECT_GT(done_at_exit, 0);  // of these nothing was told before
}

}  // namespace
}  // namespace heddle::test
