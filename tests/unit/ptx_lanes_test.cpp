// SPDX-License-Identifier: Apache-2.0
//
// Lanes of one instruction that touch the same 16 bytes of global memory are judged together: what is wrong with
// one of them alone must not be lost among the others, and what is right for each must stay right.
#include "../support/ptx_run.h"

#include <string>
#include <vector>

namespace heddle::test {
namespace {

// Lane l stores to and loads from words that `body` computes into %r5 (store) and %r6 (load), of 4 bytes each.
sim::Report run(const std::string& body, const std::string& between, std::uint32_t blocks = 1) {
  std::vector<std::uint32_t> out(256, 0);
  return run_ptx(ptx_module("ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n" + body +
                            "mul.wide.u32 %rd2, %r5, 4; add.u64 %rd2, %rd1, %rd2;\n"
                            "mul.wide.u32 %rd3, %r6, 4; add.u64 %rd3, %rd1, %rd3;\n"
                            "st.global.u32 [%rd2], %r1;\n" +
                            between + "\nld.global.u32 %r7, [%rd3];\nld.global.u32 %r7, [%rd3];\nret;"),
                 out, {0}, {.grid = {blocks, 1, 1}});
}

const std::string kOwn = "mov.u32 %r5, %r1; mov.u32 %r6, %r1;\n";
// Lane 6 reads the word of lane 5, all others read their own.
const std::string kOneReadsItsNeighbours =
    "mov.u32 %r5, %r1; setp.eq.u32 %p1, %r1, 6; selp.u32 %r6, 5, %r1, %p1;\n";
const std::string kAllReadLaneZeros = "mov.u32 %r5, %r1; mov.u32 %r6, 0;\n";
// Lane 6 stores to the word of lane 5, too, and something else.
const std::string kTwoStoreToOne = "setp.eq.u32 %p1, %r1, 6; selp.u32 %r5, 5, %r1, %p1; add.u32 %r6, %r1, 128;\n";

TEST(PtxLanes, EachMayReadItsOwn) {
  EXPECT_TRUE(run(kOwn, "").ok());
  EXPECT_TRUE(run(kOwn, "st.global.u32 [%rd2], 1;").ok());
}

TEST(PtxLanes, OneOfThemReadsItsNeighboursWord) {
  EXPECT_TRUE(run(kOneReadsItsNeighbours, "bar.warp.sync -1;").ok());
  const sim::Report report = run(kOneReadsItsNeighbours, "");
  ASSERT_TRUE(report.has("global_race")) << report.text();
  EXPECT_NE(report.text().find("lane 5: st.global"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("lane 6: ld.global"), std::string::npos) << report.text();
}

TEST(PtxLanes, AllReadWhatOneHasWritten) {
  EXPECT_TRUE(run(kAllReadLaneZeros, "bar.warp.sync -1;").ok());
  EXPECT_TRUE(run(kAllReadLaneZeros, "").has("global_race"));
}

TEST(PtxLanes, TwoStoreToOneWord) {
  EXPECT_TRUE(run("mov.u32 %r5, %r1; add.u32 %r6, %r1, 128;\n", "").ok());
  EXPECT_TRUE(run(kTwoStoreToOne, "").has("global_race"));
}

TEST(PtxLanes, BlocksThatStoreToNeighbouringWords) {
  const auto at = [](const std::string& stride) {
    return "mul.lo.u32 %r5, %r2, " + stride + "; add.u32 %r5, %r5, %r1; mov.u32 %r6, %r5;\n";
  };
  EXPECT_TRUE(run(at("32"), "", 3).ok());
  EXPECT_TRUE(run(at("31"), "", 3).has("global_race"));
}

// Who reads the words again in a later turn stands for the reads before, and goes by what it reads.
TEST(PtxLanes, AReaderOfALaterTurnIsNotForgotten) {
  const auto run_turns = [](const std::string& before_write) {
    std::vector<std::uint32_t> out(64, 0);
    return run_ptx(ptx_module("ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31;\n"
                              "mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd1, %rd2; setp.ge.u32 %p1, %r1, 32;\n"
                              "ld.global.u32 %r3, [%rd2];\nbar.sync 0;\n@%p1 bra SECOND;\n"
                              "ld.global.u32 %r3, [%rd2];\nst.global.u32 [%rd2+128], %r3;\n" +
                              before_write + "\nbra END;\nSECOND:\n" + before_write +
                              "\nst.global.u32 [%rd2], %r1;\nEND: ret;"),
                   out, {0}, {.threads = 64});
  };
  EXPECT_TRUE(run_turns("bar.sync 0;").ok());
  EXPECT_TRUE(run_turns("").has("global_race"));
}

}  // namespace
}  // namespace heddle::test
