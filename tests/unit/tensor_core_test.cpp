// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of the tensor core against the same rules written down plainly: one term at a time, in a type
// that holds every intermediate value exactly.
#include "sim/machine/tensor_core.h"

#include <heddle/tile/element.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../support/schedule_share.h"

namespace heddle::sim::machine {
namespace {

// 64 bits of significand and 15 of exponent hold every product, every aligned sum and every result exactly.
using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64);

struct Format {
  OperandType type;
  const char* name;
  int smallest_exponent;
  std::uint32_t depth;
  bool takes_f16;
};

constexpr Format kFormats[] = {{OperandType::kBf16, "bf16", -126, 16, false},
                               {OperandType::kF16, "f16", -14, 16, true},
                               {OperandType::kTf32, "tf32", -126, 8, false},
                               {OperandType::kE4m3, "e4m3", -6, 32, true},
                               {OperandType::kE5m2, "e5m2", -14, 32, true}};

const Format& format_named(OperandType type) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats), [&](const Format& f) { return f.type == type; });
}

float value_of(OperandType type, std::uint32_t bits) {
  switch (type) {
    case OperandType::kBf16: return bf16{static_cast<std::uint16_t>(bits)}.to_float();
    case OperandType::kF16: return fp16{static_cast<std::uint16_t>(bits)}.to_float();
    case OperandType::kTf32: return tf32{bits}.to_float();
    case OperandType::kE4m3: return e4m3{static_cast<std::uint8_t>(bits)}.to_float();
    default: return e5m2{static_cast<std::uint8_t>(bits)}.to_float();
  }
}

std::uint32_t bits_of(OperandType type, float value) {
  switch (type) {
    case OperandType::kBf16: return bf16::from_float(value).bits;
    case OperandType::kF16: return fp16::from_float(value).bits;
    case OperandType::kTf32: return tf32::from_float(value).bits;
    case OperandType::kE4m3: return e4m3::from_float(value).bits;
    default: return e5m2::from_float(value).bits;
  }
}

int exponent_of(float value, int smallest) { return std::max(std::ilogb(value), smallest); }

// The largest pattern whose value is not above `magnitude`, among every `step`-th one up to the last finite.
template <class Decode>
std::uint32_t pattern_below(Wide magnitude, std::uint32_t last, std::uint32_t step, Decode decode) {
  std::uint32_t low = 0;
  std::uint32_t high = last / step;
  while (low < high) {
    const std::uint32_t middle = low + (high - low + 1) / 2;
    if (Wide{decode(middle * step)} <= magnitude) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low * step;
}

std::uint32_t f32_toward_zero(Wide value, int fraction_bits) {
  const Wide magnitude = std::fabs(value);
  const std::uint32_t sign = std::signbit(value) ? 0x8000'0000u : 0;
  if (magnitude >= std::ldexp(Wide{1}, 128)) return sign | 0x7F80'0000;
  return sign | pattern_below(magnitude, 0x7F7F'FFFF, 1u << (23 - fraction_bits),
                              [](std::uint32_t bits) { return std::bit_cast<float>(bits); });
}

std::uint32_t f16_nearest(Wide value) {
  const Wide magnitude = std::fabs(value);
  const std::uint32_t sign = std::signbit(value) ? 0x8000u : 0;
  const auto decode = [](std::uint32_t bits) { return value_of(OperandType::kF16, bits); };
  const std::uint32_t below = pattern_below(magnitude, 0x7BFF, 1, decode);
  // Above the largest one, 65504, the next would be 65536.
  const Wide above = below == 0x7BFF ? Wide{65536} : Wide{decode(below + 1)};
  const Wide to_below = magnitude - Wide{decode(below)};
  const Wide to_above = above - magnitude;
  const bool goes_up = to_above < to_below || (to_above == to_below && (below & 1) != 0);
  return sign | (goes_up ? below + 1 : below);
}

std::uint32_t reference(MmaArithmetic arithmetic, OperandType a_type, const std::uint32_t* a, OperandType b_type,
                        const std::uint32_t* b, std::uint32_t depth, AccumulatorType d_type, std::uint32_t d) {
  const bool is_f16 = d_type == AccumulatorType::kF16;
  const float addend = is_f16 ? value_of(OperandType::kF16, d) : std::bit_cast<float>(d);
  float special = std::isfinite(addend) ? 0 : addend;
  bool is_special = !std::isfinite(addend);
  int largest = addend == 0 ? kZeroExponent : exponent_of(addend, is_f16 ? -14 : -126);
  for (std::uint32_t k = 0; k < depth && std::isfinite(addend); ++k) {
    const float x = value_of(a_type, a[k]);
    const float y = value_of(b_type, b[k]);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    const int exponent = x == 0 || y == 0 ? kZeroExponent
                                          : exponent_of(x, format_named(a_type).smallest_exponent) +
                                                exponent_of(y, format_named(b_type).smallest_exponent);
    largest = std::max(largest, exponent);
  }
  const int unit = largest - arithmetic.fraction_bits;
  Wide sum = std::isfinite(addend) ? std::trunc(std::ldexp(Wide{addend}, -unit)) : 0;
  for (std::uint32_t k = 0; k < depth; ++k) {
    const float x = value_of(a_type, a[k]);
    const float y = value_of(b_type, b[k]);
    if (std::isfinite(x) && std::isfinite(y)) {
      sum += std::trunc(std::ldexp(Wide{x} * Wide{y}, -unit));
    } else {
      special += x * y;
      is_special = true;
    }
  }
  if (is_special) {
    if (std::isnan(special)) return is_f16 ? kNanF16 : kNanF32;
    if (is_f16) return special < 0 ? 0xFC00 : 0x7C00;
    return special < 0 ? 0xFF80'0000 : 0x7F80'0000;
  }
  const Wide value = std::ldexp(sum == 0 ? Wide{0} : sum, unit);  // a sum that is zero is +0
  return is_f16 ? f16_nearest(value) : f32_toward_zero(value, arithmetic.result_fraction_bits);
}

// Random operands of one kind.
struct Data {
  const char* name;
  std::uint32_t (*draw)(OperandType type, std::mt19937& random);
  std::uint32_t (*draw_f32)(std::mt19937& random);
};

float normal(std::mt19937& random) { return std::normal_distribution<float>()(random); }

float spread(std::mt19937& random) {
  return std::ldexp(normal(random), std::uniform_int_distribution<int>(-140, 20)(random));
}

const Data kData[] = {
    {"Normal", [](OperandType type, std::mt19937& random) { return bits_of(type, normal(random)); },
     [](std::mt19937& random) { return std::bit_cast<std::uint32_t>(normal(random)); }},
    {"AnyBits", [](OperandType, std::mt19937& random) { return static_cast<std::uint32_t>(random()); },
     [](std::mt19937& random) { return static_cast<std::uint32_t>(random()); }},
    {"AllExponents", [](OperandType type, std::mt19937& random) { return bits_of(type, spread(random)); },
     [](std::mt19937& random) { return std::bit_cast<std::uint32_t>(spread(random)); }},
    {"SmallIntegersAndZeros",
     [](OperandType type, std::mt19937& random) { return bits_of(type, static_cast<float>(random() % 5) - 2); },
     [](std::mt19937& random) { return std::bit_cast<std::uint32_t>(static_cast<float>(random() % 100)); }},
    {"Subnormals",
     [](OperandType type, std::mt19937& random) {
       const int smallest = format_named(type).smallest_exponent;
       return bits_of(type, std::ldexp(normal(random), random() % 2 == 0 ? smallest : -1));
     },
     [](std::mt19937& random) { return static_cast<std::uint32_t>(random()) & 0x807F'FFFF; }},
};

struct Case {
  Arch arch;
  OperandType a;
  OperandType b;
  AccumulatorType d;
  const Data* data;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Data& data : kData) {
    for (const Format& a : kFormats) {
      for (const Format& b : kFormats) {
        if (a.type != b.type && (a.depth != 32 || b.depth != 32)) continue;
        for (const AccumulatorType d : {AccumulatorType::kF32, AccumulatorType::kF16}) {
          if (d == AccumulatorType::kF16 && !a.takes_f16) continue;
          cases.push_back({Arch::kSm90, a.type, b.type, d, &data});
          if (a.depth == 32) cases.push_back({Arch::kSm100, a.type, b.type, d, &data});
        }
      }
    }
  }
  return cases;
}

class TensorCoreOnRandomData : public testing::TestWithParam<Case> {};

TEST_P(TensorCoreOnRandomData, EqualsThePlainRules) {
  const Case& c = GetParam();
  constexpr std::uint32_t kRows = 64;
  constexpr std::uint32_t kColumns = 40;  // not a multiple of a vector
  const std::uint32_t depth = format_named(c.a).depth;
  const MmaArithmetic arithmetic = mma_arithmetic(c.arch, c.a);
  std::mt19937 random(20240517);
  const auto fill = [&](OperandType type, std::vector<std::uint32_t>& bits, std::vector<std::byte>& bytes) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      bits[i] = c.data->draw(type, random);
      if (stored_bytes(type) < 4) bits[i] &= (1u << 8 * stored_bytes(type)) - 1;
      std::memcpy(&bytes[i * stored_bytes(type)], &bits[i], stored_bytes(type));
    }
  };
  std::vector<std::uint32_t> a(kRows * depth), b(kColumns * depth);
  std::vector<std::byte> a_bytes(a.size() * stored_bytes(c.a)), b_bytes(b.size() * stored_bytes(c.b));
  for (int round = test::is_whole() ? 0 : 2; round < 3; ++round) {
    fill(c.a, a, a_bytes);
    fill(c.b, b, b_bytes);
    std::vector<std::uint32_t> d(kRows * kColumns);
    for (std::uint32_t& word : d) {
      word = c.d == AccumulatorType::kF16 ? c.data->draw(OperandType::kF16, random) & 0xFFFF
                                          : c.data->draw_f32(random);
      if (round == 0) word = 0;
    }
    std::vector<std::uint32_t> expected(d.size());
    for (std::uint32_t row = 0; row < kRows; ++row) {
      for (std::uint32_t column = 0; column < kColumns; ++column) {
        expected[row * kColumns + column] = reference(arithmetic, c.a, &a[row * depth], c.b, &b[column * depth],
                                                      depth, c.d, d[row * kColumns + column]);
      }
    }
    const MmaOperand left(MmaOperand::Side::kA, c.a, false, kRows, depth, a_bytes.data());
    const MmaOperand right(MmaOperand::Side::kB, c.b, false, kColumns, depth, b_bytes.data());
    std::vector<std::uint32_t> plain = d;
    multiply_add(arithmetic, left, 0, kRows, right, c.d, plain.data(), MmaLoop::kPlain);
    multiply_add(arithmetic, left, 0, kRows, right, c.d, d.data());
    ASSERT_EQ(d, plain);
    for (std::size_t i = 0; i < d.size(); ++i) {
      ASSERT_EQ(d[i], expected[i]) << std::hex << "0x" << d[i] << " instead of 0x" << expected[i] << std::dec
                                   << ", row " << i / kColumns << ", column " << i % kColumns << ", round "
                                   << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, TensorCoreOnRandomData, testing::ValuesIn(all_cases()), [](const auto& tested) {
  const Case& c = tested.param;
  return std::string(format_named(c.a).name) + "Times" + format_named(c.b).name +
         (c.d == AccumulatorType::kF16 ? "InF16" : "InF32") + (c.arch == Arch::kSm90 ? "OnSm90" : "OnSm100") +
         c.data->name;
});

// One result from a few factors; the rest of K is zero.
std::uint32_t dot(Arch arch, OperandType type, const std::vector<float>& a, const std::vector<float>& b, float d,
                  AccumulatorType d_type = AccumulatorType::kF32, bool negate_a = false, bool negate_b = false) {
  const std::uint32_t depth = format_named(type).depth;
  std::vector<std::byte> a_bytes(depth * stored_bytes(type)), b_bytes(a_bytes.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    const std::uint32_t x = bits_of(type, a[k]);
    const std::uint32_t y = bits_of(type, b[k]);
    std::memcpy(&a_bytes[k * stored_bytes(type)], &x, stored_bytes(type));
    std::memcpy(&b_bytes[k * stored_bytes(type)], &y, stored_bytes(type));
  }
  std::uint32_t word =
      d_type == AccumulatorType::kF16 ? bits_of(OperandType::kF16, d) : std::bit_cast<std::uint32_t>(d);
  multiply_add(mma_arithmetic(arch, type),
               MmaOperand(MmaOperand::Side::kA, type, negate_a, 1, depth, a_bytes.data()), 0, 1,
               MmaOperand(MmaOperand::Side::kB, type, negate_b, 1, depth, b_bytes.data()), d_type, &word);
  return word;
}

float dot_f32(Arch arch, OperandType type, const std::vector<float>& a, const std::vector<float>& b, float d) {
  return std::bit_cast<float>(dot(arch, type, a, b, d));
}

// 2^23 - 2^23 - 0.5 - 0.25 - 0.125 shows how many bits a part keeps: published results for each of them.
TEST(TensorCore, KeepsTwentyFiveBitsBelowTheLargestExponentFor16BitTypes) {
  EXPECT_EQ(dot_f32(Arch::kSm90, OperandType::kF16, {-8192, -0.5f, -0.25f, -0.125f}, {1024, 1, 1, 1}, 8388608),
            -0.75f);
  EXPECT_EQ(dot_f32(Arch::kSm90, OperandType::kBf16, {-8192, -0.5f, -0.25f, -0.125f}, {1024, 1, 1, 1}, 8388608),
            -0.75f);
}

TEST(TensorCore, KeepsThirteenBitsForFp8OnHopperAndTwentyFiveOnBlackwell) {
  const std::vector<float> a = {-8192, -0.5f, -0.25f, -0.125f};
  const std::vector<float> b = {1024, 1, 1, 1};
  EXPECT_EQ(dot_f32(Arch::kSm90, OperandType::kE5m2, a, b, 8388608), 0.0f);
  EXPECT_EQ(dot_f32(Arch::kSm100, OperandType::kE5m2, a, b, 8388608), -0.75f);
}

TEST(TensorCore, TruncatesF32ResultsTowardZero) {
  // 2^24 + 1 + 1 does not fit 24 bits; the bits below are cut off whatever the sign.
  EXPECT_EQ(dot_f32(Arch::kSm90, OperandType::kBf16, {1}, {3}, 16777216), 16777218.0f);
  EXPECT_EQ(dot_f32(Arch::kSm90, OperandType::kBf16, {-1}, {3}, -16777216), -16777218.0f);
}

TEST(TensorCore, RoundsF16ResultsToNearestEven) {
  EXPECT_EQ(dot(Arch::kSm90, OperandType::kF16, {1}, {1}, 2048, AccumulatorType::kF16),
            bits_of(OperandType::kF16, 2048));
  EXPECT_EQ(dot(Arch::kSm90, OperandType::kF16, {1}, {3}, 2048, AccumulatorType::kF16),
            bits_of(OperandType::kF16, 2052));
}

TEST(TensorCore, OverflowsToInfinity) {
  EXPECT_EQ(dot(Arch::kSm90, OperandType::kBf16, {3e38f}, {2}, 0), 0x7F80'0000u);
  EXPECT_EQ(dot(Arch::kSm90, OperandType::kBf16, {-3e38f}, {2}, 0), 0xFF80'0000u);
  EXPECT_EQ(dot(Arch::kSm90, OperandType::kF16, {-60000}, {2}, 0, AccumulatorType::kF16), 0xFC00u);
}

TEST(TensorCore, MakesOneKindOfNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(dot(Arch::kSm90, OperandType::kBf16, {infinity}, {0}, 1), kNanF32);
  EXPECT_EQ(dot(Arch::kSm90, OperandType::kBf16, {infinity, 1}, {1, -infinity}, 1), kNanF32);
  EXPECT_EQ(dot(Arch::kSm90, OperandType::kF16, {infinity}, {1}, -infinity, AccumulatorType::kF16), kNanF16);
  EXPECT_EQ(dot(Arch::kSm90, OperandType::kBf16, {infinity}, {-2}, 1), 0xFF80'0000u);
}

TEST(TensorCore, NegatesEitherOperandAndNotTheAccumulator) {
  const auto result = [](bool negate_a, bool negate_b) {
    return std::bit_cast<float>(
        dot(Arch::kSm90, OperandType::kBf16, {3}, {5}, 100, AccumulatorType::kF32, negate_a, negate_b));
  };
  EXPECT_EQ(result(false, false), 115.0f);
  EXPECT_EQ(result(true, false), 85.0f);
  EXPECT_EQ(result(false, true), 85.0f);
  EXPECT_EQ(result(true, true), 115.0f);
}

TEST(TensorCore, NegatesInfinitiesAndLeavesNans) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(dot(Arch::kSm90, OperandType::kBf16, {infinity}, {1}, 0, AccumulatorType::kF32, true), 0xFF80'0000u);
  EXPECT_EQ(dot(Arch::kSm90, OperandType::kBf16, {NAN}, {1}, 0, AccumulatorType::kF32, true), kNanF32);
}

TEST(TensorCore, IgnoresTheLowBitsOfTf32) {
  const std::uint32_t pattern = std::bit_cast<std::uint32_t>(1.0f) | 0x1FFF;
  std::vector<std::byte> bytes(32);
  std::memcpy(bytes.data(), &pattern, 4);
  std::uint32_t word = 0;
  const MmaOperand a(MmaOperand::Side::kA, OperandType::kTf32, false, 1, 8, bytes.data());
  const MmaOperand b(MmaOperand::Side::kB, OperandType::kTf32, false, 1, 8, bytes.data());
  multiply_add(mma_arithmetic(Arch::kSm90, OperandType::kTf32), a, 0, 1, b, AccumulatorType::kF32, &word);
  EXPECT_EQ(std::bit_cast<float>(word), 1.0f);
}

// Every term of the largest magnitude and the same sign: the sum needs more than 31 bits.
TEST(TensorCore, HoldsTheLargestSums) {
  const float with_all_bits_set[] = {255, 2047, 2047, 240, 448};  // in the order of kFormats
  for (std::size_t f = 0; f < std::size(kFormats); ++f) {
    const Format& format = kFormats[f];
    const float largest = with_all_bits_set[f];
    const std::vector<float> a(format.depth, largest);
    // As large as it can be without an exponent above that of the products.
    const float d = std::ldexp(std::nextafter(2.0f, 0.0f), 2 * std::ilogb(largest));
    for (const Arch arch : {Arch::kSm90, Arch::kSm100}) {
      const MmaArithmetic arithmetic = mma_arithmetic(arch, format.type);
      std::vector<std::uint32_t> bits(format.depth, bits_of(format.type, largest));
      EXPECT_EQ(dot(arch, format.type, a, a, d),
                reference(arithmetic, format.type, bits.data(), format.type, bits.data(), format.depth,
                          AccumulatorType::kF32, std::bit_cast<std::uint32_t>(d)))
          << format.name;
    }
  }
}

}  // namespace
}  // namespace heddle::sim::machine
