// SPDX-License-Identifier: Apache-2.0
//
// What a trace holds of a small ring: who waited for what, for how long by the recorder's own clock, and who
// ended it. The whole files are read by tests/trace.
#include "sim/trace/timeline.h"

#include <heddle/host/error.h>
#include <heddle/isa/annotate.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/sim/trace.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
using sim::trace::Lane;
using sim::trace::LaneKind;
using sim::trace::Launch;
using sim::trace::Span;
using sim::trace::SpanKind;
using sim::trace::Timeline;

constexpr std::uint32_t kStages = 2;
constexpr std::uint32_t kTiles = 6;
constexpr std::uint32_t kTileBytes = 1024;

// One thread loads tiles, two warps use them; if the kernel names tiles of its output, three for each.
template <class Backend = MbarrierBackend<kStages>, bool names_tiles = false>
struct Ring {
  using Pipeline = ProducerConsumerPipeline<kStages, Backend>;
  struct Params {
    const unsigned char* source;
    std::uint32_t stride = kTileBytes;
  };
  struct Shared {
    alignas(128) unsigned char tile[kStages][kTileBytes];
    SharedMemBarrier barriers[2 * kStages];
  };
  static constexpr std::uint32_t kThreads = 96;

  static void name_tile(std::uint32_t tile) {
    if (!names_tiles || tile % 3 != 0) return;
    if (tile != 0) isa::annotate_tile_end();
    if (tile < kTiles) isa::annotate_tile(3, tile == 0 ? 1 : 10);
  }

  static void run(const Params& params, Shared& shared) {
    Pipeline pipeline(shared.barriers, "ring");
    if (isa::tid_x() == 0) {
      pipeline.init_mbars(1, 2);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::warp_idx() != 0) {
      isa::annotate_role("use");
      for (std::uint32_t tile = 0; tile < kTiles; ++tile) {
        name_tile(tile);
        auto stage = pipeline.acquire_consumer();
        (void)isa::ld_shared(shared.tile[stage.index()] + isa::tid_x());
        std::move(stage).release_elected();
      }
      name_tile(kTiles);
      return;
    }
    isa::annotate_role("load");
    if (!isa::elect_sync()) return;
    for (std::uint32_t tile = 0; tile < kTiles; ++tile) {
      name_tile(tile);
      auto stage = pipeline.acquire_producer();
      stage.expect_bytes(kTileBytes);
      isa::cp_async_bulk_load(shared.tile[stage.index()], params.source + tile * params.stride, kTileBytes,
                              stage.mbar());
      std::move(stage).release();
    }
    name_tile(kTiles);
    pipeline.drain_producer();
  }
};

template <class Kernel = Ring<>>
sim::Report run_ring(sim::Trace& trace, sim::Schedule schedule = {}) {
  alignas(128) static unsigned char source[kTiles * kTileBytes] = {};
  sim::GlobalMemory memory;
  memory.add("source", source, sizeof(source));
  return sim::launch<Kernel>({.memory = &memory, .schedule = schedule, .kernel = "ring", .trace = &trace}, {},
                             {.source = source});
}

using Named = Ring<MbarrierBackend<kStages>, true>;
using Broken = Ring<MutantBackend<MbarrierBackend<kStages>, Mutation{Mistake::kDropRelease}>>;

const Launch& only(const sim::Trace& trace) { return trace.timeline().launches.at(0); }

std::string text(const sim::Trace& trace, std::uint32_t id) { return trace.timeline().texts[id]; }

std::vector<Span> spans_of(const sim::Trace& trace, LaneKind kind, const std::string& group, SpanKind of) {
  std::vector<Span> found;
  for (const Span& span : only(trace).spans) {
    const Lane& lane = only(trace).lanes[span.lane];
    if (lane.kind == kind && text(trace, lane.group) == group && span.kind == of) found.push_back(span);
  }
  return found;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class TraceFile : public testing::Test {
 protected:
  TraceFile() {
    std::string pattern = (fs::temp_directory_path() / "heddle_trace_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~TraceFile() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST(Trace, LanesAreTheWarpsOfRolesThenWhatIsInFlightThenStages) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring(trace).ok());
  std::vector<std::string> lanes;
  for (const Lane& lane : only(trace).lanes)
    lanes.push_back(text(trace, lane.group) + ", " + text(trace, lane.label));
  const std::vector<std::string> expected = {"load, warp 0",        "use, warp 1",         "use, warp 2",
                                             "copies, in flight 0", "copies, in flight 1", "ring, ring[0]",
                                             "ring, ring[1]"};
  EXPECT_EQ(lanes, expected);
}

TEST(Trace, SpansOfALaneFollowOneAnotherAndCoverTheLifeOfAWarp) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring(trace).ok());
  std::map<std::uint32_t, sim::trace::Time> ends;
  for (const Span& span : only(trace).spans) {
    EXPECT_LT(span.begin, span.end);
    const bool is_warp = only(trace).lanes[span.lane].kind == LaneKind::kWarp;
    if (is_warp) {
      EXPECT_EQ(span.begin, ends[span.lane]);  // no gaps
    } else {
      EXPECT_GE(span.begin, ends[span.lane]);
    }
    ends[span.lane] = span.end;
    EXPECT_LE(span.end, only(trace).end);
  }
}

TEST(Trace, EveryCopyIsDrawnWithItsBytes) {
  sim::Trace trace;
  const sim::Report report = run_ring(trace);
  const std::vector<Span> copies = spans_of(trace, LaneKind::kCopies, "copies", SpanKind::kCopy);
  ASSERT_EQ(copies.size(), kTiles);
  EXPECT_EQ(copies.size(), report.stats.copies);
  for (const Span& copy : copies) {
    EXPECT_EQ(copy.bytes, kTileBytes);
    EXPECT_FALSE(copy.is_open);
    ASSERT_NE(copy.cause, sim::trace::kNoIndex);
    EXPECT_EQ(text(trace, only(trace).lanes[only(trace).spans[copy.cause].lane].group), "load");
  }
}

TEST(Trace, AConsumerWaitsForFullUntilTheCopyThatFillsItsStageIsDone) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring(trace).ok());
  std::size_t waits = 0;
  for (const Span& wait : spans_of(trace, LaneKind::kWarp, "use", SpanKind::kWait)) {
    if (!text(trace, wait.label).starts_with("full of ring")) continue;
    ++waits;
    ASSERT_NE(wait.cause, sim::trace::kNoIndex);
    const Span& cause = only(trace).spans[wait.cause];
    EXPECT_EQ(cause.kind, SpanKind::kCopy);
    EXPECT_EQ(cause.end + sim::timing_of(Arch::kSm90).wake, wait.end);
    EXPECT_EQ(cause.use, wait.use);
  }
  EXPECT_EQ(waits, 2 * kTiles);
}

TEST(Trace, AProducerWaitsForTheConsumerThatReleasesLast) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring(trace).ok());
  std::vector<std::uint32_t> uses;
  for (const Span& wait : spans_of(trace, LaneKind::kWarp, "load", SpanKind::kWait)) {
    if (!text(trace, wait.label).starts_with("empty of ring")) continue;
    uses.push_back(wait.use);
    ASSERT_NE(wait.cause, sim::trace::kNoIndex);
    EXPECT_EQ(text(trace, only(trace).lanes[only(trace).spans[wait.cause].lane].group), "use");
  }
  // The first uses of the stages need no wait; the last two waits drain the ring. Between them a stage may be
  // back before it is asked for.
  ASSERT_GE(uses.size(), 4u);
  EXPECT_TRUE(std::ranges::is_sorted(uses));
  EXPECT_EQ(uses.front(), 2u);
  EXPECT_EQ(uses.back(), 7u);
}

TEST(Trace, AStageIsFilledThenFullThenInUseForEachTile) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring(trace).ok());
  const std::vector<Span> filled = spans_of(trace, LaneKind::kStage, "ring", SpanKind::kFill);
  const std::vector<Span> read = spans_of(trace, LaneKind::kStage, "ring", SpanKind::kRead);
  ASSERT_EQ(filled.size(), kTiles);
  ASSERT_EQ(read.size(), kTiles);
  for (const Span& span : filled) EXPECT_EQ(text(trace, span.label), "load fills");
  for (const Span& span : read) EXPECT_EQ(text(trace, span.label), "use has it");
}

// "3,10 step 2"; empty where a span has none.
std::string tile_of(const sim::Trace& trace, const Span& span) {
  if (span.tile == sim::trace::kNoIndex) return "";
  const std::string tile = text(trace, span.tile);
  return span.step == sim::trace::kNoIndex ? tile : tile + " step " + std::to_string(span.step);
}

TEST(Trace, ATileIsThatOfAllThatItsWarpDoesUntilItsEnd) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring<Named>(trace).ok());
  const std::vector<std::string> steps = {"3,1 step 0",  "3,1 step 1",  "3,1 step 2",
                                          "3,10 step 0", "3,10 step 1", "3,10 step 2"};
  for (const char* role : {"load", "use"}) {
    std::vector<std::size_t> held(kTiles);
    for (const Span& hold : spans_of(trace, LaneKind::kWarp, role, SpanKind::kHold)) {
      ASSERT_LT(hold.use, kTiles + kStages);
      EXPECT_EQ(tile_of(trace, hold), hold.use < kTiles ? steps[hold.use] : "") << role << " " << hold.use;
      if (hold.use < kTiles) ++held[hold.use];
    }
    EXPECT_EQ(std::ranges::count(held, 0u), 0) << role;
    std::size_t waits = 0;
    for (const Span& wait : spans_of(trace, LaneKind::kWarp, role, SpanKind::kWait)) {
      if (wait.use == sim::trace::kNoIndex) continue;
      // Those of the last two uses drain the ring, and are for no tile.
      EXPECT_EQ(tile_of(trace, wait), wait.use < kTiles ? steps[wait.use] : "") << role << " " << wait.use;
      ++waits;
    }
    EXPECT_GE(waits, 4u) << role;
    const std::vector<Span> works = spans_of(trace, LaneKind::kWarp, role, SpanKind::kWork);
    EXPECT_EQ(tile_of(trace, works.front()), "") << role;
  }
  for (const Span& copy : spans_of(trace, LaneKind::kCopies, "copies", SpanKind::kCopy)) {
    EXPECT_EQ(tile_of(trace, copy), steps[copy.use]);
  }
  const std::string json = to_json(trace.timeline());
  EXPECT_NE(json.find("\"use\":5,\"tile\":\"3,10\",\"step\":2"), std::string::npos);
}

TEST(Trace, NamingTilesChangesNoTimeNoScheduleAndNoShare) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const sim::Schedule schedule = seed == 0 ? sim::Schedule{} : sim::Schedule::random(seed);
    sim::Trace without;
    sim::Trace with;
    const sim::Report plain = run_ring(without, schedule);
    const sim::Report named = run_ring<Named>(with, schedule);
    EXPECT_EQ(named.stats.instructions, plain.stats.instructions);
    EXPECT_EQ(only(with).end, only(without).end);
    EXPECT_EQ(with.shares(), without.shares());
    for (const Span& span : only(without).spans) EXPECT_EQ(tile_of(without, span), "");
  }
}

TEST(Trace, SharesOfARoleAddUpToAllOfItsTime) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring(trace).ok());
  std::map<std::string, double> sums;
  for (const sim::trace::Share& share : only(trace).shares) sums[text(trace, share.role)] += share.percent;
  ASSERT_EQ(sums.size(), 2u);
  for (const auto& [role, percent] : sums) EXPECT_NEAR(percent, 100, 1e-9) << role;
  EXPECT_NE(trace.shares().find("waits for full of ring"), std::string::npos) << trace.shares();
}

TEST(Trace, TheCriticalPathLeadsFromTheStartToTheEnd) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring(trace).ok());
  const std::vector<std::uint32_t>& path = only(trace).critical;
  ASSERT_GT(path.size(), kTiles);
  EXPECT_EQ(only(trace).spans[path.front()].begin, 0u);
  EXPECT_EQ(only(trace).spans[path.back()].end, only(trace).end);
  for (std::size_t i = 1; i < path.size(); ++i) {
    const Span& before = only(trace).spans[path[i - 1]];
    const Span& after = only(trace).spans[path[i]];
    if (after.kind == SpanKind::kWait) {
      EXPECT_EQ(after.cause, path[i - 1]);
      EXPECT_LT(before.begin, after.end);
    } else if (after.kind == SpanKind::kCopy) {
      EXPECT_LT(before.begin, after.begin);
    } else {
      EXPECT_EQ(before.lane, after.lane);
      EXPECT_EQ(before.end, after.begin);
    }
  }
}

TEST(Trace, CyclesDoNotDependOnTheSchedule) {
  sim::Trace round_robin;
  ASSERT_TRUE(run_ring(round_robin).ok());
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::Trace random;
    ASSERT_TRUE(run_ring(random, sim::Schedule::random(seed)).ok());
    EXPECT_EQ(only(random).end, only(round_robin).end) << seed;
    EXPECT_EQ(random.spans(), round_robin.spans()) << seed;
    EXPECT_EQ(random.shares(), round_robin.shares()) << seed;
  }
}

TEST(Trace, CostsAreThoseThatWereGiven) {
  // Two stages: three copies follow one another, and what is around them takes the same.
  sim::Timing timing = sim::timing_of(Arch::kSm90);
  timing.memory_latency = 1000;
  sim::Trace fast(500'000, timing);
  timing.memory_latency = 5000;
  sim::Trace slow(500'000, timing);
  ASSERT_TRUE(run_ring(fast).ok());
  ASSERT_TRUE(run_ring(slow).ok());
  EXPECT_EQ(only(slow).end - only(fast).end, 3 * 4000u);
}

TEST(Trace, BytesThatWereLoadedBeforeComeFromL2) {
  sim::Timing timing = sim::timing_of(Arch::kSm90);
  timing.memory_latency = 5000;
  alignas(128) static unsigned char source[kTiles * kTileBytes] = {};
  const auto cycles = [&](bool is_same) {
    sim::Trace trace(500'000, timing);
    sim::GlobalMemory memory;
    memory.add("source", source, sizeof(source));
    const std::uint32_t stride = is_same ? 0 : kTileBytes;
    EXPECT_TRUE(
        sim::launch<Ring<>>({.memory = &memory, .kernel = "ring", .trace = &trace}, {}, {source, stride}).ok());
    return only(trace).end;
  };
  // Of the chain of three copies, the first alone goes to memory.
  EXPECT_EQ(cycles(false) - cycles(true), 2 * (timing.memory_latency - timing.l2_latency));
}

TEST(Trace, AnSmTakesCopiesInOneAfterAnother) {
  sim::Timing timing = sim::timing_of(Arch::kSm90);
  timing.sm_bytes = 1;
  sim::Trace trace(500'000, timing);
  ASSERT_TRUE(run_ring(trace).ok());
  std::vector<Span> copies = spans_of(trace, LaneKind::kCopies, "copies", SpanKind::kCopy);
  std::ranges::sort(copies, {}, &Span::end);
  for (std::size_t i = 1; i < copies.size(); ++i) EXPECT_GE(copies[i].end - copies[i - 1].end, kTileBytes);
}

TEST(Trace, SaysWhatACardWouldTake) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring(trace).ok());
  EXPECT_EQ(trace.predicted_cycles(), static_cast<double>(only(trace).end));
  EXPECT_NE(trace.prediction().find(" us on 4 of the 132 SMs of an H200"), std::string::npos)
      << trace.prediction();
  sim::Trace hang;
  ASSERT_FALSE(run_ring<Broken>(hang).ok());
  EXPECT_EQ(hang.prediction(), "");
}

TEST(Trace, AHangLeavesItsWaitsOpenAndMarksWhoTheReportNames) {
  sim::Trace trace;
  const sim::Report report = run_ring<Broken>(trace);
  ASSERT_TRUE(report.has("deadlock"));
  EXPECT_EQ(only(trace).finding, report.text());
  std::map<std::string, std::size_t> open;
  for (const Span& span : only(trace).spans) {
    const Lane& lane = only(trace).lanes[span.lane];
    if (lane.kind != LaneKind::kWarp || !span.is_open) continue;
    EXPECT_EQ(span.kind, SpanKind::kWait);
    EXPECT_EQ(span.cause, sim::trace::kNoIndex);
    EXPECT_EQ(span.end, only(trace).end);
    EXPECT_TRUE(lane.is_involved);
    ++open[text(trace, lane.group)];
  }
  EXPECT_EQ(open["load"], 1u);
  EXPECT_EQ(open["use"], 2u);
}

// Warp 2 leaves, and the others wait for it; warp 3 comes last.
struct Unmet {
  struct Params {};
  struct Shared {};
  static constexpr std::uint32_t kThreads = 128;

  static void run(const Params&, Shared&) {
    if (isa::warp_idx() == 2) return;
    if (isa::warp_idx() == 3) isa::bar_sync(2, 32);
    isa::bar_sync(1, 128);
  }
};

TEST(Trace, AHangMarksAllWarpsOfAListAndShowsTheWaitThatBeganLast) {
  sim::Trace trace;
  const sim::Report report = sim::launch<Unmet>({.kernel = "unmet", .trace = &trace}, {}, {});
  ASSERT_NE(report.text().find("warps 0-1, 3: waits on named barrier 1"), std::string::npos) << report.text();
  std::size_t involved = 0;
  for (const Span& span : only(trace).spans) {
    const Lane& lane = only(trace).lanes[span.lane];
    if (!span.is_open || lane.kind != LaneKind::kWarp) continue;
    EXPECT_TRUE(lane.is_involved) << lane.warp;
    EXPECT_GE((span.end - span.begin) * 20, only(trace).end) << lane.warp;
    ++involved;
  }
  EXPECT_EQ(involved, 3u);
}

TEST(Trace, ARunWithoutAFindingMarksNobody) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring(trace).ok());
  for (const Lane& lane : only(trace).lanes) EXPECT_FALSE(lane.is_involved);
  for (const Span& span : only(trace).spans) {
    EXPECT_FALSE(span.is_open && only(trace).lanes[span.lane].kind == LaneKind::kWarp);
  }
  EXPECT_EQ(trace.remark(), "");
}

TEST(Trace, NamedBarriersAreWaitedForByWhoComesEarly) {
  sim::Trace trace;
  const sim::Tracing tracing(trace);
  const auto body = [](NoShared&) {
    if (isa::warp_idx() == 1) {
      for (int i = 0; i < 50; ++i) isa::fence_proxy_async();
    }
    isa::bar_sync(3, 64);
  };
  ASSERT_TRUE(sim::launch_entry({.kernel = "tiny", .trace = sim::Tracing::current()}, {},
                                {.threads = 64,
                                 .shared_bytes = 1,
                                 .shared_alignment = 1,
                                 .run =
                                     [](const void* params, void* shared) {
                                       (*static_cast<const decltype(body)*>(params))(
                                           *static_cast<NoShared*>(shared));
                                     }},
                                &body)
                  .ok());
  const std::vector<Span> waits = spans_of(trace, LaneKind::kWarp, "warps", SpanKind::kWait);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(text(trace, waits[0].label), "named barrier 3");
  const sim::Timing& timing = sim::timing_of(Arch::kSm90);
  EXPECT_EQ(waits[0].end - waits[0].begin, 50 * timing.fence + timing.named_barrier);
  EXPECT_EQ(only(trace).spans[waits[0].cause].lane, 1u);
}

TEST(Trace, RecordingStopsAtTheLimitAndSaysSo) {
  sim::Trace trace(20);
  ASSERT_TRUE(run_ring(trace).ok());
  ASSERT_TRUE(run_ring(trace).ok());
  EXPECT_EQ(trace.launches(), 1u);
  EXPECT_NE(trace.remark().find("a trace keeps 20 spans"), std::string::npos) << trace.remark();
  EXPECT_NE(trace.remark().find("not in the trace: 1;"), std::string::npos) << trace.remark();
}

TEST_F(TraceFile, IsWrittenAsItsNameEnds) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring(trace).ok());
  trace.write(path("a.json"));
  trace.write(path("a.html"));
  trace.write(path("a.svg"));
  EXPECT_TRUE(contents(path("a.json")).starts_with("{\"displayTimeUnit\""));
  EXPECT_TRUE(contents(path("a.html")).starts_with("<!doctype html>"));
  EXPECT_TRUE(contents(path("a.svg")).starts_with("<svg"));
  EXPECT_EQ(files(), 3u);
}

TEST_F(TraceFile, OfAnotherNameIsRefusedWithTheThreeThatWouldPass) {
  for (const char* name : {"a.txt", "a", "html"}) {
    try {
      sim::Trace::check_path(path(name));
      ADD_FAILURE() << name;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(".html, .json or .svg"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(TraceFile, ThatCannotBeWrittenIsRefusedAtOnce) {
  EXPECT_THROW(sim::Trace::check_path(path("no_such_folder/a.json")), InputError);
  fs::create_directory(path("folder.json"));
  EXPECT_THROW(sim::Trace::check_path(path("folder.json")), InputError);
  EXPECT_NO_THROW(sim::Trace::check_path(path("a.json")));
  EXPECT_EQ(files(), 1u);  // asking leaves nothing behind
}

TEST_F(TraceFile, ReplacesTheOneThatWasThere) {
  sim::Trace trace;
  ASSERT_TRUE(run_ring(trace).ok());
  std::ofstream(path("a.json")) << "old";
  trace.write(path("a.json"));
  EXPECT_GT(contents(path("a.json")).size(), 1000u);
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace heddle::test
