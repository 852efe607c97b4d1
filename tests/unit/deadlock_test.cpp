// SPDX-License-Identifier: Apache-2.0
//
// Hangs and what the report says of them: the whole text, for each mistake that can be planted in a pipeline.
#include <heddle/isa/annotate.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

constexpr std::uint32_t kStages = 2;
constexpr std::uint32_t kTiles = 6;
constexpr std::uint32_t kTileBytes = 1024;

// Where the kernel below is when it waits or signals.
struct Lines {
  std::uint32_t init = 0;
  std::uint32_t acquire_producer = 0;
  std::uint32_t release_producer = 0;
  std::uint32_t acquire_consumer = 0;
} line_of;

// One warp loads tiles, two warps use them.
template <class Backend>
struct Ring {
  using Pipeline = ProducerConsumerPipeline<kStages, Backend>;
  struct Params {
    const unsigned char* source;
  };
  struct Shared {
    alignas(128) unsigned char tile[kStages][kTileBytes];
    SharedMemBarrier barriers[2 * kStages];
  };
  static constexpr std::uint32_t kThreads = 96;

  static void run(const Params& params, Shared& shared) {
    Pipeline pipeline(shared.barriers, "ring");
    if (isa::tid_x() == 0) {
      line_of.init = __LINE__ + 1;
      pipeline.init_mbars(1, 2);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::warp_idx() == 0) {
      load(params, shared, pipeline);
    } else {
      use(shared, pipeline);
    }
  }

  static void load(const Params& params, Shared& shared, Pipeline& pipeline) {
    isa::annotate_role("load");
    if (!isa::elect_sync()) return;
    for (std::uint32_t tile = 0; tile < kTiles; ++tile) {
      line_of.acquire_producer = __LINE__ + 1;
      auto stage = pipeline.acquire_producer();
      stage.expect_bytes(kTileBytes);
      isa::cp_async_bulk_load(shared.tile[stage.index()], params.source + tile * kTileBytes, kTileBytes,
                              stage.mbar());
      line_of.release_producer = __LINE__ + 1;
      std::move(stage).release();
    }
    pipeline.drain_producer();
  }

  static void use(Shared& shared, Pipeline& pipeline) {
    isa::annotate_role("use");
    for (std::uint32_t tile = 0; tile < kTiles; ++tile) {
      line_of.acquire_consumer = __LINE__ + 1;
      auto stage = pipeline.acquire_consumer();
      (void)isa::ld_shared(shared.tile[stage.index()] + isa::tid_x());
      std::move(stage).release_elected();
    }
  }
};

template <Mistake mistake>
sim::Report run_ring(const sim::Schedule& schedule = {}) {
  alignas(16) static unsigned char source[kTiles * kTileBytes];
  sim::GlobalMemory memory;
  memory.add_read_only("source", source, sizeof source);
  using Backend = MutantBackend<MbarrierBackend<kStages>, Mutation{mistake}>;
  return sim::launch<Ring<Backend>>({.memory = &memory, .schedule = schedule, .kernel = "ring"}, {}, {source});
}

std::string at(const std::string& what, std::uint32_t line) { return line_at(what, "deadlock_test.cpp", line); }

// The report of both roles in their waits. `load` and `use` are what each waits for and what is present there.
std::string two_roles(const std::string& load, const std::string& load_has, const std::string& use,
                      const std::string& use_has, const std::string& likely) {
  return "[deadlock] 2 roles are blocked and nothing in flight can wake them\n" +
         at("load, warp 0, lane 0: waits for " + load, line_of.acquire_producer) + "    " + load_has + "\n" +
         at("use, warps 1-2: waits for " + use, line_of.acquire_consumer) + "    " + use_has + "\n" + "  " +
         likely + "\n" + "  again: ring with schedule rr\n";
}

std::string place(std::uint32_t line) { return "deadlock_test.cpp:" + std::to_string(line); }

TEST(Deadlock, DroppedReleaseNamesTheWarpThatKeepsTheStage) {
  const sim::Report report = run_ring<Mistake::kDropRelease>();
  EXPECT_EQ(report.text(),
            two_roles("empty of ring[0], phase 0", "arrivals 1 of 2; not yet: warp 1", "full of ring[0], phase 1",
                      "arrivals 0 of 1; not yet: warp 0", "use, warp 1 took ring[0] and has not released it"));
}

TEST(Deadlock, DroppedArriveNamesTheProducerThatDidNotArrive) {
  const sim::Report report = run_ring<Mistake::kDropArrive>();
  EXPECT_EQ(report.text(), two_roles("empty of ring[0], phase 0", "arrivals 0 of 2", "full of ring[0], phase 0",
                                     "arrivals 0 of 1, bytes 1024 of 1024; not yet: warp 0",
                                     "load, warp 0 took ring[0] and has not arrived on its full barrier"));
}

TEST(Deadlock, ShortExpectNamesBothSumsAndTheLine) {
  const sim::Report report = run_ring<Mistake::kShortExpect>();
  EXPECT_EQ(report.text(), two_roles("empty of ring[0], phase 0", "arrivals 0 of 2", "full of ring[0], phase 0",
                                     "arrivals 1 of 1, bytes 1024 of 1008",
                                     "1008 bytes are expected at " + place(line_of.release_producer) +
                                         ", but the copies into ring[0] sum to 1024"));
}

TEST(Deadlock, LongExpectNamesBothSumsAndTheLine) {
  const sim::Report report = run_ring<Mistake::kLongExpect>();
  EXPECT_EQ(report.text(), two_roles("empty of ring[0], phase 0", "arrivals 0 of 2", "full of ring[0], phase 0",
                                     "arrivals 1 of 1, bytes 1024 of 1040",
                                     "1040 bytes are expected at " + place(line_of.release_producer) +
                                         ", but the copies into ring[0] sum to 1024"));
}

TEST(Deadlock, WrongPhaseNamesTheWaitThatCannotPass) {
  const sim::Report report = run_ring<Mistake::kWrongPhase>();
  EXPECT_EQ(report.text(), two_roles("empty of ring[0], phase 0", "arrivals 0 of 2", "full of ring[0], phase 0",
                                     "arrivals 0 of 1",
                                     "load, warp 0, lane 0 waits for phase 0 of a stage that was never filled; a "
                                     "producer's first wait is for phase 1, which a fresh barrier passes"));
}

TEST(Deadlock, LargeCountNamesWhereItWasInitialised) {
  const sim::Report report = run_ring<Mistake::kLargeCount>();
  EXPECT_EQ(report.text(), two_roles("empty of ring[0], phase 0", "arrivals 2 of 3", "full of ring[0], phase 1",
                                     "arrivals 0 of 1; not yet: warp 0",
                                     "empty of ring[0] was initialised with a count of 3 at " +
                                         place(line_of.init) + ", and has 2 arrivals of warps 1-2"));
}

TEST(Deadlock, SwappedConsumerWaitNamesTheBarrierThatNobodyWaitsFor) {
  const sim::Report report = run_ring<Mistake::kSwapConsumer>();
  EXPECT_EQ(
      report.text(),
      two_roles("empty of ring[0], phase 0", "arrivals 0 of 2", "empty of ring[0], phase 0", "arrivals 0 of 2",
                "full of ring[0] is complete and nobody has waited for it; use, warps 1-2 waits "
                "for empty of ring[0] instead"));
}

// But for the last line, which names the schedule.
std::string without_schedule(const sim::Report& report) {
  const std::string text = report.text();
  return text.substr(0, text.rfind("  again:"));
}

template <Mistake mistake>
void expect_same_report_under_all_schedules() {
  const sim::Report first = run_ring<mistake>();
  ASSERT_TRUE(first.has("deadlock"));
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    EXPECT_EQ(without_schedule(run_ring<mistake>(sim::Schedule::random(seed))), without_schedule(first))
        << "seed " << seed;
  }
}

TEST(Deadlock, ReportDoesNotDependOnTheSchedule) {
  expect_same_report_under_all_schedules<Mistake::kDropRelease>();
  expect_same_report_under_all_schedules<Mistake::kDropArrive>();
  expect_same_report_under_all_schedules<Mistake::kShortExpect>();
  expect_same_report_under_all_schedules<Mistake::kLongExpect>();
  expect_same_report_under_all_schedules<Mistake::kWrongPhase>();
  expect_same_report_under_all_schedules<Mistake::kLargeCount>();
  expect_same_report_under_all_schedules<Mistake::kSwapConsumer>();
}

TEST(Deadlock, PipelineWithoutAMistakeIsSilent) {
  for (const sim::Schedule& schedule : some_schedules(100))
    EXPECT_TRUE(is_silent(run_ring<Mistake::kNone>(schedule)));
}

TEST(Deadlock, LoaderWhoseTileNobodyTakesLeavesWorkInFlightOrHangsInItsDrain) {
  struct Shared {
    alignas(128) unsigned char tile[kTileBytes];
    SharedMemBarrier barriers[2];
  };
  alignas(16) static unsigned char source[kTileBytes];
  sim::GlobalMemory memory;
  memory.add_read_only("source", source, sizeof source);
  std::uint32_t line = 0;
  const auto run = [&](bool drains, bool takes) {
    return run_kernel<Shared>({.threads = 1, .memory = &memory}, [&, drains, takes](Shared& shared) {
      isa::annotate_role("load");
      ProducerConsumerPipeline<1> pipeline(shared.barriers, "input");
      pipeline.init_mbars(1, 1);
      isa::fence_mbarrier_init();
      auto stage = pipeline.acquire_producer();
      stage.expect_bytes(kTileBytes);
      isa::cp_async_bulk_load(shared.tile, source, kTileBytes, stage.mbar());
      std::move(stage).release();
      if (takes) pipeline.consumer_signal_and_step();
      line = __LINE__ + 1;
      if (drains) pipeline.drain_producer();
    });
  };
  EXPECT_TRUE(
      faults_with(run(false, false), "exit_in_flight",
                  "[exit_in_flight] the CTA exits while a bulk load of 1024 bytes is in flight on its shared "
                  "memory"));
  const sim::Report report = run(true, false);
  EXPECT_EQ(report.text(), "[deadlock] 1 role is blocked and nothing in flight can wake them\n" +
                               at("load, warp 0, lane 0: waits for empty of input[0], phase 0", line) +
                               "    arrivals 0 of 1\n"
                               "  again: tiny with schedule rr\n");
  EXPECT_TRUE(is_silent(run(true, true)));
}

TEST(Deadlock, ThreadsWithoutARoleAreCounted) {
  struct Shared {
    SharedMemBarrier bar;
  };
  std::uint32_t init_line = 0;
  std::uint32_t wait_line = 0;
  const auto run = [&](std::uint32_t count) {
    return run_kernel<Shared>({.threads = 64}, [&, count](Shared& shared) {
      init_line = __LINE__ + 1;
      if (isa::tid_x() == 0) init_barrier(&shared.bar, count);
      isa::syncthreads();
      isa::mbarrier_arrive(&shared.bar);
      wait_line = __LINE__ + 1;
      wait_parity(&shared.bar, 0);
    });
  };
  const sim::Report report = run(65);
  EXPECT_EQ(report.text(),
            "[deadlock] 64 threads are blocked and nothing in flight can wake them\n" +
                at("warps 0-1: waits for the barrier at shared address 0x400, phase 0", wait_line) +
                "    arrivals 64 of 65\n"
                "  the barrier at shared address 0x400 was initialised with a count of 65 at " +
                place(init_line) + ", and has 64 arrivals of warps 0-1\n" + "  again: tiny with schedule rr\n");
  EXPECT_TRUE(is_silent(run(64)));
}

TEST(Deadlock, WaitForAPhaseThatHasGoneRoundSaysSo) {
  struct Shared {
    SharedMemBarrier bar;
  };
  std::uint32_t init_line = 0;
  std::uint32_t wait_line = 0;
  const auto run = [&](std::uint32_t arrivals) {
    return run_kernel<Shared>({.threads = 64}, [&, arrivals](Shared& shared) {
      init_line = __LINE__ + 1;
      if (isa::tid_x() == 0) init_barrier(&shared.bar, 1);
      isa::syncthreads();
      for (std::uint32_t i = 0; i < arrivals && isa::tid_x() == 0; ++i) isa::mbarrier_arrive(&shared.bar);
      isa::syncthreads();
      wait_line = __LINE__ + 1;
      if (isa::tid_x() == 32) wait_parity(&shared.bar, 0);
    });
  };
  const sim::Report report = run(2);
  const std::string bar = "the barrier at shared address 0x400";
  EXPECT_EQ(report.text(), "[deadlock] 1 thread is blocked and nothing in flight can wake them\n" +
                               at("warp 1, lane 0: waits for " + bar + ", phase 0", wait_line) +
                               "    arrivals 0 of 1; not yet: warp 0\n"
                               "  exited: warp 0\n"
                               "  the phase for which warp 1, lane 0 waits is over, and so is the one after "
                               "it, whose parity differs: " +
                               bar + " ended 2 phases since the last wait; its count is 1, set at " +
                               place(init_line) + ", and the last phase was completed by 1 arrival of warp 0\n" +
                               "  again: tiny with schedule rr\n");
  EXPECT_TRUE(is_silent(run(1)));
}

}  // namespace
}  // namespace heddle::test
