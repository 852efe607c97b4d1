// SPDX-License-Identifier: Apache-2.0
//
// Values that tensor cores and tcgen05.ld make of what nobody has written: harmless until somebody uses them. And
// operations that nobody has waited for, when what they touch goes away. Every fault has a twin that stays
// silent.
#include "../support/ptx_run.h"

#include <algorithm>

namespace heddle::test {
namespace {

const std::string kWaitForMma =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r7], 0;\n@!%p1 bra WAIT;\n"
    "tcgen05.fence::after_thread_sync;\n";
const std::string kFillTmem =
    "mov.u32 %r20, 5; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r9], {%r20}; tcgen05.wait::st.sync.aligned;\n"
    "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n";
const std::string kLoad = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r9];\n";
const std::string kLoadWait = "tcgen05.wait::ld.sync.aligned;\n";
const std::string kToGlobal = "st.global.b32 [%rd3], %r20;\n";
const std::string kToShared = "mad.lo.u32 %r21, %r0, 4, %r1; st.shared.b32 [%r21+5120], %r20;\n";

// Zeros over A (128 x 32 bytes) and B (16 x 32) behind it.
std::string fill(std::uint32_t bytes) {
  std::string text;
  for (std::uint32_t at = 0; at < bytes; at += 512) {
    text += "mad.lo.u32 %r2, %r0, 4, %r1; st.shared.b32 [%r2+" + std::to_string(at) + "], 0;\n";
  }
  return text + "fence.proxy.async.shared::cta; bar.sync 0;\n";
}
const std::string kFillAll = fill(128 * 32 + 512);

// M 128, N 16 of bytes, by thread 0, which commits to the barrier at %r7.
std::string mma(bool accumulates) {
  return "setp." + std::string(accumulates ? "eq" : "ne") +
         ".u32 %p4, %r1, %r1;\n"
         "@%p3 tcgen05.mma.cta_group::1.kind::i8 [%r8], %rd10, %rd11, 134481056, %p4;\n"
         "@%p3 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7];\n";
}

// 128 threads with 32 columns from %r8 on, the warp's own lanes at %r9; %rd3: the thread's word of `out`.
sim::Report run(const std::string& body, const char* schedule) {
  const std::string text =
      "mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [out]; mov.u32 %r1, smem; mul.wide.u32 %rd2, %r0, 4;\n"
      "add.u64 %rd3, %rd0, %rd2; shr.u32 %r5, %r1, 4; and.b32 %r5, %r5, 0x3fff; cvt.u64.u32 %rd10, %r5;\n"
      "or.b64 %rd10, %rd10, 0x401000080000; add.u64 %rd11, %rd10, 256;\n"
      "setp.lt.u32 %p2, %r0, 32; setp.eq.u32 %p3, %r0, 0; add.u32 %r6, %r1, 8000; add.u32 %r7, %r1, 8016;\n"
      "@%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 32;\n"
      "@%p2 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
      "@%p3 mbarrier.init.shared::cta.b64 [%r7], 1;\n@%p3 fence.mbarrier_init.release.cluster;\n"
      "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n"
      "ld.shared.b32 %r8, [%r6]; and.b32 %r9, %r0, 96; shl.b32 %r9, %r9, 16; add.u32 %r9, %r9, %r8;\n" +
      body +
      "tcgen05.fence::before_thread_sync; bar.sync 0;\n"
      "@%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32; ret;";
  std::vector<std::uint32_t> out(128);
  return run_ptx(ptx_module(text, ".shared .align 1024 .b8 smem[8192];\n"), out, {0},
                 {.threads = 128, .schedule = sim::Schedule::parse(schedule), .arch = Arch::kSm100});
}

void expect_silent(const std::string& body) {
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    const sim::Report report = run(body, schedule);
    EXPECT_TRUE(report.ok() && report.formal.empty()) << body << report.text();
  }
}

void expect(const char* code, const std::string& body, const std::vector<std::string>& words = {}) {
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    const sim::Report report = run(body, schedule);
    EXPECT_TRUE(report.has(code)) << body << report.text();
    for (const std::string& part : words) {
      EXPECT_NE(report.text().find(part), std::string::npos) << part << report.text();
    }
  }
}

// Which of the two came first, and so the code, is the schedule's choice; the pair is the same.
void expect_one_of(const std::vector<std::string>& codes, const std::string& body, const std::string& who) {
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    const sim::Report report = run(body, schedule);
    EXPECT_TRUE(
        std::any_of(codes.begin(), codes.end(), [&](const std::string& code) { return report.has(code); }))
        << body << report.text();
    EXPECT_NE(report.text().find(who), std::string::npos) << report.text();
  }
}

TEST(PtxTmemUndefined, LoadsOfUnwrittenCellsAreJudgedWhereTheyAreUsed) {
  expect_silent(kLoad + kLoadWait);
  expect_silent(kLoad + kLoadWait + kToShared);
  expect_silent(kFillTmem + kLoad + kLoadWait + kToGlobal);
  expect("uninitialised_read", kLoad + kLoadWait + kToGlobal,
         {"a tcgen05.ld reads lane ", ", column 0 of the tensor memory, which nobody has written",
          "the value is stored to global memory"});
  expect("uninitialised_read", kLoad + kLoadWait + "setp.eq.u32 %p5, %r20, 0;\n@%p5 bra L1;\nL1:\n",
         {"the value decides a branch"});
}

TEST(PtxTmemUndefined, AccumulatorsOfNothingAreJudgedWhereTheyAreUsed) {
  const std::string multiply = kFillAll + mma(true) + kWaitForMma;
  expect_silent(multiply);
  expect_silent(multiply + kLoad + kLoadWait);
  expect_silent(kFillAll + mma(false) + kWaitForMma + kLoad + kLoadWait + kToGlobal);
  expect("uninitialised_read", multiply + kLoad + kLoadWait + kToGlobal,
         {"a tcgen05.mma reads its accumulator from lane ", ", column 0 of the tensor memory", "tcgen05.ld",
          "the value is stored to global memory"});
}

TEST(PtxTmemUndefined, ProductsOfUnwrittenOperandsAreJudgedWhereTheyAreUsed) {
  const std::string multiply = fill(128 * 32) + mma(false) + kWaitForMma;
  expect_silent(multiply + kLoad + kLoadWait);
  expect("uninitialised_read", multiply + kLoad + kLoadWait + kToGlobal,
         {"a tcgen05.mma reads bytes 4096 to 4111 of the shared memory", "the value is stored to global memory"});
}

// PTX: tcgen05.ld: whoever has the value knows that the load is over.
TEST(PtxTmemUndefined, AValueThatWasUsedNeedsTheWaitForFormsSakeAlone) {
  expect_silent(kFillTmem + kLoad + kLoadWait + kToGlobal);
  for (const std::string& too_late : {std::string(), std::string(kLoadWait)}) {
    const sim::Report report = run(kFillTmem + kLoad + kToGlobal + too_late, "rr");
    EXPECT_TRUE(report.ok()) << report.text();
    ASSERT_EQ(report.formal.size(), 1u);
    EXPECT_EQ(report.formal[0].code, sim::FaultCode::kMissingTmemWait);
    EXPECT_NE(report.formal[0].text.find("is used before tcgen05.wait::ld"), std::string::npos)
        << report.formal[0].text;
  }
  expect("missing_tmem_wait", kFillTmem + kLoad);
  // The first of two is not in use.
  expect("missing_tmem_wait",
         kFillTmem + "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r21}, [%r9];\n" + kLoad + kToGlobal);
}

// A multiplication that nobody waits for may come last; the report is about what it reads or writes.
TEST(PtxTmemUndefined, WhatNobodyWaitsForIsComparedBeforeTheEnd) {
  const std::string overwrite = "mad.lo.u32 %r2, %r0, 4, %r1; st.shared.b32 [%r2], 7;\n";
  expect_silent(kFillAll + mma(false) + kWaitForMma + overwrite);
  expect_one_of({"write_while_read", "race"}, kFillAll + mma(false) + overwrite, "tcgen05.mma");
  expect_silent(kFillAll + mma(false) + kWaitForMma + kLoad + kLoadWait + kToGlobal);
  expect_one_of({"read_before_full", "missing_tmem_wait"}, kFillAll + mma(false) + kLoad + kLoadWait + kToGlobal,
                "tcgen05.ld");
}

// The commit comes on its own; whoever has waited for its phase may take the barrier away.
TEST(PtxTmemUndefined, ABarrierIsTakenAwayBehindTheCommit) {
  const std::string inval = "setp.eq.u32 %p6, %r0, 64;\n@%p6 mbarrier.inval.shared::cta.b64 [%r7];\n";
  // Thread 0 has long gone on when the commit arrives; thread 64 has waited.
  expect_silent(kFillAll + mma(false) + kWaitForMma + "bar.sync 0;\n" + inval);
  const std::string waits_alone = "@!%p6 bra DONE;\n" + kWaitForMma + "DONE:\n";
  expect_silent(kFillAll + mma(false) + "setp.eq.u32 %p6, %r0, 64;\n" + waits_alone + "bar.sync 0;\n" + inval);
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    EXPECT_FALSE(run(kFillAll + mma(false) + "bar.sync 0;\n" + inval, schedule).ok());
  }
}

}  // namespace
}  // namespace heddle::test
