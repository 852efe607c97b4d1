// SPDX-License-Identifier: Apache-2.0
//
// What warps have left on a GPU, as a timeline. The records are those that a kernel with a ring of two stages
// would write: one warp loads, one multiplies.
#include "sim/trace/timeline.h"

#include <heddle/host/error.h>
#include <heddle/host/traced_launch.h>
#include <heddle/isa/annotate.h>
#include <heddle/sim/trace.h>

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace heddle::test {
namespace {

using sim::trace::LaneKind;
using sim::trace::Launch;
using sim::trace::Span;
using sim::trace::SpanKind;
using sim::trace::Timeline;

constexpr std::uint32_t kFull = 1024;  // offsets of the barriers of stage 0; those of stage 1 are 8 bytes after
constexpr std::uint32_t kEmpty = 1040;

// Writes as the device does.
class Warp {
 public:
  Warp(TracedLaunch& launch, std::uint32_t index) : launch_(launch), index_(index) {}

  void begin(std::uint64_t clock, std::uint64_t ns, std::uint32_t sm) {
    keep({clock, pack_record(TraceEvent::kBegin, 0), sm});
    keep({ns, pack_record(TraceEvent::kAnchor, 0), 0});
  }
  void end(std::uint64_t clock, std::uint64_t ns) {
    keep({clock, pack_record(TraceEvent::kEnd, 0), 0});
    keep({ns, pack_record(TraceEvent::kAnchor, 0), 0});
  }
  void role(std::string_view name) {
    keep({0, pack_record(TraceEvent::kRole, static_cast<std::uint32_t>(name.size())), 0});
    text(name);
  }
  void barriers(std::uint32_t first, isa::BarrierRole role, std::string_view ring) {
    const auto letters = static_cast<std::uint32_t>(ring.size());
    keep({0, pack_record(TraceEvent::kBarriers, pack_barriers(static_cast<std::uint32_t>(role), 2, letters)),
          first});
    text(ring);
  }
  void event(std::uint64_t clock, TraceEvent event, std::uint32_t detail, std::uint32_t value) {
    std::uint32_t& count = launch_.counts[index_];
    row()[kTraceKept + count++ % launch_.capacity] = {clock, pack_record(event, detail), value};
  }
  void waits(std::uint64_t from, std::uint64_t to, std::uint32_t barrier, std::uint32_t parity) {
    const std::uint32_t what = pack_wait(WaitedFor::kBarrier, barrier / 8, parity);
    event(to, TraceEvent::kPass, what, static_cast<std::uint32_t>(to - from));
  }

 private:
  TraceRecord* row() { return launch_.records.data() + index_ * launch_.row(); }
  void keep(TraceRecord record) { row()[kept_++] = record; }
  void text(std::string_view name) {
    for (std::size_t first = 0; first < name.size(); first += 8) {
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < 8 && first + i < name.size(); ++i) {
        word |= std::uint64_t{static_cast<unsigned char>(name[first + i])} << 8 * i;
      }
      keep({word, pack_record(TraceEvent::kText, 0), 0});
    }
  }

  TracedLaunch& launch_;
  std::uint32_t index_;
  std::uint32_t kept_ = 0;
};

// A load into stage 0 takes from cycle 30 to 90, one into stage 1 from 40 to 120; stage 0 is used again.
TracedLaunch two_warps(std::uint32_t ctas = 1, std::uint32_t capacity = 32) {
  TracedLaunch launch{.kernel = "ring", .grid = {ctas, 1, 1}, .warps = 2, .ctas = ctas, .capacity = capacity};
  launch.counts.resize(2 * ctas);
  launch.records.resize(launch.counts.size() * launch.row());
  for (std::uint32_t cta = 0; cta < ctas; ++cta) {
    // The clock of each SM has a beginning of its own; the launch begins at 5000 ns, and a cycle lasts 1 ns.
    const std::uint64_t zero = 70'000 + 9'000 * cta;
    Warp math(launch, 2 * cta);
    math.begin(zero, 5000, 3 + cta);
    math.barriers(kFull, isa::BarrierRole::kFull, "input tiles");
    math.barriers(kEmpty, isa::BarrierRole::kEmpty, "input tiles");
    math.role("math");
    math.waits(zero + 20, zero + 90, kFull, 0);
    math.event(zero + 95, TraceEvent::kMultiply, 0, 0);
    math.waits(zero + 100, zero + 120, kFull + 8, 0);
    math.event(zero + 150, TraceEvent::kPass, pack_wait(WaitedFor::kWgmma, 0), 29);
    math.event(zero + 160, TraceEvent::kArrive, 0, kEmpty);
    math.event(zero + 170, TraceEvent::kArrive, 0, kEmpty + 8);
    math.waits(zero + 180, zero + 260, kFull, 1);
    math.event(zero + 270, TraceEvent::kArrive, 0, kEmpty);
    math.end(zero + 300, 5300);
    Warp load(launch, 2 * cta + 1);
    load.begin(zero, 5000, 3 + cta);
    load.role("load");
    load.waits(zero + 10, zero + 15, kEmpty, 1);
    load.event(zero + 30, TraceEvent::kArrive, 4096, kFull);
    load.waits(zero + 32, zero + 35, kEmpty + 8, 1);
    load.event(zero + 40, TraceEvent::kArrive, 4096, kFull + 8);
    load.waits(zero + 50, zero + 165, kEmpty, 0);
    load.event(zero + 175, TraceEvent::kArrive, 2048, kFull);
    load.end(zero + 200, 5200);
  }
  return launch;
}

struct Drawn {
  explicit Drawn(TracedLaunch launch) { trace.add(std::move(launch)); }

  const Launch& launch() const { return trace.timeline().launches.at(0); }
  std::string text(std::uint32_t id) const { return trace.timeline().texts[id]; }
  // "waits for full of input tiles[0] 20-90", of all lanes of that kind, by lane.
  std::string spans(LaneKind kind, std::string_view group) const {
    std::string all;
    for (const Span& span : launch().spans) {
      const auto& lane = launch().lanes[span.lane];
      if (lane.kind != kind || text(lane.group) != group || lane.cta != 0) continue;
      all += std::string(all.empty() ? "" : "; ") + (span.kind == SpanKind::kWait ? "waits " : "") +
             text(span.label) + " " + std::to_string(span.begin) + "-" + std::to_string(span.end);
    }
    return all;
  }

  sim::Trace trace;
};

TEST(TracedLaunch, WaitsHoldsAndRolesAreDrawnInCycles) {
  const Drawn drawn(two_warps());
  EXPECT_EQ(drawn.spans(LaneKind::kWarp, "load"),
            "works 0-10; waits empty of input tiles[0] 10-15; input tiles[0] 15-30; works 30-32; "
            "waits empty of input tiles[1] 32-35; input tiles[1] 35-40; works 40-50; "
            "waits empty of input tiles[0] 50-165; input tiles[0] 165-175; works 175-200");
  EXPECT_EQ(drawn.spans(LaneKind::kWarp, "math"),
            "works 0-20; waits full of input tiles[0] 20-90; input tiles[0] 90-100; "
            "waits full of input tiles[1] 100-120; input tiles[1] 120-121; waits its wgmma 121-150; "
            "input tiles[1] 150-170; works 170-180; waits full of input tiles[0] 180-260; "
            "input tiles[0] 260-270; works 270-300");
}

TEST(TracedLaunch, ACopyLastsUntilItsStageIsSeenFull) {
  const Drawn drawn(two_warps());
  EXPECT_EQ(drawn.spans(LaneKind::kCopies, "copies"),
            "load input tiles[0] 30-90; load input tiles[0] 175-260; load input tiles[1] 40-120");
  EXPECT_EQ(drawn.launch().copies, 3u);
  EXPECT_EQ(drawn.spans(LaneKind::kMultiplications, "multiplications"), "wgmma 95-150");
  EXPECT_EQ(drawn.spans(LaneKind::kStage, "input tiles"),
            "load fills 15-90; math has it 90-160; load fills 165-260; math has it 260-300; "
            "load fills 35-120; math has it 120-300");
}

TEST(TracedLaunch, AWaitIsFollowedToWhatEndedIt) {
  const Drawn drawn(two_warps());
  const auto cause_of = [&](std::uint64_t begin) -> std::string {
    for (const Span& span : drawn.launch().spans) {
      if (span.kind != SpanKind::kWait || span.begin != begin || span.cause == sim::trace::kNoIndex) continue;
      return drawn.text(drawn.launch().spans[span.cause].label);
    }
    return "";
  };
  EXPECT_EQ(cause_of(20), "load input tiles[0]");
  EXPECT_EQ(cause_of(121), "wgmma");
  EXPECT_EQ(cause_of(50), "input tiles[1]");  // what math did when it arrived
  EXPECT_EQ(drawn.launch().end, 300u);
}

TEST(TracedLaunch, TilesCutTheWorkAndCountTheirSteps) {
  TracedLaunch launch = two_warps();
  Warp math(launch, 0);
  math.event(70'010, TraceEvent::kTile, 1, 3);
  math.event(70'092, TraceEvent::kTile, 1, 3);  // said again, it is the same
  math.event(70'175, TraceEvent::kTileEnd, 0, 0);
  math.event(70'177, TraceEvent::kTile, 10, 3);
  Warp load(launch, 1);
  load.event(70'005, TraceEvent::kTile, 1, 3);
  load.event(70'045, TraceEvent::kTile, 10, 3);
  const Drawn drawn(std::move(launch));
  const auto tiles = [&](LaneKind kind, std::string_view group) {
    std::string all;
    for (const Span& span : drawn.launch().spans) {
      const auto& lane = drawn.launch().lanes[span.lane];
      if (lane.kind != kind || drawn.text(lane.group) != group) continue;
      all += (all.empty() ? "" : "; ") + std::to_string(span.begin) +
             (span.tile == sim::trace::kNoIndex ? "" : " " + drawn.text(span.tile)) +
             (span.step == sim::trace::kNoIndex ? "" : " #" + std::to_string(span.step));
    }
    return all;
  };
  EXPECT_EQ(tiles(LaneKind::kWarp, "math"),
            "0; 10 3,1; 20 3,1 #0; 90 3,1 #0; 100 3,1 #1; 120 3,1 #1; 121 3,1; 150 3,1 #1; 170 3,1; 175; "
            "177 3,10; 180 3,10 #0; 260 3,10 #0; 270 3,10");
  EXPECT_EQ(tiles(LaneKind::kWarp, "load"),
            "0; 5 3,1; 10 3,1 #0; 15 3,1 #0; 30 3,1; 32 3,1 #1; 35 3,1 #1; 40 3,1; 45 3,10; 50 3,10 #0; "
            "165 3,10 #0; 175 3,10");
  EXPECT_EQ(tiles(LaneKind::kCopies, "copies"), "30 3,1 #0; 175 3,10 #0; 40 3,1 #1");
  EXPECT_EQ(tiles(LaneKind::kMultiplications, "multiplications"), "95 3,1");
}

TEST(TracedLaunch, ClocksOfSmsAreAligned) {
  const Drawn drawn(two_warps(2));
  std::uint64_t ends = 0;
  for (const Span& span : drawn.launch().spans) ends = std::max(ends, span.end);
  EXPECT_EQ(ends, 300u);
}

TEST(TracedLaunch, AFullRingLosesTheOldestAndSaysSo) {
  EXPECT_EQ(Drawn(two_warps()).trace.remark(), "");
  const Drawn drawn(two_warps(1, 4));
  EXPECT_NE(drawn.trace.remark().find("keeps 4 records, and the oldest 6 of them all are lost"),
            std::string::npos)
      << drawn.trace.remark();
  // Of the load warp the last four of six are there.
  EXPECT_EQ(drawn.spans(LaneKind::kWarp, "load").find("10-15"), std::string::npos);
  EXPECT_NE(drawn.spans(LaneKind::kWarp, "load").find("waits empty of input tiles[0] 50-165"), std::string::npos);
}

struct File {
  std::string path =
      (std::filesystem::temp_directory_path() / ("heddle_traced_" + std::to_string(getpid()))).string();
  ~File() { std::filesystem::remove(path); }
};

std::string error_of(const std::string& path) {
  try {
    (void)read_traced_launches(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(TracedFile, IsReadAsWritten) {
  const File file;
  const TracedLaunch launch = two_warps(2);
  write_traced_launches(file.path, {launch, two_warps()});
  const std::vector<TracedLaunch> read = read_traced_launches(file.path);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].kernel, "ring");
  EXPECT_EQ(read[0].counts, launch.counts);
  ASSERT_EQ(read[0].records.size(), launch.records.size());
  EXPECT_EQ(read[0].records[5].what, launch.records[5].what);
  EXPECT_EQ(read[1].ctas, 1u);
}

TEST(TracedFile, OneThatIsCutOrIsNoneIsRefused) {
  const File file;
  write_traced_launches(file.path, {two_warps()});
  EXPECT_EQ(error_of(file.path), "");
  std::filesystem::resize_file(file.path, std::filesystem::file_size(file.path) - 16);
  EXPECT_NE(error_of(file.path).find("it ends too early"), std::string::npos) << error_of(file.path);
  std::ofstream(file.path) << "heddle trace 1\n1 1 1 2 99999999 4096 4 ring\n";
  EXPECT_NE(error_of(file.path).find("which is no launch"), std::string::npos) << error_of(file.path);
  std::ofstream(file.path) << "{}\n";
  EXPECT_NE(error_of(file.path).find("its first line is not 'heddle trace 1'"), std::string::npos);
  EXPECT_NE(error_of("/no/such/file").find("it cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace heddle::test
