// SPDX-License-Identifier: Apache-2.0
//
// Rows of a stmatrix that go to one place: with one value they do no harm, as for any store of one instruction.
// And matrices of bytes.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

// Two warps; the rows of each start at %r2, 16 bytes each, repeated after `rows` of them. Every element is %r3.
sim::Report run(std::uint32_t rows, const std::string& value, const std::string& place) {
  std::vector<std::uint32_t> out(64);
  const std::string body = "mov.u32 %r0, %tid.x; mov.u32 %r1, smem; and.b32 %r4, %r0, " +
                           std::to_string(rows - 1) + "; mad.lo.u32 %r2, %r4, 16, %r1; " + place + value +
                           "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r3};\n"
                           "bar.sync 0; ld.shared.b32 %r5, [%r1]; ret;";
  return run_ptx(ptx_module(body, ".shared .align 128 .b8 smem[512];\n"), out, {0}, {.threads = 64});
}

const std::string kOwnPlace = "shr.u32 %r6, %r0, 5; mad.lo.u32 %r2, %r6, 256, %r2;\n";

TEST(PtxStmatrix, RowsAtOnePlaceWithOneValueDoNoHarm) {
  const sim::Report report = run(4, "mov.u32 %r3, 7;\n", kOwnPlace);
  EXPECT_TRUE(report.ok() && report.formal.empty()) << report.text();
}

TEST(PtxStmatrix, RowsAtOnePlaceWithTwoValuesRace) {
  EXPECT_TRUE(run(4, "mov.u32 %r3, %r0;\n", kOwnPlace).has("race"));
  const sim::Report report = run(8, "mov.u32 %r3, %r0;\n", kOwnPlace);
  EXPECT_TRUE(report.ok()) << report.text();
}

TEST(PtxStmatrix, WarpsThatStoreOneValueAreFormal) {
  const sim::Report report = run(8, "mov.u32 %r3, 7;\n", "");
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_FALSE(report.formal.empty());
  EXPECT_TRUE(run(8, "mov.u32 %r3, %r0;\n", "").has("race"));
}

// Byte i of row j of the memory that the rows lie in, 16 bytes each, is 16 * j + i.
TEST(PtxLdmatrix, BytesAreTransposed) {
  const std::string body =
      "mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [out]; mov.u32 %r1, smem; mad.lo.u32 %r2, %r0, 8, %r1;\n"
      "mul.lo.u32 %r3, %r0, 0x08080808; add.u32 %r3, %r3, 0x03020100; add.u32 %r4, %r3, 0x04040404;\n"
      "st.shared.v2.b32 [%r2], {%r3, %r4}; bar.sync 0; mad.lo.u32 %r2, %r0, 16, %r1;\n"
      "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r5, %r6}, [%r2];\n"
      "mul.wide.u32 %rd1, %r0, 8; add.u64 %rd0, %rd0, %rd1; st.global.v2.b32 [%rd0], {%r5, %r6}; ret;";
  std::vector<std::uint32_t> out(64);
  const sim::Report report =
      run_ptx(ptx_module(body, ".shared .align 128 .b8 smem[512];\n"), out, {0}, {.arch = Arch::kSm100});
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t at = 0; at < 256; ++at) {
    const std::uint32_t lane = at / 8, column = lane / 4 + 8 * (at / 4 % 2), row = 4 * (lane % 4) + at % 4;
    EXPECT_EQ(out[at / 4] >> 8 * (at % 4) & 255, 16 * row + column) << at;
  }
}

// Byte b of lane l is 4 * l + b.
TEST(PtxStmatrix, BytesAreTransposed) {
  const std::string body =
      "mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [out]; mov.u32 %r1, smem; mad.lo.u32 %r2, %r0, 16, %r1;\n"
      "mul.lo.u32 %r3, %r0, 0x04040404; add.u32 %r3, %r3, 0x03020100;\n"
      "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r2], {%r3}; bar.warp.sync 0xffffffff;\n"
      "mad.lo.u32 %r2, %r0, 4, %r1; ld.shared.b32 %r5, [%r2];\n"
      "mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1; st.global.b32 [%rd0], %r5; ret;";
  std::vector<std::uint32_t> out(32);
  const sim::Report report =
      run_ptx(ptx_module(body, ".shared .align 128 .b8 smem[512];\n"), out, {0}, {.arch = Arch::kSm100});
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t at = 0; at < 128; ++at) {
    const std::uint32_t row = at / 16, column = at % 16;
    const std::uint32_t lane = column % 8 * 4 + row / 2;
    EXPECT_EQ(out[at / 4] >> 8 * (at % 4) & 255, 4 * lane + 2 * (column / 8) + row % 2) << at;
  }
}

}  // namespace
}  // namespace heddle::test
