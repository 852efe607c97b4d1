// SPDX-License-Identifier: Apache-2.0
#include "../support/ptx_run.h"

#include <bit>
#include <cfenv>
#include <cmath>

namespace heddle::test {
namespace {

std::uint64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

struct Expected {
  const char* text;
  std::uint32_t d_bits;
  std::vector<std::uint32_t> bits;
  std::array<std::uint64_t, 4> operands;
  std::uint64_t result;
};

void check(const std::vector<Expected>& all) {
  for (const Expected& one : all) {
    EXPECT_EQ(apply_one(one.text, one.d_bits, one.bits, one.operands), one.result)
        << one.text << std::hex << " of " << one.operands[0] << " " << one.operands[1] << " " << one.operands[2]
        << " " << one.operands[3];
  }
}

TEST(PtxScalar, IntegersWrapWidenAndSaturate) {
  check({
      {"add.s32 d, a, b;", 32, {32, 32}, {0x7fffffff, 1, 0, 0}, 0x80000000},
      {"add.sat.s32 d, a, b;", 32, {32, 32}, {0x7fffffff, 1, 0, 0}, 0x7fffffff},
      {"sub.u16 d, a, b;", 16, {16, 16}, {0, 1, 0, 0}, 0xffff},
      {"mul.lo.s32 d, a, b;", 32, {32, 32}, {0x10001, 0x10001, 0, 0}, 0x20001},
      {"mul.hi.s32 d, a, b;", 32, {32, 32}, {0xffffffff, 2, 0, 0}, 0xffffffff},
      {"mul.hi.u32 d, a, b;", 32, {32, 32}, {0xffffffff, 2, 0, 0}, 1},
      {"mul.hi.u64 d, a, b;", 64, {64, 64}, {~0ull, ~0ull, 0, 0}, ~0ull - 1},
      {"mul.hi.s64 d, a, b;", 64, {64, 64}, {~0ull, 5, 0, 0}, ~0ull},
      {"mul.wide.s32 d, a, b;", 64, {32, 32}, {0xffffffff, 3, 0, 0}, ~0ull - 2},
      {"mul.wide.u32 d, a, b;", 64, {32, 32}, {0xffffffff, 3, 0, 0}, 0x2fffffffdull},
      {"mul.wide.s16 d, a, b;", 32, {16, 16}, {0x8000, 0x8000, 0, 0}, 0x40000000},
      {"mad.lo.s32 d, a, b, c;", 32, {32, 32, 32}, {7, 6, 0xffffffff, 0}, 41},
      {"mad.wide.u32 d, a, b, c;", 64, {32, 32, 64}, {0xffffffff, 2, 5, 0}, 0x200000003ull},
      {"div.s32 d, a, b;", 32, {32, 32}, {0xfffffff9, 2, 0, 0}, 0xfffffffd},
      {"div.s32 d, a, b;", 32, {32, 32}, {0x80000000, 0xffffffff, 0, 0}, 0x80000000},
      {"rem.s32 d, a, b;", 32, {32, 32}, {0xfffffff9, 2, 0, 0}, 0xffffffff},
      {"rem.u64 d, a, b;", 64, {64, 64}, {1000000007, 1000, 0, 0}, 7},
      {"min.s32 d, a, b;", 32, {32, 32}, {0xffffffff, 1, 0, 0}, 0xffffffff},
      {"min.u32 d, a, b;", 32, {32, 32}, {0xffffffff, 1, 0, 0}, 1},
      {"abs.s32 d, a;", 32, {32}, {0x80000000, 0, 0, 0}, 0x80000000},
      {"neg.s64 d, a;", 64, {64}, {1, 0, 0, 0}, ~0ull},
      {"sad.s32 d, a, b, c;", 32, {32, 32, 32}, {0xfffffffe, 3, 10, 0}, 15},
      {"dp4a.s32.s32 d, a, b, c;", 32, {32, 32, 32}, {0xff02ff02, 0x01010101, 100, 0}, 102},
  });
}

TEST(PtxScalar, PackedIntegersKeepToTheirParts) {
  check({
      {"dp2a.lo.s32.s32 d, a, b, c;", 32, {32, 32, 32}, {0xffff0002, 0x7f7f03fe, 100, 0}, 100 - 2 * 2 - 3},
      {"dp2a.hi.u32.u32 d, a, b, c;", 32, {32, 32, 32}, {0x00030002, 0x0504ffff, 1, 0}, 1 + 2 * 4 + 3 * 5},
      {"mul24.lo.s32 d, a, b;", 32, {32, 32}, {0x55ffffff, 3, 0, 0}, 0xfffffffd},
      {"mul24.hi.u32 d, a, b;", 32, {32, 32}, {0x800000, 0x800000, 0, 0}, 0x40000000},
      {"mad24.hi.sat.s32 d, a, b, c;", 32, {32, 32, 32}, {0x7fffff, 0x7fffff, 0x7fffffff, 0}, 0x7fffffff},
      {"cvt.pack.sat.s16.s32 d, a, b;", 32, {32, 32}, {0x12345, 0xffff0000, 0, 0}, 0x7fff8000},
      {"cvt.pack.sat.u8.s32.b32 d, a, b, c;", 32, {32, 32, 32}, {300, 0xffffffff, 0xabcd1234, 0}, 0x1234ff00},
      {"max.s16x2.relu d, a, b;", 32, {32, 32}, {0xfff00005, 0xffff0003, 0, 0}, 0x00000005},
      {"min.relu.s32 d, a, b;", 32, {32, 32}, {0xffffffff, 7, 0, 0}, 0},
      {"vabsdiff4.u32.u32.u32 d, a, b, c;", 32, {32, 32, 32}, {0x01ff0310, 0x02000510, 0, 0}, 0x01ff0200},
      {"vabsdiff4.u32.u32.u32.add d, a, b, c;", 32, {32, 32, 32}, {0x01ff0310, 0x02000510, 9, 0}, 0x10b},
      {"vadd2.s32.s32.s32.sat d, a, b, c;", 32, {32, 32, 32}, {0x7fff8000, 0x0001ffff, 0, 0}, 0x7fff8000},
      {"vavrg4.s32.s32.s32 d, a, b, c;", 32, {32, 32, 32}, {0xfd01ff02, 0x00020003, 0, 0}, 0xfe02ff03},
      {"vset2.u32.u32.lt d, a, b, c;", 32, {32, 32, 32}, {0x00010002, 0x00020001, 0, 0}, 0x00010000},
      {"set.lt.f16x2.f16x2 d, a, b;", 32, {32, 32}, {0x3c007e00, 0x40003c00, 0, 0}, 0x3c000000},
      {"set.ltu.u32.bf16x2 d, a, b;", 32, {32, 32}, {0x40007fc0, 0x3f803f80, 0, 0}, 0x0000ffff},
      {"set.ge.bf16.bf16 d, a, b;", 16, {16, 16}, {0x3f80, 0x3f80, 0, 0}, 0x3f80},
      {"set.eq.ftz.f16x2.f16x2 d, a, b;", 32, {32, 32}, {0x00010001, 0x80020400, 0, 0}, 0x3c000000},
      {"max.xorsign.abs.f16x2 d, a, b;", 32, {32, 32}, {0xc0003c00, 0x3c00bc00, 0, 0}, 0xc000bc00},
  });
}

TEST(PtxScalar, RandomBitsRoundWhatIsCutOff) {
  // Half of the last place is cut off, and the random bits are half of it, or one less.
  check({
      {"cvt.rs.f16x2.f32 d, a, b, c;", 32, {32, 32, 32}, {0x3f801000, 0xbf801000, 0x10000fff, 0}, 0x3c01bc00},
      {"cvt.rs.bf16x2.f32 d, a, b, c;", 32, {32, 32, 32}, {0x3f808000, 0xbf808000, 0x7fff8000, 0}, 0x3f80bf81},
      {"cvt.rs.relu.bf16x2.f32 d, a, b, c;",
       32,
       {32, 32, 32},
       {0x3f808000, 0xbf808000, 0x7fff8000, 0},
       0x3f800000},
      {"cvt.rs.f16x2.f32 d, a, b, c;", 32, {32, 32, 32}, {0x4788b800, 0x7f800000, 0, 0}, 0x7c007c00},
      {"cvt.rs.satfinite.f16x2.f32 d, a, b, c;", 32, {32, 32, 32}, {0x4788b800, 0xc788b800, 0, 0}, 0x7bfffbff},
      // What becomes normal, and a subnormal number.
      {"cvt.rs.f16x2.f32 d, a, b, c;", 32, {32, 32, 32}, {0x387fffff, 0x33000000, 0x00011000, 0}, 0x04000001},
      {"cvt.rs.satfinite.e4m3x4.f32 d, {a, b, a, b}, c;",
       32,
       {32, 32, 32},
       {0x3f880000, 0xbf880000, 0x80000001, 0},
       0x38b939b8},
      {"cvt.rs.satfinite.e5m2x4.f32 d, {a, a, b, b}, c;",
       32,
       {32, 32, 32},
       {0x3fa00000, 0x49000000, 0, 0},
       0x3d3d7b7b},
      {"cvt.rs.satfinite.e2m1x4.f32 d, {a, a, b, b}, c;",
       16,
       {32, 32, 32},
       {0x3fa00000, 0xbe99999a, 0x80007fff, 0},
       0x2399},
      {"cvt.rs.relu.satfinite.e2m1x4.f32 d, {a, a, b, b}, c;",
       16,
       {32, 32, 32},
       {0x3fa00000, 0xbe99999a, 0x80007fff, 0},
       0x2300},
  });
}

TEST(PtxScalar, FmaMakesZeroOfTheNanBeyondAnEdge) {
  check({
      {"fma.rn.oob.f16x2 d, a, b, c;", 32, {32, 32, 32}, {0x7ff73c00, 0x3c003c00, 0x3c003c00, 0}, 0x00004000},
      {"fma.rn.oob.f16x2 d, a, b, c;", 32, {32, 32, 32}, {0x7ff63c00, 0x3c003c00, 0x3c003c00, 0}, 0x7fff4000},
      {"fma.rn.oob.f16x2 d, a, b, c;", 32, {32, 32, 32}, {0x3c003c00, 0xfff73c00, 0x3c007ff7, 0}, 0x00007fff},
      {"fma.rn.oob.relu.bf16 d, a, b, c;", 16, {16, 16, 16}, {0x3f80, 0xc000, 0x3f80, 0}, 0},
  });
}

TEST(PtxScalar, CarriesChain) {
  check({
      {"{ add.cc.u32 d, a, b; addc.u32 d, c, 0; }", 32, {32, 32, 32}, {0xffffffff, 1, 5, 0}, 6},
      {"{ add.cc.u32 d, a, b; addc.u32 d, c, 0; }", 32, {32, 32, 32}, {0xfffffffe, 1, 5, 0}, 5},
      {"{ sub.cc.u32 d, a, b; subc.u32 d, c, 0; }", 32, {32, 32, 32}, {0, 1, 5, 0}, 4},
      {"{ mad.lo.cc.u32 d, a, b, c; madc.hi.u32 d, a, b, 0; }",
       32,
       {32, 32, 32},
       {0xffffffff, 0xffffffff, 0xffffffff, 0},
       0xffffffff},
  });
}

TEST(PtxScalar, ShiftsClampAndFunnelsWrap) {
  check({
      {"shl.b32 d, a, b;", 32, {32, 32}, {1, 31, 0, 0}, 0x80000000},
      {"shl.b32 d, a, b;", 32, {32, 32}, {1, 32, 0, 0}, 0},
      {"shl.b64 d, a, b;", 64, {64, 32}, {1, 63, 0, 0}, 0x8000000000000000},
      {"shr.s32 d, a, b;", 32, {32, 32}, {0x80000000, 40, 0, 0}, 0xffffffff},
      {"shr.u32 d, a, b;", 32, {32, 32}, {0x80000000, 31, 0, 0}, 1},
      {"shr.s16 d, a, b;", 16, {16, 32}, {0x8000, 3, 0, 0}, 0xf000},
      {"shf.l.wrap.b32 d, a, b, c;", 32, {32, 32, 32}, {0x80000001, 0x12345678, 36, 0}, 0x23456788},
      {"shf.r.clamp.b32 d, a, b, c;", 32, {32, 32, 32}, {0x80000001, 0x12345678, 40, 0}, 0x12345678},
      {"prmt.b32 d, a, b, c;", 32, {32, 32, 32}, {0x33221100, 0x77665544, 0x7531, 0}, 0x77553311},
      {"prmt.b32 d, a, b, c;", 32, {32, 32, 32}, {0x33228000, 0x77665544, 0x0009, 0}, 0x000000ff},
      {"prmt.b32.f4e d, a, b, c;", 32, {32, 32, 32}, {0x33221100, 0x77665544, 2, 0}, 0x55443322},
      {"prmt.b32.rc16 d, a, b, c;", 32, {32, 32, 32}, {0x33221100, 0, 1, 0}, 0x33223322},
      {"lop3.b32 d, a, b, c, 0xe8;", 32, {32, 32, 32}, {0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0}, 0xe8e8e8e8},
      {"bfe.u32 d, a, b, c;", 32, {32, 32, 32}, {0xabcd1234, 8, 12, 0}, 0xd12},
      {"bfe.s32 d, a, b, c;", 32, {32, 32, 32}, {0x00000800, 8, 4, 0}, 0xfffffff8},
      {"bfe.s32 d, a, b, c;", 32, {32, 32, 32}, {0x80000000, 40, 4, 0}, 0xffffffff},
      {"bfi.b32 d, a, b, c, e;", 32, {32, 32, 32, 32}, {0xff, 0, 28, 8}, 0xf0000000},
      {"bfind.u32 d, a;", 32, {32}, {0x00010000, 0, 0, 0}, 16},
      {"bfind.s32 d, a;", 32, {32}, {0xfffffff0, 0, 0, 0}, 3},
      {"bfind.u32 d, a;", 32, {32}, {0, 0, 0, 0}, 0xffffffff},
      {"brev.b32 d, a;", 32, {32}, {1, 0, 0, 0}, 0x80000000},
      {"clz.b64 d, a;", 32, {64}, {1, 0, 0, 0}, 63},
      {"popc.b64 d, a;", 32, {64}, {~0ull, 0, 0, 0}, 64},
  });
}

TEST(PtxScalar, FloatsRoundFlushAndSaturate) {
  const std::uint64_t tiny = 1;  // the least subnormal
  check({
      {"add.f32 d, a, b;", 32, {32, 32}, {bits_of(1.0f), bits_of(0x1p-24f), 0, 0}, bits_of(1.0f)},
      {"add.rp.f32 d, a, b;", 32, {32, 32}, {bits_of(1.0f), bits_of(0x1p-24f), 0, 0}, bits_of(1.0f) + 1},
      {"add.rm.f32 d, a, b;", 32, {32, 32}, {bits_of(-1.0f), bits_of(-0x1p-40f), 0, 0}, bits_of(-1.0f) + 1},
      {"add.rz.f32 d, a, b;", 32, {32, 32}, {bits_of(1.0f), bits_of(0x1.8p-24f), 0, 0}, bits_of(1.0f)},
      {"add.ftz.f32 d, a, b;", 32, {32, 32}, {tiny, tiny, 0, 0}, 0},
      {"add.f32 d, a, b;", 32, {32, 32}, {tiny, tiny, 0, 0}, 2},
      {"mul.sat.f32 d, a, b;", 32, {32, 32}, {bits_of(2.0f), bits_of(3.0f), 0, 0}, bits_of(1.0f)},
      {"add.sat.f32 d, a, b;", 32, {32, 32}, {0x7f800000, 0xff800000, 0, 0}, 0},
      {"add.f32 d, a, b;", 32, {32, 32}, {0x7f800000, 0xff800000, 0, 0}, 0x7fffffff},
      {"fma.rn.f32 d, a, b, c;",
       32,
       {32, 32, 32},
       {bits_of(1.0f) + 1, bits_of(1.0f) + 1, bits_of(-1.0f), 0},
       bits_of(std::fma(1.0f + 0x1p-23f, 1.0f + 0x1p-23f, -1.0f))},
      {"min.f32 d, a, b;", 32, {32, 32}, {0x7fc00000, bits_of(2.0f), 0, 0}, bits_of(2.0f)},
      {"min.NaN.f32 d, a, b;", 32, {32, 32}, {0x7fc00000, bits_of(2.0f), 0, 0}, 0x7fffffff},
      {"max.f32 d, a, b;", 32, {32, 32}, {0x80000000, 0, 0, 0}, 0},
      {"min.f32 d, a, b;", 32, {32, 32}, {0, 0x80000000, 0, 0}, 0x80000000},
      {"neg.f32 d, a;", 32, {32}, {0x7fc00000, 0, 0, 0}, 0x7fffffff},
      {"div.rn.f64 d, a, b;", 64, {64, 64}, {bits_of(1.0), bits_of(3.0), 0, 0}, bits_of(1.0 / 3.0)},
      {"sqrt.rn.f32 d, a;", 32, {32}, {bits_of(2.0f), 0, 0, 0}, bits_of(std::sqrt(2.0f))},
      {"ex2.approx.f32 d, a;", 32, {32}, {bits_of(3.0f), 0, 0, 0}, bits_of(8.0f)},
      {"copysign.f32 d, a, b;", 32, {32, 32}, {bits_of(-1.0f), bits_of(5.0f), 0, 0}, bits_of(-5.0f)},
      {"add.rn.f16 d, a, b;", 16, {16, 16}, {0x3c00, 0x1000, 0, 0}, 0x3c00},
      {"fma.rn.f16x2 d, a, b, c;", 32, {32, 32, 32}, {0x3c003c00, 0x40004200, 0x3c000000, 0}, 0x42004200},
      {"add.rn.bf16x2 d, a, b;", 32, {32, 32}, {0x3f804000, 0x3f803f80, 0, 0}, 0x40004040},
  });
}

TEST(PtxScalar, HalvesAreRoundedOnce) {
  // 2048 + 1 + 2^-11 lies above the middle of two halves by less than a float can show next to 2^24.
  check({
      {"fma.rn.f16 d, a, b, c;", 16, {16, 16, 16}, {0x6800, 0x3c00, 0x3c01, 0}, 0x6801},
      {"fma.rn.f16 d, a, b, c;", 16, {16, 16, 16}, {0x6800, 0x3c00, 0x3c00, 0}, 0x6800},
      {"cvt.rn.f16.f64 d, a;", 16, {64}, {bits_of(1.0 + 0x1p-11 + 0x1p-50), 0, 0, 0}, 0x3c01},
      {"cvt.rn.f16.f64 d, a;", 16, {64}, {bits_of(1.0 + 0x1p-11), 0, 0, 0}, 0x3c00},
  });
}

TEST(PtxScalar, ComparisonsKnowNaN) {
  constexpr std::uint64_t kNan = 0x7fc00000;
  check({
      {"setp.lt.f32 d, a, b;", 1, {32, 32}, {bits_of(1.0f), kNan, 0, 0}, 0},
      {"setp.ltu.f32 d, a, b;", 1, {32, 32}, {bits_of(1.0f), kNan, 0, 0}, 1},
      {"setp.ne.f32 d, a, b;", 1, {32, 32}, {kNan, kNan, 0, 0}, 0},
      {"setp.neu.f32 d, a, b;", 1, {32, 32}, {kNan, kNan, 0, 0}, 1},
      {"setp.nan.f32 d, a, b;", 1, {32, 32}, {0, kNan, 0, 0}, 1},
      {"setp.lt.s32 d, a, b;", 1, {32, 32}, {0xffffffff, 0, 0, 0}, 1},
      {"setp.lo.u32 d, a, b;", 1, {32, 32}, {0xffffffff, 0, 0, 0}, 0},
      {"setp.eq.and.s32 d, a, b, c;", 1, {32, 32, 1}, {1, 1, 0, 0}, 0},
      {"setp.eq.or.s32 d, a, b, !c;", 1, {32, 32, 1}, {1, 2, 0, 0}, 1},
      {"set.gt.f32.f32 d, a, b;", 32, {32, 32}, {bits_of(2.0f), bits_of(1.0f), 0, 0}, bits_of(1.0f)},
      {"selp.b64 d, a, b, c;", 64, {64, 64, 1}, {5, 6, 1, 0}, 5},
      {"slct.s32.f32 d, a, b, c;", 32, {32, 32, 32}, {5, 6, bits_of(-1.0f), 0}, 6},
  });
}

TEST(PtxScalar, ConversionsClampExtendAndPack) {
  check({
      {"cvt.s32.s16 d, a;", 32, {16}, {0x8000, 0, 0, 0}, 0xffff8000},
      {"cvt.u32.s8 d, a;", 32, {32}, {0x80, 0, 0, 0}, 0xffffff80},
      {"cvt.sat.u8.s32 d, a;", 32, {32}, {0xffffffff, 0, 0, 0}, 0},
      {"cvt.sat.s8.s32 d, a;", 32, {32}, {300, 0, 0, 0}, 127},
      {"cvt.rzi.s32.f32 d, a;", 32, {32}, {bits_of(-1.9f), 0, 0, 0}, 0xffffffff},
      {"cvt.rni.s32.f32 d, a;", 32, {32}, {bits_of(2.5f), 0, 0, 0}, 2},
      {"cvt.rmi.s32.f32 d, a;", 32, {32}, {bits_of(-1.1f), 0, 0, 0}, 0xfffffffe},
      {"cvt.rzi.u32.f32 d, a;", 32, {32}, {bits_of(-5.0f), 0, 0, 0}, 0},
      {"cvt.rzi.s32.f32 d, a;", 32, {32}, {bits_of(1e20f), 0, 0, 0}, 0x7fffffff},
      {"cvt.rzi.u64.f32 d, a;", 64, {32}, {bits_of(1e30f), 0, 0, 0}, ~0ull},
      {"cvt.rzi.s32.f32 d, a;", 32, {32}, {0x7fc00000, 0, 0, 0}, 0},
      {"cvt.rn.f32.s32 d, a;", 32, {32}, {16777217, 0, 0, 0}, bits_of(16777216.0f)},
      {"cvt.rp.f32.s32 d, a;", 32, {32}, {16777217, 0, 0, 0}, bits_of(16777218.0f)},
      {"cvt.rn.f32.f64 d, a;", 32, {64}, {bits_of(1.0 / 3), 0, 0, 0}, bits_of(1.0f / 3)},
      {"cvt.rzi.f32.f32 d, a;", 32, {32}, {bits_of(-2.75f), 0, 0, 0}, bits_of(-2.0f)},
      {"cvt.f32.f16 d, a;", 32, {16}, {0x3c01, 0, 0, 0}, bits_of(1.0009765625f)},
      {"cvt.rn.bf16x2.f32 d, a, b;", 32, {32, 32}, {bits_of(1.0f), bits_of(-2.0f), 0, 0}, 0x3f80c000},
      {"cvt.rn.relu.f16x2.f32 d, a, b;", 32, {32, 32}, {bits_of(1.0f), bits_of(-2.0f), 0, 0}, 0x3c000000},
      {"cvt.rn.satfinite.e4m3x2.f32 d, a, b;", 16, {32, 32}, {bits_of(1000.0f), bits_of(1.0f), 0, 0}, 0x7e38},
      {"cvt.rn.f16x2.e4m3x2 d, a;", 32, {16}, {0x3840, 0, 0, 0}, 0x3c004000},
      {"cvt.rna.tf32.f32 d, a;", 32, {32}, {0x3f801000, 0, 0, 0}, 0x3f802000},
      {"cvt.rn.tf32.f32 d, a;", 32, {32}, {0x3f801000, 0, 0, 0}, 0x3f800000},
  });
}

// Every form of the list that is compared with a GPU loads and runs here.
TEST(PtxScalar, EveryListedFormRuns) {
  OperandSource source(1);
  std::size_t count = 0;
  for (const ScalarForm& form : scalar_forms()) {
    std::vector<std::array<std::uint64_t, 4>> operands(64);
    for (auto& set : operands) {
      for (std::size_t s = 0; s < 4; ++s) set[s] = source.operand(form.range, s);
    }
    const std::vector<std::uint64_t> out = apply_form(form, operands);
    ASSERT_FALSE(testing::Test::HasFailure()) << form.text;
    if (form.d_bits < 64) {
      for (const std::uint64_t word : out) ASSERT_EQ(word >> form.d_bits, 0u) << form.text;
    }
    ++count;
  }
  EXPECT_GT(count, 500u);
}

TEST(PtxScalar, ThreeNumbersHaveALeastAndALargest) {
  const float nan = std::bit_cast<float>(0x7fffffffu);
  const auto of = [](float a, float b, float c) {
    return std::array<std::uint64_t, 4>{bits_of(a), bits_of(b), bits_of(c), 0};
  };
  check({
      {"min.f32 d, a, b, c;", 32, {32, 32, 32}, of(3, -2, 5), bits_of(-2.0f)},
      {"max.f32 d, a, b, c;", 32, {32, 32, 32}, of(3, -2, 5), bits_of(5.0f)},
      {"max.f32 d, a, b, c;", 32, {32, 32, 32}, of(nan, -2, -5), bits_of(-2.0f)},
      {"max.NaN.f32 d, a, b, c;", 32, {32, 32, 32}, of(1, nan, 5), 0x7fffffff},
      {"max.f32 d, a, b, c;", 32, {32, 32, 32}, of(nan, nan, nan), 0x7fffffff},
      {"max.abs.f32 d, a, b, c;", 32, {32, 32, 32}, of(3, -7, 5), bits_of(7.0f)},
      {"min.ftz.f32 d, a, b, c;", 32, {32, 32, 32}, of(1e-40f, 2, 3), 0},
      {"min.f32 d, a, b, c;", 32, {32, 32, 32}, of(0.0f, -0.0f, 0.0f), 0x80000000},
  });
}

TEST(PtxScalar, MixedPrecisionRoundsOnce) {
  const std::uint64_t third = 0x3eab;  // 0.333984375 as bf16
  check({
      {"add.f32.bf16 d, a, b;", 32, {16, 32}, {0x3f80, bits_of(0.25f), 0, 0}, bits_of(1.25f)},
      {"sub.f32.f16 d, a, b;", 32, {16, 32}, {0x3c00, bits_of(0.25f), 0, 0}, bits_of(0.75f)},
      {"add.rz.f32.f16 d, a, b;", 32, {16, 32}, {0x3c00, bits_of(0x1p-30f), 0, 0}, bits_of(1.0f)},
      {"add.rp.f32.f16 d, a, b;", 32, {16, 32}, {0x3c00, bits_of(0x1p-30f), 0, 0}, 0x3f800001},
      {"add.sat.f32.f16 d, a, b;", 32, {16, 32}, {0x3c00, bits_of(7.0f), 0, 0}, bits_of(1.0f)},
      {"fma.rn.f32.bf16 d, a, b, c;",
       32,
       {16, 16, 32},
       {third, third, bits_of(1.0f), 0},
       bits_of(std::fma(0.333984375f, 0.333984375f, 1.0f))},
      {"fma.rn.f32.f16 d, a, b, c;", 32, {16, 16, 32}, {0x7e00, 0, 0, 0}, 0x7fffffff},
  });
}

TEST(PtxScalar, MasksOfBitsClampAndWrap) {
  check({
      {"bmsk.clamp.b32 d, a, b;", 32, {32, 32}, {4, 8, 0, 0}, 0xff0},
      {"bmsk.clamp.b32 d, a, b;", 32, {32, 32}, {28, 8, 0, 0}, 0xf0000000},
      {"bmsk.clamp.b32 d, a, b;", 32, {32, 32}, {4, 100, 0, 0}, 0xfffffff0},
      {"bmsk.clamp.b32 d, a, b;", 32, {32, 32}, {32, 4, 0, 0}, 0},
      {"bmsk.wrap.b32 d, a, b;", 32, {32, 32}, {36, 33, 0, 0}, 0x10},
      {"bmsk.wrap.b32 d, a, b;", 32, {32, 32}, {4, 32, 0, 0}, 0},
      {"szext.clamp.s32 d, a, b;", 32, {32, 32}, {0xabcdef80, 8, 0, 0}, 0xffffff80},
      {"szext.clamp.u32 d, a, b;", 32, {32, 32}, {0xabcdef80, 8, 0, 0}, 0x80},
      {"szext.clamp.s32 d, a, b;", 32, {32, 32}, {0xabcdef80, 32, 0, 0}, 0xabcdef80},
      {"szext.wrap.s32 d, a, b;", 32, {32, 32}, {0xabcdef80, 32, 0, 0}, 0},
      {"fns.b32 d, a, b, c;", 32, {32, 32, 32}, {0b10110, 1, 2, 0}, 2},
      {"fns.b32 d, a, b, c;", 32, {32, 32, 32}, {0b10110, 4, 0xffffffff, 0}, 4},
      {"fns.b32 d, a, b, c;", 32, {32, 32, 32}, {0b10110, 4, 0xfffffffe, 0}, 2},
      {"fns.b32 d, a, b, c;", 32, {32, 32, 32}, {0b10110, 3, 0, 0}, 0xffffffff},
      {"fns.b32 d, a, b, c;", 32, {32, 32, 32}, {0b10110, 2, 0, 0}, 2},
      {"fns.b32 d, a, b, c;", 32, {32, 32, 32}, {0b10110, 0, 4, 0}, 0xffffffff},
  });
}

TEST(PtxScalar, AWarpFindsItsLeastAndLargestFloat) {
  struct Redux {
    const char* text;
    std::uint32_t expected;
  };
  const float nan = std::bit_cast<float>(0x7fffffffu);
  std::vector<std::uint32_t> in;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const float value = lane == 5 ? nan : lane == 9 ? -40.0f : static_cast<float>(lane);
    in.push_back(static_cast<std::uint32_t>(bits_of(value)));
  }
  for (const Redux& one : {Redux{"redux.sync.min.f32", static_cast<std::uint32_t>(bits_of(-40.0f))},
                           Redux{"redux.sync.max.f32", static_cast<std::uint32_t>(bits_of(31.0f))},
                           Redux{"redux.sync.max.abs.f32", static_cast<std::uint32_t>(bits_of(40.0f))},
                           Redux{"redux.sync.min.NaN.f32", 0x7fffffff}}) {
    std::vector<std::uint32_t> out(32);
    const sim::Report report = run_ptx(
        ptx_module(
            "mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mul.wide.u32 %rd2, %r0, 4;"
            "add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2; ld.global.f32 %f0, [%rd1];" +
            std::string(one.text) + " %f1, %f0, 0xffffffff; st.global.f32 [%rd0], %f1; ret;"),
        out, in);
    ASSERT_TRUE(report.ok()) << report.text();
    for (const std::uint32_t word : out) EXPECT_EQ(word, one.expected) << one.text;
  }
}

// As the host has told its processor to compute, neither a kernel nor the loader does; and the host goes on so.
TEST(PtxScalar, HostsRoundingIsNotTheCards) {
  const auto thirds = [] {
    std::vector<std::uint32_t> out(2, 0);
    const sim::Report report = run_ptx(
        ptx_module("ld.param.u64 %rd1, [out]; mov.f32 %f1, 1.0; mov.f32 %f2, 3.0; div.rn.f32 %f3, %f1, %f2;\n"
                   "mov.f32 %f4, 0.1; st.global.v2.f32 [%rd1], {%f3, %f4}; ret;"),
        out, {0}, {.threads = 1});
    EXPECT_TRUE(report.ok()) << report.text();
    return out;
  };
  const std::vector<std::uint32_t> nearest = thirds();
  EXPECT_EQ(nearest, (std::vector<std::uint32_t>{0x3eaaaaab, 0x3dcccccd}));
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const std::vector<std::uint32_t> found = thirds();
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(found, nearest);
  }
}

TEST(PtxScalar, HostsTrapsAreNotTheCards) {
  const auto overflow = [] {
    return apply_one("mul.f32 d, a, b;", 32, {32, 32}, {bits_of(1e30f), bits_of(1e30f), 0, 0});
  };
  EXPECT_EQ(overflow(), bits_of(INFINITY));
  feenableexcept(FE_OVERFLOW | FE_DIVBYZERO | FE_INVALID | FE_UNDERFLOW);
  const std::uint64_t found = overflow();
  fedisableexcept(FE_ALL_EXCEPT);
  EXPECT_EQ(found, bits_of(INFINITY));
}

TEST(PtxScalar, NumbersMayBeLong) {
  std::vector<std::uint32_t> out(1, 0);
  const std::string digits = "0.5" + std::string(100, '0');
  const sim::Report report = run_ptx(
      ptx_module("ld.param.u64 %rd1, [out]; mov.f32 %f1, " + digits + "; st.global.f32 [%rd1], %f1; ret;"), out,
      {0}, {.threads = 1});
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(out[0], bits_of(0.5f));
}

}  // namespace
}  // namespace heddle::test
