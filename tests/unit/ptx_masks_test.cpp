// SPDX-License-Identifier: Apache-2.0
//
// Warp-wide instructions with masks: lanes meet wherever they stand, masks may overlap, and lanes that have
// exited are not waited for.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

const char* const kSchedules[] = {"rr", "1", "2", "3", "4", "5"};

// Runs the body with one result for each thread, whose place is in %rd1, and whose lane is in %r1.
std::vector<std::uint32_t> results(const std::string& body, const char* schedule, sim::Report& report,
                                   std::uint32_t threads = 32) {
  std::vector<std::uint32_t> out(threads, 0xdead);
  report = run_ptx(ptx_module("ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"
                              "add.u64 %rd1, %rd1, %rd2;\n" +
                              body),
                   out, {0}, {.threads = threads, .schedule = sim::Schedule::parse(schedule)});
  return out;
}

void expect_lanes(const std::string& body, const std::function<std::uint32_t(std::uint32_t)>& wanted,
                  std::uint32_t threads = 32) {
  for (const char* schedule : kSchedules) {
    sim::Report report;
    const std::vector<std::uint32_t> out = results(body, schedule, report, threads);
    ASSERT_TRUE(report.ok()) << schedule << "\n" << report.text();
    for (std::uint32_t l = 0; l < threads; ++l) EXPECT_EQ(out[l], wanted(l)) << schedule << ", thread " << l;
  }
}

void expect_fault(const std::string& body, const char* code, const std::string& part) {
  for (const char* schedule : kSchedules) {
    sim::Report report;
    results(body, schedule, report);
    ASSERT_TRUE(report.has(code)) << schedule << "\n" << report.text();
    EXPECT_NE(report.text().find(part), std::string::npos) << report.text();
  }
}

// Each branch has its mask in a register of its own.
TEST(PtxMasks, LanesMeetAtTheShufflesOfTwoBranches) {
  const auto body = [](const char* mask) {
    return std::string(
               "setp.lt.u32 %p1, %r1, 16; mov.u32 %r7, 0; @%p1 bra A;\n"
               "mov.u32 %r5, ") +
           mask +
           "; shfl.sync.idx.b32 %r3, %r1, 3, 31, %r5; bra E;\n"
           "A: mov.u32 %r6, 0xffffffff; shfl.sync.idx.b32 %r3, %r1, 20, 31, %r6;\n"
           "E: st.global.u32 [%rd1], %r3; ret;";
  };
  expect_lanes(body("0xffffffff"), [](std::uint32_t l) { return l < 16 ? 20u : 3u; });
  expect_fault(body("0xffffff0f"), "divergence", "mask");
}

TEST(PtxMasks, ShufflesOfOtherKindsDoNotMeet) {
  const auto body = [](const char* kind) {
    return std::string("setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\nshfl.sync.") + kind +
           ".b32 %r3, %r1, 1, 31, -1; bra E;\nA: shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n"
           "E: st.global.u32 [%rd1], %r3; ret;";
  };
  expect_lanes(body("bfly"), [](std::uint32_t l) { return l ^ 1; });
  expect_fault(body("down"), "divergence", "different qualifiers");
}

// Lane 5 is in both masks: it meets lane 4 first, then lane 6, who came before.
TEST(PtxMasks, MasksMayOverlap) {
  const auto body = [](const char* second) {
    return std::string(
               "setp.eq.u32 %p1, %r1, 4; setp.eq.u32 %p2, %r1, 5; setp.eq.u32 %p3, %r1, 6; mov.u32 %r3, %r1;\n"
               "@%p3 bra SIX; @%p1 bra FOUR; @!%p2 bra E;\n"
               "bar.warp.sync 0x30; shfl.sync.idx.b32 %r3, %r1, 6, 31, 0x60; bra E;\n"
               "FOUR: bar.warp.sync 0x30; bra E;\nSIX: shfl.sync.idx.b32 %r3, %r1, 5, 31, ") +
           second + ";\nE: st.global.u32 [%rd1], %r3; ret;";
  };
  expect_lanes(body("0x60"), [](std::uint32_t l) { return l == 5 ? 6u : l == 6 ? 5u : l; });
  // Lane 6 waits for lane 4 as well, which exits: not waited for. Lane 5 comes with another mask: they cross.
  expect_fault(body("0x70"), "divergence", "mask");
}

TEST(PtxMasks, MeetingsThatWaitForEachOtherAreFound) {
  // Three lanes in a ring, each with the next.
  expect_fault(
      "setp.gt.u32 %p1, %r1, 2; @%p1 bra E; setp.eq.u32 %p2, %r1, 0; setp.eq.u32 %p3, %r1, 1;\n"
      "@%p2 bra ZERO; @%p3 bra ONE;\nbar.warp.sync 5; bra E;\nZERO: bar.warp.sync 3; bra E;\n"
      "ONE: bar.warp.sync 6;\nE: ret;",
      "divergence", "bar.warp.sync");
}

TEST(PtxMasks, CoalescedLanesVoteMatchAndReduceAlone) {
  const std::string body =
      "and.b32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 0; mov.u32 %r9, 0; @!%p1 bra E;\n"
      "mov.u32 %r4, 0x11111111; vote.sync.ballot.b32 %r5, %p1, %r4; redux.sync.add.u32 %r6, %r1, %r4;\n"
      "match.any.sync.b32 %r7, %r2, %r4; bar.warp.sync %r4; xor.b32 %r8, %r5, %r7; add.u32 %r9, %r6, %r8;\n"
      "E: st.global.u32 [%rd1], %r9; ret;";
  expect_lanes(body, [](std::uint32_t l) { return l % 4 == 0 ? 0u + 4 + 8 + 12 + 16 + 20 + 24 + 28 : 0u; });
}

// A reduction over the lower half reads lanes above it, and uses what lane 0 gets alone.
TEST(PtxMasks, LanesOutsideOfTheMaskMayBeReadAndDropped) {
  expect_lanes(
      "setp.gt.u32 %p1, %r1, 15; mov.u32 %r3, %r1; @%p1 bra E;\n"
      "shfl.sync.down.b32 %r4, %r3, 8, 31, 0xffff; add.u32 %r3, %r3, %r4;\n"
      "shfl.sync.down.b32 %r4, %r3, 4, 31, 0xffff; add.u32 %r3, %r3, %r4;\n"
      "shfl.sync.down.b32 %r4, %r3, 2, 31, 0xffff; add.u32 %r3, %r3, %r4;\n"
      "shfl.sync.down.b32 %r4, %r3, 1, 31, 0xffff; add.u32 %r3, %r3, %r4;\n"
      "setp.ne.u32 %p2, %r1, 0; @!%p2 st.global.u32 [%rd1], %r3; @%p2 st.global.u32 [%rd1], %r1; ret;\n"
      "E: st.global.u32 [%rd1], %r1; ret;",
      [](std::uint32_t l) { return l == 0 ? 120u : l; });
}

TEST(PtxMasks, BarriersDoNotWaitForLanesThatHaveExited) {
  for (const char* barrier : {"bar.sync 0", "barrier.sync.aligned 0", "barrier.sync 0", "bar.sync 0, 64"}) {
    expect_lanes(
        std::string("st.global.u32 [%rd1], %r1; and.b32 %r2, %r1, 31; setp.gt.u32 %p1, %r2, 20; @%p1 ret;\n") +
            barrier + ";\nst.global.u32 [%rd1], 7; ret;",
        [](std::uint32_t l) { return l % 32 > 20 ? l : 7; }, 64);
  }
}

// Two rounds in a row; the second must not see the votes of the first.
TEST(PtxMasks, BarriersReduceWhatTheirThreadsSay) {
  const auto body = [](const char* second) {
    return std::string("setp.lt.u32 %p1, %r1, 40; bar.red.popc.u32 %r3, 0, %p1; bar.red.") + second +
           ".pred %p2, 0, " +
           "%p1; selp.u32 %r4, 100, 0, %p2; bar.red.or.pred %p3, 0, !%p1; selp.u32 %r5, 1000, 0, %p3;\n"
           "add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5; st.global.u32 [%rd1], %r3; ret;";
  };
  expect_lanes(
      body("and"), [](std::uint32_t) { return 1040u; }, 64);
  expect_lanes(
      body("or"), [](std::uint32_t) { return 1140u; }, 64);
  expect_fault(
      "setp.lt.u32 %p1, %r1, 16; @%p1 bra A; bar.red.and.pred %p2, 0, %p1; ret;\n"
      "A: bar.red.or.pred %p2, 0, %p1; ret;",
      "named_barrier", "others of the same round reduce by");
}

}  // namespace
}  // namespace heddle::test
