// SPDX-License-Identifier: Apache-2.0
//
// What a wgmma makes of shared memory that nobody has written: the elements of the rows of A and of the columns
// of B that it reached mean nothing, and no others.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

// 64 rows of A and 8 columns of B, 16 bytes of K in each of two halves. Threads clear A, 16 bytes each, where %p1
// says so, and the first 16 of them B, where %p2 does. Those of %p3 store their first element, of row %tid / 4 %
// 8 of their warp's and column 2 * (%tid % 4).
sim::Report run(const std::string& a, const std::string& b, const std::string& stores) {
  std::vector<std::uint32_t> out(128, 1);
  const std::string text = ptx_module(
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n"
      "mov.u32 %r2, dyn; mad.lo.u32 %r3, %r1, 16, %r2; mov.u32 %r4, 0;\n" +
          a + " @%p1 st.shared.v4.u32 [%r3], {%r4,%r4,%r4,%r4};\nsetp.gt.u32 %p4, %r1, 15; @%p4 bra DONE;\n" + b +
          " @%p2 st.shared.v4.u32 [%r3+2048], {%r4,%r4,%r4,%r4};\n"
          "DONE: fence.proxy.async.shared::cta; bar.sync 0;\n"
          "and.b32 %r5, %r2, 0x3ffff; shr.u32 %r5, %r5, 4; cvt.u64.u32 %rd4, %r5;\n"
          "or.b64 %rd5, %rd4, 0x1000080000; add.u64 %rd6, %rd5, 128;\n"
          "mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"
          "wgmma.fence.sync.aligned;\n"
          "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd5, %rd6, 1, 1, 1, 0, 0;\n"
          "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n" +
          stores + " @%p3 st.global.f32 [%rd1], %f1; ret;",
      ".extern .shared .align 128 .b8 dyn[];");
  return run_ptx(text, out, {0}, {.threads = 128, .shared_bytes = 4096});
}

const std::string kAll1 = "setp.eq.u32 %p1, %r4, 0;";
const std::string kAll2 = "setp.eq.u32 %p2, %r4, 0;";
const std::string kAll3 = "setp.eq.u32 %p3, %r4, 0;";

TEST(PtxUndefinedProducts, WhollyWrittenOperandsAreSilent) {
  EXPECT_TRUE(run(kAll1, kAll2, kAll3).ok()) << run(kAll1, kAll2, kAll3).text();
}

TEST(PtxUndefinedProducts, ColumnsOfBThatAreNotWritten) {
  const std::string half = "and.b32 %r6, %r1, 4; setp.eq.u32 %p2, %r6, 0;";  // columns 0 to 3
  const std::string lower = "and.b32 %r6, %r1, 2; setp.eq.u32 %p3, %r6, 0;";
  const std::string upper = "and.b32 %r6, %r1, 2; setp.ne.u32 %p3, %r6, 0;";
  EXPECT_TRUE(run(kAll1, half, lower).ok()) << run(kAll1, half, lower).text();
  const sim::Report report = run(kAll1, half, upper);
  ASSERT_TRUE(report.has("uninitialised_read")) << report.text();
  EXPECT_NE(report.text().find("warp 0, lane 2"), std::string::npos) << report.text();
  EXPECT_TRUE(run(kAll1, half, kAll3).has("uninitialised_read"));
}

TEST(PtxUndefinedProducts, RowsOfAThatAreNotWritten) {
  const std::string without_5 = "and.b32 %r6, %r1, 119; setp.ne.u32 %p1, %r6, 5;";  // threads 5 and 13
  const std::string but_5 = "shr.u32 %r6, %r1, 2; setp.ne.u32 %p3, %r6, 5;";
  const std::string only_5 = "shr.u32 %r6, %r1, 2; setp.eq.u32 %p3, %r6, 5;";
  EXPECT_TRUE(run(without_5, kAll2, but_5).ok()) << run(without_5, kAll2, but_5).text();
  const sim::Report report = run(without_5, kAll2, only_5);
  ASSERT_TRUE(report.has("uninitialised_read")) << report.text();
  EXPECT_NE(report.text().find("warp 0, lane 20"), std::string::npos) << report.text();
}

// 0 times what nobody knows may be a NaN.
TEST(PtxUndefinedProducts, BytesAlongKReachAllOfTheRow) {
  const std::string first_half = "setp.lt.u32 %p2, %r1, 8;";
  EXPECT_TRUE(run(kAll1, first_half, kAll3).has("uninitialised_read"));
}

}  // namespace
}  // namespace heddle::test
