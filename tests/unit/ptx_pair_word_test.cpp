// SPDX-License-Identifier: Apache-2.0
//
// The word that tcgen05.alloc writes in a CTA of a pair, in a tile that the other CTA multiplies with nothing in
// between. Beside bytes that nobody has written it is one more that means nothing.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

const char* const kSchedules[] = {"rr", "1", "2", "3"};

// Zeros over the first 256 bytes of each row of A; the first word is written by the allocation.
const std::string kFill =
    "mov.u32 %r20, 0; mad.lo.u32 %r21, %r0, 128, %r1;\n"
    "FILL: add.u32 %r22, %r21, %r20; st.shared.u32 [%r22], 0; add.u32 %r20, %r20, 4; setp.lt.u32 %p5, %r20, "
    "128;\n"
    "@%p5 bra FILL;\nmov.u32 %r20, 32768; setp.lt.u32 %p6, %r0, 64;\n"
    "FILLB: add.u32 %r22, %r21, %r20; @%p6 st.shared.u32 [%r22], 0; add.u32 %r20, %r20, 4; setp.lt.u32 %p5, "
    "%r20, "
    "32896;\n@%p5 bra FILLB;\nfence.proxy.async.shared::cta;\n";
const std::string kLoad = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r25}, [%r9]; tcgen05.wait::ld.sync.aligned;\n";
const std::string kUse = "st.global.b32 [%rd3], %r25;\n";
const std::string kMeet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";

// 128 threads in each of two CTAs; M 256, N 128 of half-precision numbers by thread 0 of the first.
sim::Report run(const std::string& fill, const std::string& between, const std::string& after,
                const char* schedule) {
  const std::string text =
      "mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [out]; mov.u32 %r1, smem; mov.u32 %r2, %cluster_ctarank;\n"
      "shl.b32 %r3, %r2, 7; add.u32 %r3, %r3, %r0; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd0, %rd2;\n"
      "setp.lt.u32 %p2, %r0, 32; setp.eq.u32 %p3, %r3, 0; add.u32 %r7, %r1, 49152;\n"
      "setp.eq.u32 %p4, %r0, 0; @%p4 mbarrier.init.shared::cta.b64 [%r7], 1;\n"
      "@%p4 fence.mbarrier_init.release.cluster;\n" +
      fill + kMeet +
      "@%p2 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], 128;\n"
      "@%p2 tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;\n"
      "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync; ld.shared.b32 %r8, "
      "[%r1];\n"
      "bar.sync 0; and.b32 %r9, %r0, 96; shl.b32 %r9, %r9, 16; add.u32 %r9, %r9, %r8;\n" +
      between +
      "bfe.u32 %r10, %r1, 4, 14; cvt.u64.u32 %rd10, %r10; or.b64 %rd10, %rd10, 0x4000404000000000;\n"
      "add.u64 %rd11, %rd10, 2048; setp.ne.u32 %p7, %r1, %r1;\n"
      "@%p3 tcgen05.mma.cta_group::2.kind::f16 [%r8], %rd10, %rd11, 270598160, %p7;\n"
      "@%p3 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r7], 3;\n"
      "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r7], 0;\n@!%p1 bra WAIT;\n"
      "tcgen05.fence::after_thread_sync;\n" +
      after + "tcgen05.fence::before_thread_sync;\n" + kMeet +
      "@%p2 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r8, 128; ret;";
  std::vector<std::uint32_t> out(256);
  return run_ptx(ptx_module(text, ".shared .align 1024 .b8 smem[49168];\n"), out, {0},
                 {.threads = 128,
                  .grid = {2, 1, 1},
                  .cluster = {2, 1, 1},
                  .schedule = sim::Schedule::parse(schedule),
                  .arch = Arch::kSm100});
}

TEST(PtxPairWord, BesideWhatNobodyHasWrittenItIsJudgedWhereItIsUsed) {
  for (const char* schedule : kSchedules) {
    const sim::Report unused = run("", "", "", schedule);
    EXPECT_TRUE(unused.ok()) << unused.text();
    EXPECT_TRUE(run("", "", kLoad, schedule).ok());
    const sim::Report used = run("", "", kLoad + kUse, schedule);
    EXPECT_TRUE(used.has("uninitialised_read")) << used.text();
  }
}

TEST(PtxPairWord, InAWrittenTileItIsARace) {
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(kFill, "", "", schedule);
    EXPECT_TRUE(report.has("race")) << report.text();
    EXPECT_NE(report.text().find("a tcgen05.alloc and a tcgen05.mma touch"), std::string::npos) << report.text();
    const sim::Report met = run(kFill, kMeet, kLoad + kUse, schedule);
    EXPECT_TRUE(met.ok()) << met.text();
  }
}

}  // namespace
}  // namespace heddle::test
