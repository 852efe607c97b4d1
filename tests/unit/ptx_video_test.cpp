// SPDX-License-Identifier: Apache-2.0
#include "../support/ptx_run.h"

#include <heddle/host/error.h>

namespace heddle::test {
namespace {

struct Expected {
  const char* text;
  std::array<std::uint64_t, 4> operands;
  std::uint64_t result;
};

void check(const std::vector<Expected>& all) {
  for (const Expected& one : all) {
    EXPECT_EQ(apply_one(one.text, 32, {32, 32, 32}, one.operands), one.result)
        << one.text << std::hex << " of " << one.operands[0] << " " << one.operands[1] << " " << one.operands[2];
  }
}

TEST(PtxVideo, ScalarsTakePartsOfTheirSources) {
  check({
      {"vadd.s32.s32.s32 d, a.b1, b.h1;", {0x0000ff00, 0x00050000, 0, 0}, 4},
      {"vadd.s32.u32.s32 d, a.b1, b.h1;", {0x0000ff00, 0x00050000, 0, 0}, 260},
      {"vsub.s32.u32.u32 d, a.b3, b.b0;", {0x01000000, 2, 0, 0}, 0xffffffff},
      {"vabsdiff.u32.s32.s32 d, a, b;", {0xfffffffb, 3, 0, 0}, 8},
      {"vmin.s32.s32.u32 d, a, b.h0;", {0xffffffff, 7, 0, 0}, 0xffffffff},
      {"vset.s32.s32.lt d, a.b0, b.b0;", {0xff, 0x7f, 0, 0}, 1},
      {"vset.u32.u32.lt d, a.b0, b.b0;", {0xff, 0x7f, 0, 0}, 0},
  });
}

TEST(PtxVideo, ScalarsSaturateToTheTypeOfWhatTheyWrite) {
  check({
      {"vadd.u32.u32.u32 d, a, b;", {0xffffffff, 2, 0, 0}, 1},
      {"vadd.s32.s32.s32.sat d, a, b;", {0x7fffffff, 2, 0, 0}, 0x7fffffff},
      {"vsub.u32.u32.u32.sat d, a, b;", {1, 2, 0, 0}, 0},
      {"vsub.s32.u32.u32.sat d, a, b;", {1, 0xffffffff, 0, 0}, 0x80000000},
      {"vmin.u32.s32.s32.sat d, a, b;", {0xffffffff, 3, 0, 0}, 0},
  });
}

TEST(PtxVideo, ScalarsGoOnWithTheThirdSource) {
  check({
      {"vabsdiff.u32.s32.s32.add d, a, b, c;", {0xfffffffb, 3, 10, 0}, 18},
      {"vset.s32.s32.lt.add d, a, b, c;", {0xffffffff, 0, 41, 0}, 42},
      {"vset.u32.u32.ge d.h0, a.b0, b.b3, c;", {5, 0x05000000, 0xabcd1234, 0}, 0xabcd0001},
      {"vadd.u32.u32.u32 d.b3, a, b, c;", {0x1ff, 2, 0x11223344, 0}, 0x01223344},
  });
}

TEST(PtxVideo, ShiftsClampOrWrapTheirCount) {
  check({
      {"vshl.u32.u32.u32.clamp d, a, b;", {1, 40, 0, 0}, 0},
      {"vshl.u32.u32.u32.wrap d, a, b;", {1, 33, 0, 0}, 2},
      {"vshr.s32.s32.u32.clamp d, a, b;", {0x80000000, 40, 0, 0}, 0xffffffff},
      {"vshr.u32.s32.u32.sat.clamp d, a, b;", {0x80000000, 4, 0, 0}, 0},
      {"vshr.u32.u32.u32.wrap.add d, a, b.b0, c;", {0x80000000, 0x21, 5, 0}, 0x40000005},
  });
}

TEST(PtxVideo, ProductsAreScaledAndSaturate) {
  check({
      {"vmad.u32.u32.u32 d, a.h0, b.h1, c;", {3, 0x00040000, 5, 0}, 17},
      {"vmad.u32.u32.u32.po d, a.h0, b.h1, c;", {3, 0x00040000, 5, 0}, 18},
      {"vmad.s32.s32.s32.shr7 d, a.h0, b.h0, c;", {0x100, 0x100, 0x80, 0}, 0x201},
      {"vmad.s32.s32.s32.sat.shr15 d, a.h0, b.h0, c;", {0x8000, 0x8000, 0x7fffffff, 0}, 0x17fff},
      {"vmad.s32.s32.s32.sat d, a.h0, b.h0, c;", {0x8000, 0x8000, 0x7fffffff, 0}, 0x7fffffff},
  });
}

TEST(PtxVideo, SimdTakesPartsOfBothSourcesUnderAMask) {
  check({
      {"vadd2.u32.u32.u32 d, a.h01, b.h33, c;", {0x00010002, 0x00050007, 0, 0}, 0x00070006},
      {"vadd2.u32.u32.u32 d.h0, a.h01, b.h33, c;", {0x00010002, 0x00050007, 0xaaaabbbb, 0}, 0xaaaa0006},
      {"vadd4.u32.u32.u32 d, a.b0000, b.b4567, c;", {0x10, 0x04030201, 0, 0}, 0x11121314},
      {"vadd4.u32.u32.u32.add d.b31, a.b0000, b.b4567, c;", {0x10, 0x04030201, 100, 0}, 136},
      {"vset4.u32.u32.eq d.b20, a, b, c;", {0x01020304, 0x01020304, 0xffffffff, 0}, 0xff01ff01},
  });
}

TEST(PtxVideo, PartsThatThereAreNotAreRefused) {
  for (const char* text :
       {"vadd.s32.s32.s32 d, a.b4, b;", "vadd.s32.s32.s32 d, a.h10, b;", "vadd2.s32.s32.s32 d, a.b10, b, c;",
        "vadd4.s32.s32.s32 d, a.b321, b, c;", "add.s32 d, a.h0, b;", "add.s32 d.h0, a, b;",
        "vadd.s32.s32.s32 d.h0, a, b;", "vadd.s32.s32.s32 d, a, b, c;"}) {
    EXPECT_THROW(apply_one(text, 32, {32, 32, 32}, {0, 0, 0, 0}), InputError) << text;
  }
}

// The assembler for Hopper makes other numbers of these than the manual.
TEST(PtxVideo, WhatCardsDoOtherwiseIsUnsupported) {
  for (const char* text : {"vadd.s32.s32.s32.min d, a, b, c;", "vadd.s32.s32.s32 d.h1, a, b, c;",
                           "vadd.s32.s32.s32.sat d.b0, a, b, c;", "vadd.u32.u32.u32.sat d, a, b;",
                           "vshl.u32.u32.u32.sat.wrap d, a, b;", "vmad.u32.u32.u32.shr7 d, a, b, c;"}) {
    const sim::PtxModule module = sim::PtxModule::load(scalar_kernel({text, 32, {32, 32, 32}}), "form.ptx");
    ASSERT_EQ(module.entries().size(), 1u);
    EXPECT_FALSE(module.entries()[0].unsupported.empty()) << text;
  }
}

}  // namespace
}  // namespace heddle::test
