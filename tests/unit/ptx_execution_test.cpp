// SPDX-License-Identifier: Apache-2.0
#include "../support/ptx_run.h"

#include <numeric>

namespace heddle::test {
namespace {

const char* const kStoreR1 =
    "ld.param.u64 %rd1, [out]; mov.u32 %r30, %tid.x; mul.wide.u32 %rd2, %r30, 4; add.s64 %rd3, %rd1, %rd2;\n"
    "st.global.u32 [%rd3], %r1; ret;";

std::vector<std::uint32_t> results(const std::string& body, const std::string& before = "", PtxRun run = {},
                                   const std::vector<std::uint32_t>& in = {0}) {
  std::vector<std::uint32_t> out(run.threads * run.grid.x, 0xdead);
  const sim::Report report = run_ptx(ptx_module(body + kStoreR1, before), out, in, run);
  EXPECT_TRUE(report.ok()) << report.text();
  return out;
}

TEST(PtxExecution, LoopsOfDifferentLengthReconverge) {
  // Each lane counts down from its number; all of them vote together behind the loop.
  const std::vector<std::uint32_t> out = results(
      "mov.u32 %r2, %laneid; mov.u32 %r3, 0;\n"
      "LOOP: setp.eq.u32 %p1, %r2, 0; @%p1 bra DONE; add.u32 %r3, %r3, %r2; sub.u32 %r2, %r2, 1; bra LOOP;\n"
      "DONE: activemask.b32 %r4; setp.eq.u32 %p2, %r4, -1; selp.b32 %r1, %r3, 9999, %p2;\n");
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane * (lane + 1) / 2) << lane;
}

TEST(PtxExecution, LanesThatWaitForOthersOfTheirWarpDoNotStarveThem) {
  // Lane 0 spins, at a lower address, for a flag that lane 31 sets further on.
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    PtxRun run{.shared_bytes = 16, .schedule = sim::Schedule::parse(schedule)};
    const std::vector<std::uint32_t> out = results(
        "mov.u32 %r2, %laneid; mov.u32 %r5, dyn; setp.ne.u32 %p1, %r2, 0; @!%p1 st.volatile.shared.u32 [%r5], 0;\n"
        "bar.sync 0; @%p1 bra OTHERS;\n"
        "SPIN: ld.volatile.shared.u32 %r3, [%r5]; setp.eq.u32 %p2, %r3, 0; @%p2 bra SPIN; bra JOIN;\n"
        "OTHERS: setp.ne.u32 %p3, %r2, 31; @%p3 bra JOIN; st.volatile.shared.u32 [%r5], 77;\n"
        "JOIN: bar.warp.sync -1; ld.volatile.shared.u32 %r1, [%r5];\n",
        ".extern .shared .align 16 .b8 dyn[];", run);
    for (const std::uint32_t value : out) EXPECT_EQ(value, 77u) << schedule;
  }
}

TEST(PtxExecution, CallsPassParametersAndRecurse) {
  const char* const factorial =
      ".visible .func (.param .b32 r) fact(.param .b32 n);\n"
      ".visible .func (.param .b32 r) fact(.param .b32 n) {\n.reg .b32 %r<5>; .reg .pred %p<2>;\n"
      "ld.param.b32 %r1, [n]; setp.gt.u32 %p1, %r1, 1; @%p1 bra MORE; mov.u32 %r4, 1; bra END;\n"
      "MORE: sub.u32 %r2, %r1, 1;\n{ .param .b32 p0; .param .b32 q0; st.param.b32 [p0+0], %r2;\n"
      "call.uni (q0), fact, (p0); ld.param.b32 %r3, [q0+0]; }\nmul.lo.u32 %r4, %r3, %r1;\n"
      "END: st.param.b32 [r+0], %r4; ret;\n}\n";
  const std::vector<std::uint32_t> out = results(
      "mov.u32 %r2, %laneid; rem.u32 %r3, %r2, 7;\n{ .param .b32 a; .param .b32 b; st.param.b32 [a+0], %r3;\n"
      "call (b), fact, (a); ld.param.b32 %r1, [b+0]; }\n",
      factorial);
  constexpr std::uint32_t kFactorials[] = {1, 1, 2, 6, 24, 120, 720};
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], kFactorials[lane % 7]) << lane;
}

TEST(PtxExecution, IndirectBranchesAndCallsGoWhereEachLaneSays) {
  const char* const functions =
      ".func (.param .b32 r) one(.param .b32 n) { .reg .b32 %r<3>; ld.param.b32 %r1, [n]; add.u32 %r2, %r1, 1;\n"
      "st.param.b32 [r], %r2; ret; }\n"
      ".func (.param .b32 r) two(.param .b32 n) { .reg .b32 %r<3>; ld.param.b32 %r1, [n]; add.u32 %r2, %r1, 200;\n"
      "st.param.b32 [r], %r2; ret; }\n";
  const std::vector<std::uint32_t> out = results(
      "mov.u32 %r2, %laneid; and.b32 %r3, %r2, 3; TABLE: .branchtargets A, B, C, D;\nbrx.idx %r3, TABLE;\n"
      "A: mov.u64 %rd5, one; bra CALL;\nB: mov.u64 %rd5, two; bra CALL;\nC: mov.u32 %r1, 5; bra END;\n"
      "D: mov.u32 %r1, 6; bra END;\n"
      "CALL: { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; P0: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
      "call (b), %rd5, (a), P0; ld.param.b32 %r1, [b]; }\nEND:\n",
      functions);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t expected[] = {lane + 1, lane + 200, 5, 6};
    EXPECT_EQ(out[lane], expected[lane % 4]) << lane;
  }
}

TEST(PtxExecution, SpacesAreReachedByGenericAddresses) {
  const std::vector<std::uint32_t> out = results(
      ".local .align 8 .b8 depot[16]; .shared .align 4 .b8 tile[4];\n"
      "mov.u64 %rd4, depot; cvta.local.u64 %rd5, %rd4; st.u32 [%rd5+4], 11; ld.local.u32 %r2, [%rd4+4];\n"
      "mov.u32 %r3, tile; cvt.u64.u32 %rd6, %r3; cvta.shared.u64 %rd7, %rd6; mov.u32 %r10, %laneid;\n"
      "setp.eq.u32 %p1, %r10, 0; @%p1 st.u32 [%rd7], 22; bar.sync 0; ld.shared.u32 %r4, [tile];\n"
      "mov.u64 %rd8, table; cvta.global.u64 %rd9, %rd8; ld.u32 %r5, [%rd9+4]; ld.const.u32 %r6, [k0];\n"
      "mov.b64 %rd10, out; cvta.param.u64 %rd11, %rd10; ld.u64 %rd12, [%rd11]; ld.param.u64 %rd13, [out];\n"
      "setp.eq.u64 %p2, %rd12, %rd13; isspacep.shared %p3, %rd7; isspacep.local %p4, %rd5; isspacep.global %p5, %rd9;\n"
      "and.pred %p2, %p2, %p3; and.pred %p2, %p2, %p4; and.pred %p2, %p2, %p5;\n"
      "add.u32 %r1, %r2, %r4; add.u32 %r1, %r1, %r5; add.u32 %r1, %r1, %r6; @!%p2 mov.u32 %r1, 0;\n",
      ".global .align 4 .u32 table[2] = {1, 33}; .const .u32 k0 = 44;");
  for (const std::uint32_t value : out) EXPECT_EQ(value, 110u);
}

TEST(PtxExecution, VectorsPackAndUnpack) {
  std::vector<std::uint32_t> in(128);
  std::iota(in.begin(), in.end(), 1u);
  const std::vector<std::uint32_t> out = results(
      "ld.param.u64 %rd4, [in]; mov.u32 %r2, %laneid; mul.wide.u32 %rd5, %r2, 16; add.s64 %rd4, %rd4, %rd5;\n"
      "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd4]; mov.b64 %rd6, {%r3, %r4}; mov.b64 {%r7, %r8}, %rd6;\n"
      "mov.b32 {%h1, %h2}, %r5; mov.b32 %r9, {%h2, %h1}; shr.u32 %r9, %r9, 16; .reg .b128 w; .reg .b64 lo, hi;\n"
      "mov.b64 %rd7, {%r5, %r6}; mov.b128 w, {%rd6, %rd7}; mov.b128 {lo, hi}, w; cvt.u32.u64 %r10, hi;\n"
      "sub.u32 %r10, %r10, %r5; add.u32 %r1, %r7, %r8; add.u32 %r1, %r1, %r9; add.u32 %r1, %r1, %r10;\n",
      "", {}, in);
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], 3 * (4 * lane + 2)) << lane;
}

TEST(PtxExecution, ShufflesFollowTheirSegments) {
  const auto shuffled = [](const std::string& instruction) {
    return results("mov.u32 %r2, %laneid;\n" + instruction + " @!%p1 add.u32 %r1, %r1, 100;\n");
  };
  const std::vector<std::uint32_t> down = shuffled("shfl.sync.down.b32 %r1|%p1, %r2, 3, 31, -1;");
  const std::vector<std::uint32_t> up = shuffled("shfl.sync.up.b32 %r1|%p1, %r2, 3, 0, -1;");
  const std::vector<std::uint32_t> bfly = shuffled("shfl.sync.bfly.b32 %r1|%p1, %r2, 5, 31, -1;");
  // Segments of eight lanes: the mask 0x18 above bit 8, the last lane of a segment below.
  const std::vector<std::uint32_t> idx = shuffled("shfl.sync.idx.b32 %r1|%p1, %r2, 6, 0x1807, -1;");
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(down[lane], lane + 3 < 32 ? lane + 3 : lane + 100);
    EXPECT_EQ(up[lane], lane >= 3 ? lane - 3 : lane + 100);
    EXPECT_EQ(bfly[lane], lane ^ 5u);
    EXPECT_EQ(idx[lane], lane / 8 * 8 + 6);
  }
}

TEST(PtxExecution, VotesMatchesAndReductionsCountTheirLanes) {
  const std::vector<std::uint32_t> out = results(
      "mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 4; vote.sync.ballot.b32 %r3, %p1, -1; vote.sync.any.pred %p2, %p1, -1;\n"
      "vote.sync.all.pred %p3, %p1, -1; and.b32 %r4, %r2, 1; match.any.sync.b32 %r5, %r4, -1;\n"
      "redux.sync.add.u32 %r6, %r2, -1; redux.sync.max.s32 %r7, %r2, -1; elect.sync %r8|%p4, -1;\n"
      "selp.u32 %r9, 1, 0, %p2; selp.u32 %r10, 1, 0, %p3; selp.u32 %r11, 1, 0, %p4; popc.b32 %r12, %r5;\n"
      "mov.u32 %r1, %r3; mad.lo.u32 %r1, %r6, 16, %r1; mad.lo.u32 %r1, %r9, 65536, %r1; mad.lo.u32 %r1, %r10, 131072, %r1;\n"
      "add.u32 %r1, %r1, %r7; add.u32 %r1, %r1, %r12; add.u32 %r1, %r1, %r11;\n");
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], 15u + 496 * 16 + 65536 + 31 + 16 + (lane == 0 ? 1 : 0)) << lane;
  }
}

TEST(PtxExecution, AtomicsAddUpOverWarpsAndBlocks) {
  for (const char* schedule : {"rr", "5", "6"}) {
    std::vector<std::uint32_t> out(4, 0);
    const sim::Report report = run_ptx(
        ptx_module("ld.param.u64 %rd1, [out]; atom.global.add.u32 %r1, [%rd1], 2; red.global.max.u32 [%rd1+4], %r1;\n"
                   "AGAIN: ld.relaxed.gpu.global.u32 %r2, [%rd1+8]; add.u32 %r3, %r2, 1;\n"
                   "atom.global.cas.b32 %r4, [%rd1+8], %r2, %r3; setp.ne.u32 %p1, %r4, %r2; @%p1 bra AGAIN;\n"
                   "atom.shared.inc.u32 %r5, [counter], 1000; red.global.add.f32 [%rd1+12], 0f3F800000; ret;",
                   ".shared .align 4 .u32 counter;"),
        out, {0}, {.threads = 64, .grid = {4, 1, 1}, .schedule = sim::Schedule::parse(schedule)});
    ASSERT_TRUE(report.ok()) << report.text();
    EXPECT_EQ(out[0], 512u);
    EXPECT_EQ(out[1], 510u);
    EXPECT_EQ(out[2], 256u);
    EXPECT_EQ(out[3], 0x43800000u);
  }
}

TEST(PtxExecution, BarriersReduce) {
  const std::vector<std::uint32_t> out = results(
      "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 40; bar.red.popc.u32 %r3, 0, %p1; bar.red.and.pred %p2, 0, %p1;\n"
      "bar.red.or.pred %p3, 0, %p1; selp.u32 %r4, 1000, 0, %p2; selp.u32 %r5, 100, 0, %p3; add.u32 %r1, %r3, %r4;\n"
      "add.u32 %r1, %r1, %r5;\n",
      "", {.threads = 96});
  for (const std::uint32_t value : out) EXPECT_EQ(value, 140u);
}

TEST(PtxExecution, BlocksOfThreeDimensionsAndClustersKnowTheirPlace) {
  const sim::PtxModule module = sim::PtxModule::load(
      ptx_module("ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;\n"
                 "mad.lo.u32 %r4, %r3, 3, %r2; mad.lo.u32 %r4, %r4, 5, %r1; mov.u32 %r5, %cluster_ctarank;\n"
                 "mov.u32 %r6, %ctaid.x; mad.lo.u32 %r7, %r6, 30, %r4; mul.wide.u32 %rd2, %r7, 4; add.s64 %rd3, %rd1, %rd2;\n"
                 "mad.lo.u32 %r8, %r5, 1000, %r4; st.global.u32 [%rd3], %r8; ret;"),
      "test.ptx");
  std::vector<std::uint32_t> out(120, 0xdead);
  sim::GlobalMemory memory;
  memory.add("out", out.data(), 4 * out.size());
  sim::PtxArguments arguments;
  arguments.add(out.data());
  arguments.add(nullptr);
  const sim::Report report =
      module.launch("k", {.memory = &memory},
                    {.grid = {4, 1, 1}, .block = {5, 3, 2}, .cluster = {2, 1, 1}, .dynamic_shared_bytes = 0, .registers = 0, .print = {}},
                    arguments);
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t i = 0; i < 120; ++i) EXPECT_EQ(out[i], i / 30 % 2 * 1000 + i % 30) << i;
}

TEST(PtxExecution, KernelsPrint) {
  std::vector<std::uint32_t> out(1);
  std::string printed;
  const sim::Report report = run_ptx(
      ptx_module(".local .align 8 .b8 depot[24]; mov.u64 %rd4, depot; cvta.local.u64 %rd5, %rd4; mov.u32 %r1, %tid.x;\n"
                 "st.local.u32 [%rd4], %r1; st.local.f64 [%rd4+8], 0d3FF8000000000000; mov.u64 %rd6, word;\n"
                 "st.local.u64 [%rd4+16], %rd6; mov.u64 %rd7, text;\n"
                 "{ .param .b64 p0; .param .b64 p1; .param .b32 q; st.param.b64 [p0], %rd7; st.param.b64 [p1], %rd5;\n"
                 "call.uni (q), vprintf, (p0, p1); ld.param.b32 %r2, [q]; } ret;",
                 ".extern .func (.param .b32 q) vprintf(.param .b64 f, .param .b64 a);\n"
                 ".global .align 1 .b8 text[] = {37,48,51,100,32,37,46,49,102,32,37,115,33,10,0};\n"
                 ".global .align 1 .b8 word[] = \"warp\";"),
      out, {0}, {.threads = 2}, &printed);
  ASSERT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(printed, "000 1.5 warp!\n001 1.5 warp!\n");
}

}  // namespace
}  // namespace heddle::test
