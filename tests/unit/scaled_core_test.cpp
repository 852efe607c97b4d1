// SPDX-License-Identifier: Apache-2.0
//
// What a tensor core computes for numbers with scales.
#include "sim/machine/scaled_core.h"

#include <heddle/tile/element.h>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace heddle::sim::machine {
namespace {

float value_of(const Scale& scale) {
  return scale.is_nan ? std::numeric_limits<float>::quiet_NaN()
                      : std::ldexp(static_cast<float>(scale.significand), scale.exponent - 3);
}

TEST(Scale, DecodesEveryPattern) {
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    const auto byte = static_cast<std::uint8_t>(bits);
    const float exponent = value_of(scale_of(ScaleType::kUe8m0, byte));
    const float ue8m0_value = ue8m0{byte}.to_float();
    EXPECT_TRUE(std::isnan(exponent) ? std::isnan(ue8m0_value) : exponent == ue8m0_value) << bits;
    if (bits >= 128) continue;
    const float fraction = value_of(scale_of(ScaleType::kUe4m3, byte));
    const float ue4m3_value = ue4m3{byte}.to_float();
    EXPECT_TRUE(std::isnan(fraction) ? std::isnan(ue4m3_value) : fraction == ue4m3_value) << bits;
  }
  EXPECT_EQ(value_of(scale_of(ScaleType::kUe4m3, 0xB8)), 1.0f);  // the top bit does not count
}

TEST(SpreadPacked, TakesNumbersFromTheFirstBytesOfSixteen) {
  for (const OperandType type :
       {OperandType::kE2m1, OperandType::kE2m3, OperandType::kE3m2, OperandType::kE4m3}) {
    const std::uint32_t width = type == OperandType::kE2m1 ? 4 : type == OperandType::kE4m3 ? 8 : 6;
    std::vector<std::byte> elements(48, std::byte{0xFF});
    for (std::uint32_t i = 0; i < 48; ++i) {
      const std::uint32_t value = (i * 11 + 3) % (1u << width);
      for (std::uint32_t bit = 0; bit < width; ++bit) {
        const std::uint32_t at = i / 16 * 128 + i % 16 * width + bit;
        const std::byte mask{static_cast<unsigned char>(1u << at % 8)};
        elements[at / 8] = (value >> bit & 1) != 0 ? elements[at / 8] | mask : elements[at / 8] & ~mask;
      }
    }
    spread_packed(type, elements);
    for (std::uint32_t i = 0; i < 48; ++i) {
      ASSERT_EQ(static_cast<std::uint32_t>(elements[i]), (i * 11 + 3) % (1u << width)) << width << " bits, " << i;
    }
  }
}

// One row and one column of 64 numbers.
struct Dot {
  std::array<float, 64> a = {};
  std::array<float, 64> b = {};
  std::array<Scale, 4> a_scales;
  std::array<Scale, 4> b_scales;
  float d = 0;

  explicit Dot(float scale = 1) {
    a_scales.fill(scale_of(ScaleType::kUe8m0, ue8m0::from_float(scale).bits));
    b_scales = a_scales;
  }

  float result() const {
    const auto pack = [](const std::array<float, 64>& values) {
      std::vector<std::byte> bytes(32);
      for (std::uint32_t i = 0; i < 64; ++i) {
        bytes[i / 2] |= static_cast<std::byte>(e2m1::from_float(values[i]).bits << 4 * (i % 2));
      }
      return bytes;
    };
    const Fp4Operand left(1, 64, false, pack(a).data(), {a_scales.begin(), a_scales.end()});
    const Fp4Operand right(1, 64, false, pack(b).data(), {b_scales.begin(), b_scales.end()});
    std::uint32_t bits = std::bit_cast<std::uint32_t>(d);
    multiply_add(left, right, &bits);
    return std::bit_cast<float>(bits);
  }
};

TEST(Fp4, AddsProductsExactly) {
  std::mt19937 random(1);
  constexpr float kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int turn = 0; turn < 1000; ++turn) {
    Dot dot;
    double expected = dot.d = static_cast<float>(random() % 1000);
    for (std::uint32_t g = 0; g < 4; ++g) {
      const auto a_scale = static_cast<std::uint8_t>(0x30 + random() % 24);  // ue4m3: 0.5 to 7.5
      const auto b_scale = static_cast<std::uint8_t>(0x30 + random() % 24);
      dot.a_scales[g] = scale_of(ScaleType::kUe4m3, a_scale);
      dot.b_scales[g] = scale_of(ScaleType::kUe4m3, b_scale);
      for (std::uint32_t k = 16 * g; k < 16 * g + 16; ++k) {
        dot.a[k] = kValues[random() % 8] * (random() % 2 != 0 ? 1.0f : -1.0f);
        dot.b[k] = kValues[random() % 8];
        expected +=
            static_cast<double>(dot.a[k]) * dot.b[k] * ue4m3{a_scale}.to_float() * ue4m3{b_scale}.to_float();
      }
    }
    ASSERT_EQ(dot.result(), expected) << "turn " << turn;
  }
}

TEST(Fp4, TruncatesThirtyFiveBitsBelowTheLargestScale) {
  Dot dot;
  dot.a[0] = 1;
  dot.b[0] = 1;
  // 2^-35 of the scale's exponent is kept, and 2^-36 is not.
  dot.d = std::ldexp(1.0f, -35);
  dot.a[1] = -1;
  dot.b[1] = 1;
  dot.a[16] = 1;
  dot.b[16] = 1;
  dot.a[32] = -1;
  dot.b[32] = 1;  // the groups are 0, 1, -1: only D is left, and it was aligned to exponent 0
  EXPECT_EQ(dot.result(), std::ldexp(1.0f, -35));
  dot.d = std::ldexp(1.0f, -36);
  EXPECT_EQ(dot.result(), 0.0f);
}

TEST(Fp4, TruncatesTheResultTowardZero) {
  Dot dot;
  dot.d = 16777216.0f;  // 2^24
  dot.a[0] = 1.5;
  dot.b[0] = 1;
  EXPECT_EQ(dot.result(), 16777216.0f);
  dot.d = -16777216.0f;
  dot.a[0] = -1.5;
  EXPECT_EQ(dot.result(), -16777216.0f);
}

TEST(Fp4, MakesNanOfAScaleThatIsNan) {
  Dot dot;
  dot.b_scales[2] = scale_of(ScaleType::kUe8m0, 0xFF);
  EXPECT_TRUE(std::isnan(dot.result()));
  Dot infinite;
  infinite.d = std::numeric_limits<float>::infinity();
  EXPECT_EQ(infinite.result(), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace heddle::sim::machine
