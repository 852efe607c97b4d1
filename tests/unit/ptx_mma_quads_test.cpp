// SPDX-License-Identifier: Apache-2.0
//
// Multiplications of a warp that Hopper's assembler makes of others: m8n8k4 of f16, and fp8.
#include "../support/ptx_run.h"

#include <heddle/tile/element.h>

#include <bit>
#include <string>
#include <vector>

namespace heddle::test {
namespace {

// Row r of A has r + 1 + 8 * pair at k = 0 and 1 at k = 3, column c of B c + 1 at k = 0 and 0.5 at k = 3. %f1 and
// %f2 are A's, %f3 and %f4 B's; %r10 to %r17 are C and D. Each lane stores eight words.
std::string quads(const std::string& layouts, const std::string& types, const std::string& d) {
  const std::string registers =
      d == "f32" ? "{%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}" : "{%r10, %r11, %r12, %r13}";
  // Rows of A by lanes, or k; columns of B by lanes, or k.
  const bool a_rows = layouts.starts_with("row"), b_rows = layouts.ends_with("row");
  std::string text =
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3; shr.u32 %r3, %r1, 4; shl.b32 %r3, "
      "%r3, 2;\n"
      "shr.u32 %r4, %r1, 2; and.b32 %r4, %r4, 3; shl.b32 %r4, %r4, 3;\n"  // 8 * pair
      "mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0; mov.b32 %r8, 0;\n";
  // h: the register of element e in a pair of registers, as a half at its place.
  const auto put = [&](const std::string& pair_low, const std::string& pair_high, int element,
                       const std::string& value) {
    const std::string& word = element < 2 ? pair_low : pair_high;
    return "cvt.rn.f32.u32 %f1, " + value +
           "; cvt.rn.f16.f32 %h1, %f1; cvt.u32.u16 %r20, %h1; shl.b32 %r20, %r20, " +
           std::to_string(16 * (element % 2)) + "; or.b32 " + word + ", " + word + ", %r20;\n";
  };
  const auto only_at = [](const std::string& lane_k, int k, const std::string& add) {
    return "setp.eq.u32 %p1, " + lane_k + ", " + std::to_string(k) + "; selp.b32 %r21, " + add + ", 0, %p1;\n";
  };
  if (a_rows) {
    text += "add.u32 %r21, %r2, %r3; add.u32 %r21, %r21, %r4; add.u32 %r21, %r21, 1;\n" +
            put("%r5", "%r6", 0, "%r21") + "mov.b32 %r21, 1;\n" + put("%r5", "%r6", 3, "%r21");
  } else {
    for (int e = 0; e < 4; ++e) {
      text += "add.u32 %r22, %r3, " + std::to_string(e + 1) + "; add.u32 %r22, %r22, %r4;\n" +
              only_at("%r2", 0, "%r22") +
              "@!%p1 setp.eq.u32 %p2, %r2, 3; @%p1 setp.ne.u32 %p2, 0, 0; @%p2 mov.b32 %r21, 1;\n" +
              put("%r5", "%r6", e, "%r21");
    }
  }
  if (b_rows) {
    for (int e = 0; e < 4; ++e) {
      text += "add.u32 %r22, %r3, " + std::to_string(e + 1) + ";\n" + only_at("%r2", 0, "%r22") +
              "@!%p1 setp.eq.u32 %p2, %r2, 3; @%p1 setp.ne.u32 %p2, 0, 0; @%p2 mov.b32 %r21, 2;\n" +
              put("%r7", "%r8", e, "%r21");
    }
  } else {
    text += "add.u32 %r21, %r2, %r3; add.u32 %r21, %r21, 1;\n" + put("%r7", "%r8", 0, "%r21") +
            "mov.b32 %r21, 2;\n" + put("%r7", "%r8", 3, "%r21");
  }
  for (int r = 10; r < 18; ++r) text += "mov.b32 %r" + std::to_string(r) + ", 0;\n";
  return ptx_module(text + "mma.sync.aligned.m8n8k4." + layouts + "." + types + " " + registers +
                    ", {%r5, %r6}, {%r7, %r8}, " + registers +
                    ";\nmul.wide.u32 %rd2, %r1, 32; add.u64 %rd1, %rd1, %rd2;\n"
                    "st.global.v4.b32 [%rd1], {%r10, %r11, %r12, %r13}; st.global.v4.b32 [%rd1+16], {%r14, %r15, "
                    "%r16, %r17}; ret;");
}

float expected(std::uint32_t pair, std::uint32_t row, std::uint32_t column) {
  return static_cast<float>((row + 1 + 8 * pair) * (column + 1) + 2);
}

TEST(PtxMmaQuads, EachPairOfQuadsMultipliesItsOwn) {
  for (const std::string layouts : {"row.row", "row.col", "col.row", "col.col"}) {
    for (const bool is_float : {false, true}) {
      std::vector<std::uint32_t> out(32 * 8);
      const sim::Report report = run_ptx(
          quads(layouts, is_float ? "f32.f16.f16.f32" : "f16.f16.f16.f16", is_float ? "f32" : "f16"), out);
      ASSERT_TRUE(report.ok()) << report.text();
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        const std::uint32_t pair = lane / 4 % 4, upper = lane / 16 * 4;
        for (std::uint32_t e = 0; e < 8; ++e) {
          const std::uint32_t word = out[8 * lane + (is_float ? e : e / 2)];
          const float got = is_float ? std::bit_cast<float>(word)
                                     : fp16{static_cast<std::uint16_t>(word >> 16 * (e % 2))}.to_float();
          const std::uint32_t row = is_float ? (lane & 1) + (e & 2) + upper : lane % 4 + upper;
          const std::uint32_t column = is_float ? (e & 4) + (lane & 2) + (e & 1) : e;
          EXPECT_EQ(got, expected(pair, row, column)) << layouts << " lane " << lane << " element " << e;
        }
      }
    }
  }
}

TEST(PtxMmaQuads, UndefinedSourcesGoOnByRowsAndColumns) {
  // A's of lane 5 come from shared memory that nobody has written: row 1 of the second pair.
  std::string text = quads("row.col", "f16.f16.f16.f16", "f16");
  const std::size_t at = text.find("mma.sync");
  text.insert(at, "mov.u32 %r30, hole; setp.eq.u32 %p3, %r1, 5; @%p3 ld.shared.b32 %r5, [%r30];\n");
  text.insert(text.find(".visible"), ".shared .align 4 .b32 hole;\n");
  std::vector<std::uint32_t> out(32 * 8);
  EXPECT_TRUE(run_ptx(text, out).has("uninitialised_read"));
  // Only lane 5 has that row.
  text.insert(text.find("st.global"),
              "@%p3 mov.b32 %r10, 0; @%p3 mov.b32 %r11, 0; @%p3 mov.b32 %r12, 0; @%p3 mov.b32 %r13, 0;\n");
  const sim::Report report = run_ptx(text, out);
  EXPECT_TRUE(report.ok()) << report.text();
}

TEST(PtxMmaQuads, SumsOfFp8AreOfF16OrF32AndTakeCLast) {
  // Ones everywhere: k and C. Then 2048 in C, to which f16 adds no 1, but 32.
  const auto sum = [](const std::string& shape, const std::string& types, const std::string& a,
                      const std::string& b, const std::string& c, const std::string& d) {
    std::vector<std::uint32_t> out(1);
    const sim::Report report = run_ptx(
        ptx_module("ld.param.u64 %rd1, [out]; mov.b32 %r1, 0x38383838; mov.b32 %r2, " + c +
                   "; mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, %r2;\n" + "mma.sync.aligned." + shape +
                   ".row.col." + types + " " + d + ", " + a + ", " + b + ", " + d +
                   ";\nmov.u32 %r9, %tid.x; setp.eq.u32 %p1, %r9, 9; @%p1 st.global.b32 [%rd1], %r2; ret;"),
        out);
    EXPECT_TRUE(report.ok()) << report.text();
    return out[0];
  };
  const std::string four = "{%r1, %r1, %r1, %r1}", two = "{%r1, %r1}", one = "{%r1}";
  EXPECT_EQ(sum("m16n8k32", "f16.e4m3.e4m3.f16", four, two, "0x3c003c00", "{%r2, %r5}"), 0x50205020u);  // 33
  EXPECT_EQ(sum("m16n8k16", "f16.e4m3.e4m3.f16", two, one, "0x3c003c00", "{%r2, %r5}"), 0x4c404c40u);   // 17
  EXPECT_EQ(sum("m16n8k32", "f16.e4m3.e4m3.f16", four, two, "0x68006800", "{%r2, %r5}"), 0x68106810u);  // 2080
  EXPECT_EQ(sum("m16n8k16", "f32.e4m3.e5m2.f32", two, one, "0x3f800000", "{%r2, %r3, %r4, %r5}"),
            std::bit_cast<std::uint32_t>(9.0f));  // 0x38 is 0.5 of e5m2
}

}  // namespace
}  // namespace heddle::test
