// SPDX-License-Identifier: Apache-2.0
//
// tcgen05.cp as Triton writes it: its descriptors have a base offset where nothing is swizzled.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

// 32 rows of 16 bytes, 1000 + the word's number in each, copied to 4 columns; the first word of each row comes
// back.
sim::Report run(std::uint64_t descriptor_bits, std::vector<std::uint32_t>& out) {
  const std::string text =
      "mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [out]; mov.u32 %r1, smem; mul.wide.u32 %rd2, %r0, 4;\n"
      "add.u64 %rd3, %rd0, %rd2; setp.eq.u32 %p3, %r0, 0; add.u32 %r6, %r1, 1024; add.u32 %r7, %r1, 1040;\n"
      "mad.lo.u32 %r2, %r0, 4, %r1; add.u32 %r3, %r0, 1000; st.shared.b32 [%r2], %r3; add.u32 %r3, %r0, 1032;\n"
      "st.shared.b32 [%r2+128], %r3; add.u32 %r3, %r0, 1064; st.shared.b32 [%r2+256], %r3;\n"
      "add.u32 %r3, %r0, 1096; st.shared.b32 [%r2+384], %r3; fence.proxy.async.shared::cta;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 32;\n"
      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
      "@%p3 mbarrier.init.shared::cta.b64 [%r7], 1;\n@%p3 fence.mbarrier_init.release.cluster;\n"
      "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n"
      "ld.shared.b32 %r8, [%r6]; shr.u32 %r5, %r1, 4; and.b32 %r5, %r5, 0x3fff; cvt.u64.u32 %rd10, %r5;\n"
      "or.b64 %rd10, %rd10, " +
      std::to_string(descriptor_bits) +
      ";\n"
      "@%p3 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r8], %rd10;\n"
      "@%p3 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7];\n"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r7], 0;\n@!%p1 bra WAIT;\n"
      "tcgen05.fence::after_thread_sync; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r8];\n"
      "tcgen05.wait::ld.sync.aligned; st.global.b32 [%rd3], %r20; tcgen05.fence::before_thread_sync; bar.sync "
      "0;\n"
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32; ret;";
  return run_ptx(ptx_module(text, ".shared .align 1024 .b8 smem[2048];\n"), out, {0}, {.arch = Arch::kSm100});
}

// Version 1, 128 bytes from 8 rows to the next.
constexpr std::uint64_t kPlain = std::uint64_t{1} << 46 | std::uint64_t{8} << 32 | std::uint64_t{8} << 16;
constexpr std::uint64_t kBaseOffset4 = std::uint64_t{4} << 49;
constexpr std::uint64_t kSwizzle128 = std::uint64_t{2} << 61;

TEST(PtxTcgen05Cp, ABaseOffsetMeansNothingWithoutASwizzle) {
  for (const std::uint64_t bits : {kPlain, kPlain | kBaseOffset4}) {
    std::vector<std::uint32_t> out(32);
    const sim::Report report = run(bits, out);
    ASSERT_TRUE(report.ok()) << report.text();
    for (std::uint32_t row = 0; row < 32; ++row) EXPECT_EQ(out[row], 1000 + 4 * row);
  }
  std::vector<std::uint32_t> out(32);
  const sim::Report report = run(kPlain | kBaseOffset4 | kSwizzle128, out);
  EXPECT_TRUE(report.has("unsupported")) << report.text();
}

}  // namespace
}  // namespace heddle::test
