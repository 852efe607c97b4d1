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
        "mov.u32 %r2, %laneid; mov.u32 %r5, dyn; setp.ne.u32 %p1, %r2, 0; @!%p1 st.volatile.shared.u32 [%r5], "
        "0;\n"
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
      ".func (.param .b32 r) two(.param .b32 n) { .reg .b32 %r<3>; ld.param.b32 %r1, [n]; add.u32 %r2, %r1, "
      "200;\n"
      "st.param.b32 [r], %r2; ret; }\n";
  const std::vector<std::uint32_t> out = results(
      "mov.u32 %r2, %laneid; and.b32 %r3, %r2, 3; TABLE: .branchtargets A, B, C, D;\nbrx.idx %r3, TABLE;\n"
      "A: mov.u64 %rd5, one; bra CALL;\nB: mov.u64 %rd5, two; bra CALL;\nC: mov.u32 %r1, 5; bra END;\n"
      "D: mov.u32 %r1, 6; bra END;\n"
      "CALL: { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; P0: .callprototype (.param .b32 _) _ (.param "
      ".b32 _);\n"
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
      "setp.eq.u64 %p2, %rd12, %rd13; isspacep.shared %p3, %rd7; isspacep.local %p4, %rd5; isspacep.global %p5, "
      "%rd9;\n"
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
      "mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 4; vote.sync.ballot.b32 %r3, %p1, -1; vote.sync.any.pred %p2, "
      "%p1, -1;\n"
      "vote.sync.all.pred %p3, %p1, -1; and.b32 %r4, %r2, 1; match.any.sync.b32 %r5, %r4, -1;\n"
      "redux.sync.add.u32 %r6, %r2, -1; redux.sync.max.s32 %r7, %r2, -1; elect.sync %r8|%p4, -1;\n"
      "selp.u32 %r9, 1, 0, %p2; selp.u32 %r10, 1, 0, %p3; selp.u32 %r11, 1, 0, %p4; popc.b32 %r12, %r5;\n"
      "mov.u32 %r1, %r3; mad.lo.u32 %r1, %r6, 16, %r1; mad.lo.u32 %r1, %r9, 65536, %r1; mad.lo.u32 %r1, %r10, "
      "131072, %r1;\n"
      "add.u32 %r1, %r1, %r7; add.u32 %r1, %r1, %r12; add.u32 %r1, %r1, %r11;\n");
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], 15u + 496 * 16 + 65536 + 31 + 16 + (lane == 0 ? 1 : 0)) << lane;
  }
}

TEST(PtxExecution, AtomicsAddUpOverWarpsAndBlocks) {
  for (const char* schedule : {"rr", "5", "6"}) {
    std::vector<std::uint32_t> out(4, 0);
    const sim::Report report = run_ptx(
        ptx_module(
            "ld.param.u64 %rd1, [out]; atom.global.add.u32 %r1, [%rd1], 2; red.global.max.u32 [%rd1+4], %r1;\n"
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

TEST(PtxExecution, ThreadsThatHaveExitedAreNotWaitedFor) {
  // Lanes and whole warps leave before the barrier, in a CTA whose last warp is not full.
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    PtxRun run{.threads = 72, .schedule = sim::Schedule::parse(schedule)};
    std::vector<std::uint32_t> out(72, 0xdead);
    const sim::Report report = run_ptx(
        ptx_module(
            std::string(
                "mov.u32 %r2, %tid.x; mov.u32 %r3, %laneid; shr.u32 %r4, %r2, 5;\n"
                "setp.lt.u32 %p1, %r3, 4; @%p1 exit; setp.eq.u32 %p2, %r4, 1; @%p2 exit;\n"
                "vote.sync.ballot.b32 %r5, 1, -1; vote.sync.all.pred %p3, 1, -1;\n"
                "barrier.red.popc.u32 %r6, 0, 1; bar.sync 0; elect.sync %r7|%p4, -1;\n"
                "shfl.sync.idx.b32 %r8, %r3, 5, 31, -1; bar.warp.sync -1;\n"
                "shl.b32 %r6, %r6, 16; shl.b32 %r7, %r7, 8; or.b32 %r1, %r6, %r7; or.b32 %r1, %r1, %r8;\n"
                "popc.b32 %r5, %r5; shl.b32 %r5, %r5, 24; or.b32 %r1, %r1, %r5; selp.b32 %r1, %r1, 0, %p3;\n") +
            kStoreR1),
        out, {0}, run);
    EXPECT_TRUE(report.ok()) << report.text();
    for (std::uint32_t t = 0; t < 72; ++t) {
      const bool left = t % 32 < 4 || t / 32 == 1;
      const std::uint32_t lanes = t < 32 ? 28 : 4;
      EXPECT_EQ(out[t], left ? 0xdeadu : lanes << 24 | 32u << 16 | 4u << 8 | 5u) << schedule << " " << t;
    }
  }
}

TEST(PtxExecution, AsynchronousCopiesLandBeforeTheyWereWaitedFor) {
  std::vector<std::uint32_t> in(256);
  std::iota(in.begin(), in.end(), 1000u);
  for (const char* schedule : {"rr", "1", "2", "3", "4"}) {
    PtxRun run{.threads = 64, .shared_bytes = 2048, .schedule = sim::Schedule::parse(schedule)};
    // Each thread copies 16 bytes in a first group, and 8, of which it reads 4, in a second one.
    const std::vector<std::uint32_t> out = results(
        "ld.param.u64 %rd4, [in]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd5, %r2, 16; add.s64 %rd6, %rd4, %rd5;\n"
        "mov.u32 %r3, dyn; mad.lo.u32 %r4, %r2, 16, %r3; mad.lo.u32 %r5, %r2, 8, %r3; mov.u32 %r9, 4;\n"
        "cp.async.cg.shared.global [%r4], [%rd6], 16; cp.async.commit_group;\n"
        "cp.async.ca.shared.global.L2::128B [%r5+1024], [%rd6+4], 8, %r9; cp.async.commit_group;\n"
        "cp.async.wait_group 1; bar.sync 0; xor.b32 %r6, %r2, 63; mad.lo.u32 %r6, %r6, 16, %r3;\n"
        "ld.shared.u32 %r7, [%r6+8]; cp.async.wait_all; ld.shared.v2.u32 {%r8, %r10}, [%r5+1024];\n"
        "mad.lo.u32 %r1, %r7, 65536, %r8; add.u32 %r1, %r1, %r10;\n",
        ".extern .shared .align 16 .b8 dyn[];", run, in);
    for (std::uint32_t t = 0; t < 64; ++t) {
      EXPECT_EQ(out[t], (1000 + 4 * (63 - t) + 2) * 65536 + 1000 + 4 * t + 1) << schedule << " " << t;
    }
  }
}

TEST(PtxExecution, AsynchronousCopiesThatNobodyWaitsForAreNotSeen) {
  std::vector<std::uint32_t> in(32, 7);
  const std::vector<std::uint32_t> out = results(
      "ld.param.u64 %rd4, [in]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd5, %r2, 4; add.s64 %rd6, %rd4, %rd5;\n"
      "mov.u32 %r3, dyn; mad.lo.u32 %r4, %r2, 4, %r3; st.shared.u32 [%r4], 5;\n"
      "cp.async.ca.shared.global [%r4], [%rd6], 4; cp.async.commit_group; cp.async.wait_group 1;\n"
      "ld.shared.u32 %r1, [%r4];\n",
      ".extern .shared .align 16 .b8 dyn[];", {.shared_bytes = 128, .check_races = false}, in);
  for (const std::uint32_t value : out) EXPECT_EQ(value, 5u);
}

TEST(PtxExecution, CopiesArriveOnABarrier) {
  for (const char* schedule : {"rr", "1", "2"}) {
    PtxRun run{.threads = 32, .shared_bytes = 256, .schedule = sim::Schedule::parse(schedule)};
    std::vector<std::uint32_t> in(32, 7);
    const std::vector<std::uint32_t> out = results(
        "ld.param.u64 %rd4, [in]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd5, %r2, 4; add.s64 %rd6, %rd4, %rd5;\n"
        "mov.u32 %r3, dyn; mad.lo.u32 %r4, %r2, 4, %r3; setp.eq.u32 %p1, %r2, 0;\n"
        "@%p1 mbarrier.init.shared.b64 [dyn+128], 32; bar.sync 0; cp.async.ca.shared.global [%r4], [%rd6], 4;\n"
        "cp.async.mbarrier.arrive.noinc.shared.b64 [dyn+128];\n"
        "W: mbarrier.try_wait.parity.shared.b64 %p2, [dyn+128], 0; @!%p2 bra W;\n"
        "xor.b32 %r5, %r2, 31; mad.lo.u32 %r5, %r5, 4, %r3; ld.shared.u32 %r1, [%r5];\n",
        ".extern .shared .align 16 .b8 dyn[];", run, in);
    for (const std::uint32_t value : out) EXPECT_EQ(value, 7u);
  }
}

// One mma.sync of small integers: A[m][k] = m + k, B[k][n] = k - n, C[m][n] = m, laid out as the manual says.
std::vector<std::uint32_t> multiply(const std::string& name, std::uint32_t depth, std::uint32_t element_bytes,
                                    std::uint32_t (*encode)(int)) {
  const std::uint32_t elements = 4 / element_bytes;
  const std::uint32_t b_registers = depth / (4 * elements);
  std::vector<std::uint32_t> in;
  for (std::uint32_t l = 0; l < 32; ++l) {
    const auto pack = [&](std::uint32_t first, auto&& value) {
      std::uint32_t word = 0;
      for (std::uint32_t e = 0; e < elements; ++e) word |= encode(value(first + e)) << 8 * element_bytes * e;
      in.push_back(word);
    };
    const std::uint32_t first = elements * (l % 4);
    for (std::uint32_t r = 0; r < 4; ++r) {
      const std::uint32_t row = l / 4 + 8 * (r % 2);
      pack(first + 4 * elements * (r / 2),
           [&](std::uint32_t k) { return r < 2 * b_registers ? static_cast<int>(row + k) : 0; });
    }
    for (std::uint32_t r = 0; r < 2; ++r) {
      pack(first + 4 * elements * r,
           [&](std::uint32_t k) { return static_cast<int>(k) - static_cast<int>(l / 4); });
    }
  }
  const bool is_half = name.ends_with(".f16");
  const std::string a = b_registers == 2 ? "{%r10, %r11, %r12, %r13}" : "{%r10, %r11}";
  const std::string b = b_registers == 2 ? "{%r14, %r15}" : "{%r14}";
  const std::string d = is_half ? "{%r20, %r21}" : "{%r20, %r21, %r22, %r23}";
  std::vector<std::uint32_t> out(128);
  const sim::Report report = run_ptx(
      ptx_module(
          "ld.param.u64 %rd4, [in]; ld.param.u64 %rd1, [out]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd5, %r2, 24;\n"
          "add.s64 %rd6, %rd4, %rd5; ld.global.v2.u32 {%r10, %r11}, [%rd6]; ld.global.v2.u32 {%r12, %r13}, "
          "[%rd6+8];\n"
          "ld.global.v2.u32 {%r14, %r15}, [%rd6+16]; mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 "
          "%r23, 0;\n" +
          name + " " + d + ", " + a + ", " + b + ", " + d +
          ";\nmul.wide.u32 %rd2, %r2, 16; add.s64 %rd3, %rd1, %rd2; st.global.v4.u32 [%rd3], {%r20, %r21, %r22, "
          "%r23}; ret;"),
      out, in);
  EXPECT_TRUE(report.ok()) << report.text();
  return out;
}

TEST(PtxExecution, WarpsMultiplyMatrices) {
  const auto as_f32 = [](int value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); };
  const auto as_bf16 = [](int value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16; };
  const auto as_s8 = [](int value) { return static_cast<std::uint32_t>(value) & 0xff; };
  const auto expect = [](const std::vector<std::uint32_t>& out, int depth, auto&& value_of) {
    for (int l = 0; l < 32; ++l) {
      for (int e = 0; e < 4; ++e) {
        const int m = l / 4 + 8 * (e / 2), n = 2 * (l % 4) + e % 2;
        int sum = 0;
        for (int k = 0; k < depth; ++k) sum += (m + k) * (k - n);
        EXPECT_EQ(out[static_cast<std::size_t>(4 * l + e)], value_of(sum)) << l << " " << e;
      }
    }
  };
  expect(multiply("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, 2, as_bf16), 16, as_f32);
  expect(multiply("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 8, 2, as_bf16), 8, as_f32);
  expect(multiply("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8, 4, as_f32), 8, as_f32);
  expect(multiply("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 4, 4, as_f32), 4, as_f32);
  expect(multiply("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 32, 1, as_s8), 32,
         [](int value) { return static_cast<std::uint32_t>(value); });
  expect(multiply("mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32", 16, 1, as_s8), 16,
         [](int value) { return static_cast<std::uint32_t>(value); });
}

TEST(PtxExecution, UsesOfLoadedTensorMemoryWaitForIt) {
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    PtxRun run{.schedule = sim::Schedule::parse(schedule), .arch = Arch::kSm100};
    const std::vector<std::uint32_t> out = results(
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; bar.sync 0; ld.shared.u32 %r2, "
        "[slot];\n"
        "mov.u32 %r3, %laneid; add.u32 %r4, %r3, 100; tcgen05.st.sync.aligned.32x32b.x2.b32 [%r2], {%r3, %r4};\n"
        "tcgen05.wait::st.sync.aligned; tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r5, %r6}, [%r2];\n"
        "mov.b32 %r7, %r6; mad.lo.u32 %r1, %r7, 1000, %r5;\n"  // without a wait, one of them through a copy
        "tcgen05.wait::ld.sync.aligned; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;\n",
        ".shared .align 4 .b32 slot;", run);
    for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], (100 + l) * 1000 + l) << schedule;
  }
}

TEST(PtxExecution, BarriersReduce) {
  const std::vector<std::uint32_t> out = results(
      "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 40; bar.red.popc.u32 %r3, 0, %p1; bar.red.and.pred %p2, 0, "
      "%p1;\n"
      "bar.red.or.pred %p3, 0, %p1; selp.u32 %r4, 1000, 0, %p2; selp.u32 %r5, 100, 0, %p3; add.u32 %r1, %r3, "
      "%r4;\n"
      "add.u32 %r1, %r1, %r5;\n",
      "", {.threads = 96});
  for (const std::uint32_t value : out) EXPECT_EQ(value, 140u);
}

TEST(PtxExecution, BlocksOfThreeDimensionsAndClustersKnowTheirPlace) {
  const sim::PtxModule module = sim::PtxModule::load(
      ptx_module("ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;\n"
                 "mad.lo.u32 %r4, %r3, 3, %r2; mad.lo.u32 %r4, %r4, 5, %r1; mov.u32 %r5, %cluster_ctarank;\n"
                 "mov.u32 %r6, %ctaid.x; mad.lo.u32 %r7, %r6, 30, %r4; mul.wide.u32 %rd2, %r7, 4; add.s64 %rd3, "
                 "%rd1, %rd2;\n"
                 "mad.lo.u32 %r8, %r5, 1000, %r4; st.global.u32 [%rd3], %r8; ret;"),
      "test.ptx");
  std::vector<std::uint32_t> out(120, 0xdead);
  sim::GlobalMemory memory;
  memory.add("out", out.data(), 4 * out.size());
  sim::PtxArguments arguments;
  arguments.add(out.data());
  arguments.add(nullptr);
  const sim::Report report = module.launch("k", {.memory = &memory},
                                           {.grid = {4, 1, 1},
                                            .block = {5, 3, 2},
                                            .cluster = {2, 1, 1},
                                            .dynamic_shared_bytes = 0,
                                            .registers = 0,
                                            .print = {}},
                                           arguments);
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t i = 0; i < 120; ++i) EXPECT_EQ(out[i], i / 30 % 2 * 1000 + i % 30) << i;
}

TEST(PtxExecution, TheScratchOfTheSystemBeginsWithZerosInEachBlock) {
  // More blocks than SMs: those that come later find what the ones before them left.
  const std::vector<std::uint32_t> out = results(
      "mov.u32 %r2, %reserved_smem_offset_1; atom.shared.add.u32 %r3, [%r2], 1; bar.sync 0;\n"
      "ld.shared.u32 %r1, [%r2]; ld.shared.u32 %r4, [%r2+284]; add.u32 %r1, %r1, %r4;\n",
      "", {.threads = 64, .grid = {40, 1, 1}});
  for (std::size_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], 64u) << t;
}

TEST(PtxExecution, ATextForTheFirstGenerationAddsProductsWithoutARounding) {
  std::string text = ptx_module(
      "mov.f32 %f1, 0f3F800800; mov.f32 %f2, 0fBF800000; mad.f32 %f3, %f1, %f1, %f2;\n"
      "mov.b32 %r1, %f3; " +
      std::string(kStoreR1));
  std::vector<std::uint32_t> out(32);
  EXPECT_THROW(run_ptx(text, out), InputError);
  text.replace(text.find("sm_90a"), 6, "sm_13");
  const sim::Report report = run_ptx(text, out);
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(out[0], 0x3A000400u);  // 2^-11 + 2^-24: the product was not rounded
}

TEST(PtxExecution, KernelsPrint) {
  std::vector<std::uint32_t> out(1);
  std::string printed;
  const sim::Report report = run_ptx(
      ptx_module(
          ".local .align 8 .b8 depot[24]; mov.u64 %rd4, depot; cvta.local.u64 %rd5, %rd4; mov.u32 %r1, %tid.x;\n"
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

// What a kernel of one thread prints by this format of an integer.
sim::Report print_number(const std::string& format, std::string& printed) {
  std::string bytes;
  for (const char c : format) bytes += std::to_string(static_cast<int>(c)) + ",";
  std::vector<std::uint32_t> out(1);
  return run_ptx(
      ptx_module(
          ".local .align 8 .b8 depot[8]; mov.u64 %rd4, depot; cvta.local.u64 %rd5, %rd4;\n"
          "st.local.u32 [%rd4], 7; mov.u64 %rd7, text;\n"
          "{ .param .b64 p0; .param .b64 p1; .param .b32 q; st.param.b64 [p0], %rd7; st.param.b64 [p1], %rd5;\n"
          "call.uni (q), vprintf, (p0, p1); } ret;",
          ".extern .func (.param .b32 q) vprintf(.param .b64 f, .param .b64 a);\n"
          ".global .align 1 .b8 text[] = {" +
              bytes + "0};\n"),
      out, {0}, {.threads = 1}, &printed);
}

// A gigabyte of spaces from each thread is no text.
TEST(PtxExecution, PrintsNumbersOfAnyWidthUpToThatOfATextAtMost) {
  std::string printed;
  ASSERT_TRUE(print_number("%1000d|", printed).ok());
  EXPECT_EQ(printed, std::string(999, ' ') + "7|");
  for (const char* format : {"%999999999d", "%.65537d", "%99999999999999999999d"}) {
    const sim::Report report = print_number(format, printed);
    EXPECT_TRUE(report.has("unsupported")) << format << report.text();
  }
}

}  // namespace
}  // namespace heddle::test
