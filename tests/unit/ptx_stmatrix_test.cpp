// SPDX-License-Identifier: Apache-2.0
//
// Rows of a stmatrix that go to one place: with one value they do no harm, as for any store of one instruction.
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

}  // namespace
}  // namespace heddle::test
