// SPDX-License-Identifier: Apache-2.0
//
// Copies in global memory, against threads and against one another: a copy counts from its issue until it is
// known to be complete, whenever it lands. Every mistake has a twin that is silent.
#include "../support/ptx_run.h"

#include <string>
#include <vector>

namespace heddle::test {
namespace {

const char* const kShared = ".extern .shared .align 128 .b8 dyn[];";

// 64 threads. %rd4: the thread's own word of the 256 bytes at %rd1 that copies move; %r2: its word of the tile;
// %p1: it is not thread 0. %rd5: the word of a thread of the other warp; %rd6: a flag. %p3: in the second CTA.
const std::string kStart =
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; shl.b32 %r4, %r1, 2; mov.u32 %r5, dyn; add.u32 %r2, %r5, "
    "%r4;\n"
    "mov.u32 %r20, %ctaid.x; setp.ne.u32 %p3, %r20, 0;\n"
    "cvt.u64.u32 %rd2, %r4; add.s64 %rd4, %rd1, %rd2; xor.b32 %r6, %r4, 128; cvt.u64.u32 %rd3, %r6;\n"
    "add.s64 %rd5, %rd1, %rd3; add.s64 %rd6, %rd1, 4096; setp.ne.u32 %p1, %r1, 0;\n"
    "@%p1 bra INITED; mbarrier.init.shared::cta.b64 [dyn+1024], 1; fence.mbarrier_init.release.cluster;\n"
    "INITED: st.shared.u32 [%r2], %r1; fence.proxy.async.shared::cta; bar.sync 0;\n";

const std::string kStore =
    "@!%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5], 256; @!%p1 cp.async.bulk.commit_group;\n";
const std::string kReduce =
    "@!%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r5], 256;\n"
    "@!%p1 cp.async.bulk.commit_group;\n";
const std::string kWait = "@!%p1 cp.async.bulk.wait_group 0;\n";
const std::string kWaitRead = "@!%p1 cp.async.bulk.wait_group.read 0;\n";
const std::string kBar = "bar.sync 0;\n";
const std::string kRead = "ld.global.u32 %r7, [%rd5];\n";
const std::string kWrite = "st.global.u32 [%rd4], 7;\n";
const std::string kFence = "fence.proxy.async.global;\n";
const std::string kLoad =
    "@!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %rd9, [dyn+1024], 256;\n"
    "@!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd1], 256, [dyn+1024];\n";
const std::string kLoadAside =
    "@!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %rd9, [dyn+1024], 256;\n"
    "@!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [dyn+512], [%rd1], 256, "
    "[dyn+1024];\n";
const std::string kLoaded =
    "SPIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [dyn+1024], 0; @!%p2 bra SPIN;\n";

// What every schedule gives, or "mixed".
std::string code_of(const std::string& body, std::uint32_t blocks = 1, std::string* text = nullptr) {
  std::string found;
  for (const char* schedule : {"rr", "1", "2", "3", "4", "5", "6", "7"}) {
    std::vector<std::uint32_t> out(2048, 0);
    const sim::Report report =
        run_ptx(ptx_module(kStart + body + "ret;", kShared), out, std::vector<std::uint32_t>(256),
                {.threads = 64,
                 .grid = {blocks, 1, 1},
                 .shared_bytes = 2048,
                 .schedule = sim::Schedule::parse(schedule)});
    std::string code = "silent";
    if (!report.ok()) {
      code = std::string(sim::name_of(report.diagnoses.front().code));
      if (text != nullptr && found.empty()) *text = report.text();
    } else if (!report.formal.empty()) {
      code = "formal " + std::string(sim::name_of(report.formal.front().code));
    }
    if (!found.empty() && found != code) return "mixed: " + found + ", " + code;
    found = code;
  }
  return found;
}

TEST(CopyInGlobal, AStoreIsVisibleAfterItsThreadHasWaitedForIt) {
  EXPECT_EQ(code_of(kStore + kWait + kBar + kRead), "silent");
  EXPECT_EQ(code_of(kStore + kBar + kRead + kWait), "global_race");
  EXPECT_EQ(code_of(kStore + kWaitRead + kBar + kRead + kWait), "global_race");
  EXPECT_EQ(code_of(kStore + kBar + kWait + kRead), "global_race");
  // A wait that lets one group pend does not cover it.
  EXPECT_EQ(code_of(kStore + "@!%p1 cp.async.bulk.wait_group 1;\n" + kBar + kRead + kWait), "global_race");
}

TEST(CopyInGlobal, AThreadThatOverwritesWaitsForTheStore) {
  EXPECT_EQ(code_of(kStore + kWait + kBar + kWrite), "silent");
  EXPECT_EQ(code_of(kStore + kWaitRead + kBar + kWrite + kWait), "global_race");
}

TEST(CopyInGlobal, TwoStoresToTheSameBytesAreOrderedByAWait) {
  EXPECT_EQ(code_of(kStore + kWait + kStore + kWait), "silent");
  EXPECT_EQ(code_of(kStore + kStore + kWait), "global_race");
  EXPECT_EQ(code_of(kStore + kWait, 2), "global_race");
}

TEST(CopyInGlobal, ReductionsNeedNoOrderAmongThemselves) {
  EXPECT_EQ(code_of(kReduce + kReduce + kWait, 3), "silent");
  EXPECT_EQ(code_of(kReduce + kWait + kBar + kRead), "silent");
  EXPECT_EQ(code_of(kReduce + kBar + kRead + kWait), "global_race");
  EXPECT_EQ(code_of(kReduce + kStore + kWait), "global_race");
  // Nor with strong accesses of the scope of the GPU.
  EXPECT_EQ(code_of(kReduce + "red.relaxed.gpu.global.add.u32 [%rd4], 1;\n" + kWait, 2), "silent");
  EXPECT_EQ(code_of(kReduce + "red.relaxed.cta.global.add.u32 [%rd4], 1;\n" + kWait), "global_race");
}

TEST(CopyInGlobal, ALoadReadsUntilItsBarrierIsWaitedFor) {
  EXPECT_EQ(code_of(kLoad + kLoaded + kWrite), "silent");
  EXPECT_EQ(code_of(kLoad + kWrite + kLoaded), "global_race");
  EXPECT_EQ(code_of(kLoad + kLoaded + kStore + kWait), "silent");
  // A copy back, while the load into another place may still read.
  EXPECT_EQ(code_of(kLoadAside + kLoaded + kStore + kWait), "silent");
  EXPECT_EQ(code_of(kLoadAside + kStore + kWait + kLoaded), "global_race");
}

TEST(CopyInGlobal, WhatThreadsWriteNeedsAProxyFenceBeforeALoad) {
  EXPECT_EQ(code_of(kWrite + kFence + kBar + kLoad + kLoaded), "silent");
  EXPECT_EQ(code_of(kWrite + "fence.proxy.async;\n" + kBar + kLoad + kLoaded), "silent");
  EXPECT_EQ(code_of(kWrite + kBar + kFence + kLoad + kLoaded), "silent");
  std::string text;
  EXPECT_EQ(code_of(kWrite + kBar + kLoad + kLoaded, 1, &text), "missing_proxy_fence");
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "[missing_proxy_fence] a bulk load reads out + 0 (of 8192 bytes) after an st.global, without "
            "fence.proxy.async between the two");
  EXPECT_EQ(code_of(kWrite + "fence.proxy.async.shared::cta;\n" + kBar + kLoad + kLoaded), "missing_proxy_fence");
  EXPECT_EQ(code_of(kFence + kWrite + kBar + kLoad + kLoaded), "missing_proxy_fence");
  EXPECT_EQ(code_of(kWrite + kFence + kLoad + kLoaded), "global_race");
}

TEST(CopyInGlobal, WhatThreadsHaveTouchedNeedsAProxyFenceBeforeAStore) {
  EXPECT_EQ(code_of(kWrite + kFence + kBar + kStore + kWait), "silent");
  EXPECT_EQ(code_of(kWrite + kBar + kStore + kWait), "missing_proxy_fence");
  EXPECT_EQ(code_of(kRead + kFence + kBar + kStore + kWait), "silent");
  EXPECT_EQ(code_of(kRead + kBar + kStore + kWait), "formal missing_proxy_fence");
  EXPECT_EQ(code_of(kRead + kFence + kStore + kWait), "global_race");
}

// The first CTA stores a tile and raises a flag; the second waits for it and loads the tile.
std::string handed_over(const std::string& before_flag, const std::string& after_flag, const std::string& take) {
  return "@%p3 bra TAKE;\n" + kStore + before_flag + "@!%p1 st.release.gpu.global.u32 [%rd6], 1;\n" + kWait +
         "bra DONE;\nTAKE: @%p1 bra MET;\nPOLL: ld.acquire.gpu.global.u32 %r8, [%rd6]; setp.eq.u32 %p4, %r8, 0;\n"
         "@%p4 bra POLL;\n" +
         after_flag + "MET: bar.sync 0;\n" + take + "DONE:\n";
}

TEST(CopyInGlobal, AStoreReachesAnotherCtaThroughAFlagAfterAFullWait) {
  EXPECT_EQ(code_of(handed_over(kWait, "", kRead), 2), "silent");
  EXPECT_EQ(code_of(handed_over(kWait, "", kLoad + kLoaded), 2), "silent");
  EXPECT_EQ(code_of(handed_over(kWaitRead, "", kRead), 2), "global_race");
  EXPECT_EQ(code_of(handed_over(kWaitRead, "", kLoad + kLoaded), 2), "global_race");
  EXPECT_EQ(code_of(handed_over("", "fence.proxy.async;\n", kRead), 2), "global_race");
  EXPECT_EQ(code_of(kStore + kWait + kBar + kLoad + kLoaded, 2), "global_race");
}

TEST(CopyInGlobal, ALoadThatIsNotCoherentDoesNotSeeAStore) {
  EXPECT_EQ(code_of(kStore + kWait + kBar + "ld.global.nc.u32 %r7, [%rd5];\n"), "global_race");
  EXPECT_EQ(code_of(kStore + kWait + kBar + "ld.global.nc.u32 %r7, [%rd6];\n"), "silent");
}

// CUTLASS's epilogues let all lanes of a warp issue one store.
TEST(CopyInGlobal, LanesOfOneInstructionMayStoreTheSameBytes) {
  const std::string first_warp = "setp.lt.u32 %p4, %r1, 32;\n";
  const std::string end = "@%p4 cp.async.bulk.commit_group;\n@%p4 cp.async.bulk.wait_group 0;\n";
  const auto store = [](const char* source) {
    return "@%p4 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [" + std::string(source) + "], 64;\n";
  };
  EXPECT_EQ(code_of(first_warp + store("%r5") + end), "silent");
  // Other bytes from every second lane.
  EXPECT_EQ(
      code_of(first_warp + "and.b32 %r10, %r1, 1; mad.lo.u32 %r11, %r10, 128, %r5;\n" + store("%r11") + end),
      "global_race");
  // Both warps.
  EXPECT_EQ(code_of("setp.lt.u32 %p4, %r1, 64;\n" + store("%r5") + end), "global_race");
}

}  // namespace
}  // namespace heddle::test
