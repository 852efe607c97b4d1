// SPDX-License-Identifier: Apache-2.0
//
// Element types against arithmetic that shares nothing with them: values are put together in double with
// ldexp, and rounding is a search through the sorted table of all values.
#include <heddle/tile/element.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "../support/schedule_share.h"

namespace heddle {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// What the tables of formats say about a type, written down a second time.
struct Reference {
  int bits;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_sign;
  bool has_infinity;
  std::vector<std::uint32_t> nans;  // magnitudes; for formats with infinity all above it are NaN as well
};

template <class T>
Reference reference();
template <>
Reference reference<bf16>() {
  return {16, 8, 7, 127, true, true, {}};
}
template <>
Reference reference<fp16>() {
  return {16, 5, 10, 15, true, true, {}};
}
template <>
Reference reference<e4m3>() {
  return {8, 4, 3, 7, true, false, {0x7F}};
}
template <>
Reference reference<e5m2>() {
  return {8, 5, 2, 15, true, true, {}};
}
template <>
Reference reference<e2m3>() {
  return {6, 2, 3, 1, true, false, {}};
}
template <>
Reference reference<e3m2>() {
  return {6, 3, 2, 3, true, false, {}};
}
template <>
Reference reference<e2m1>() {
  return {4, 2, 1, 1, true, false, {}};
}
template <>
Reference reference<ue4m3>() {
  return {7, 4, 3, 7, false, false, {0x7F}};
}
template <>
Reference reference<ue8m0>() {
  return {8, 8, 0, 127, false, false, {0xFF}};
}

// NaN, an infinity, or the exact value.
double reference_value(const Reference& format, std::uint32_t pattern) {
  const int sign_bit = format.exponent_bits + format.mantissa_bits;
  const double sign = format.has_sign && ((pattern >> sign_bit) & 1U) != 0 ? -1.0 : 1.0;
  const std::uint32_t magnitude = pattern & ((1U << sign_bit) - 1U);
  if (std::find(format.nans.begin(), format.nans.end(), magnitude) != format.nans.end()) {
    return std::nan("");
  }
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const double fraction = std::ldexp(magnitude & ((1U << format.mantissa_bits) - 1U), -format.mantissa_bits);
  if (format.has_infinity && exponent == (1 << format.exponent_bits) - 1) {
    return fraction == 0.0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0 && format.mantissa_bits != 0) {
    return sign * std::ldexp(fraction, 1 - format.bias);
  }
  return sign * std::ldexp(1.0 + fraction, exponent - format.bias);
}

float float_from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Same value, same sign of zero; any NaN equals any other.
::testing::AssertionResult is_same_number(float actual, double expected) {
  if (std::isnan(expected)
          ? std::isnan(actual)
          : static_cast<double>(actual) == expected && std::signbit(actual) == std::signbit(expected)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << actual << " is not " << expected;
}

// Every value x with its neighbours, every midpoint with its neighbours, both signs; then the upper halves of
// all floats, and random floats.
std::vector<float> interesting_floats(const std::vector<double>& values) {
  std::vector<float> result;
  const auto add = [&result](double value) {
    const float middle = static_cast<float>(value);
    for (const float x : {std::nextafterf(middle, -infinity), middle, std::nextafterf(middle, infinity)}) {
      result.push_back(x);
      result.push_back(-x);
    }
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    add(values[i]);
    if (i + 1 < values.size()) {
      add((values[i] + values[i + 1]) / 2);
    }
  }
  add(values.back() + (values.back() - values[values.size() - 2]) / 2);  // where overflow begins
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    result.push_back(float_from_bits(upper << 16));
    result.push_back(float_from_bits(upper << 16 | 0x0001));
    result.push_back(float_from_bits(upper << 16 | 0xFFFF));
  }
  std::mt19937 random(20240611);
  std::uniform_real_distribution<float> near_one(-16.0F, 16.0F);
  for (int i = 0; i < 500'000; ++i) {
    result.push_back(float_from_bits(static_cast<std::uint32_t>(random())));
    result.push_back(near_one(random));
  }
  return result;
}

struct Entry {
  double value;
  std::uint32_t pattern;
};

// All finite magnitudes of a format, in ascending order.
std::vector<Entry> sorted_table(const Reference& format) {
  std::vector<Entry> table;
  for (std::uint32_t pattern = 0; pattern < 1U << (format.exponent_bits + format.mantissa_bits); ++pattern) {
    const double value = reference_value(format, pattern);
    if (std::isfinite(value)) {
      table.push_back({value, pattern});
    }
  }
  std::sort(table.begin(), table.end(), [](Entry a, Entry b) { return a.value < b.value; });
  return table;
}

std::vector<double> values_of(const std::vector<Entry>& table) {
  std::vector<double> values;
  for (const Entry& entry : table) {
    values.push_back(entry.value);
  }
  return values;
}

// The last entry not above x, or nothing if x is below all of them.
std::optional<std::size_t> entry_below(const std::vector<Entry>& table, double x) {
  const auto above =
      std::upper_bound(table.begin(), table.end(), x, [](double v, Entry e) { return v < e.value; });
  if (above == table.begin()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(above - table.begin()) - 1;
}

// Nearest entry, the even pattern of two that are equally near, the largest beyond the end.
std::uint32_t nearest_even_pattern(const std::vector<Entry>& table, double magnitude) {
  const std::size_t below = *entry_below(table, magnitude);
  if (below + 1 == table.size()) {
    return table[below].pattern;
  }
  const double midpoint = (table[below].value + table[below + 1].value) / 2;
  if (magnitude == midpoint) {
    return table[below].pattern % 2 == 0 ? table[below].pattern : table[below + 1].pattern;
  }
  return magnitude < midpoint ? table[below].pattern : table[below + 1].pattern;
}

template <class T>
class SmallElement : public ::testing::Test {};
using SmallTypes = ::testing::Types<e4m3, e5m2, e2m3, e3m2, e2m1, ue4m3>;
TYPED_TEST_SUITE(SmallElement, SmallTypes);

template <class T>
class EveryElement : public ::testing::Test {};
using EveryType = ::testing::Types<bf16, fp16, e4m3, e5m2, e2m3, e3m2, e2m1, ue8m0, ue4m3>;
TYPED_TEST_SUITE(EveryElement, EveryType);

template <class T>
class WideElement : public ::testing::Test {};
using WideTypes = ::testing::Types<bf16, fp16>;
TYPED_TEST_SUITE(WideElement, WideTypes);

TYPED_TEST(EveryElement, DecodesEveryPatternExactly) {
  const Reference format = reference<TypeParam>();
  const std::uint32_t storage_patterns = 1U << (8 * sizeof(TypeParam));
  for (std::uint32_t pattern = 0; pattern < storage_patterns; ++pattern) {
    const TypeParam element{static_cast<decltype(TypeParam::bits)>(pattern)};
    ASSERT_TRUE(is_same_number(element.to_float(), reference_value(format, pattern)))
        << "pattern 0x" << std::hex << pattern;
  }
}

TYPED_TEST(EveryElement, ComesBackFromItsOwnValue) {
  const Reference format = reference<TypeParam>();
  for (std::uint32_t pattern = 0; pattern < 1U << format.bits; ++pattern) {
    const TypeParam element{static_cast<decltype(TypeParam::bits)>(pattern)};
    if (std::isfinite(element.to_float())) {
      ASSERT_EQ(TypeParam::from_float(element.to_float()).bits, pattern);
    }
  }
}

TYPED_TEST(EveryElement, IsPlainStorage) {
  EXPECT_TRUE(std::is_trivially_copyable_v<TypeParam>);
  EXPECT_TRUE(std::is_trivially_default_constructible_v<TypeParam>);
  EXPECT_TRUE(std::is_standard_layout_v<TypeParam>);
  EXPECT_EQ(alignof(TypeParam), sizeof(TypeParam));
  EXPECT_EQ(sizeof(TypeParam), reference<TypeParam>().bits > 8 ? 2U : 1U);
}

TYPED_TEST(SmallElement, RoundsToTheNearestValueTiesToEvenAndSaturates) {
  const Reference format = reference<TypeParam>();
  const std::vector<Entry> table = sorted_table(format);
  const std::uint32_t sign_pattern = format.has_sign ? 1U << (format.exponent_bits + format.mantissa_bits) : 0U;
  test::CaseShare share(10);
  for (const float x : interesting_floats(values_of(table))) {
    if (std::isnan(x) || !share.takes_next()) {
      continue;
    }
    const std::uint32_t expected =
        nearest_even_pattern(table, std::fabs(static_cast<double>(x))) | (std::signbit(x) ? sign_pattern : 0U);
    ASSERT_EQ(TypeParam::from_float(x).bits, expected) << x;
  }
}

TYPED_TEST(WideElement, RoundsAtEveryMidpoint) {
  const Reference format = reference<TypeParam>();
  const std::uint32_t infinity_pattern = ((1U << format.exponent_bits) - 1U) << format.mantissa_bits;
  const std::uint32_t sign_pattern = 0x8000;
  for (std::uint32_t pattern = 0; pattern < infinity_pattern; ++pattern) {
    const double value = reference_value(format, pattern);
    // Beyond the largest value the next step would be as wide as the last.
    const double next = pattern + 1 < infinity_pattern ? reference_value(format, pattern + 1)
                                                       : value + (value - reference_value(format, pattern - 1));
    const float midpoint = static_cast<float>((value + next) / 2);
    ASSERT_EQ(static_cast<double>(midpoint), (value + next) / 2);
    const std::uint32_t even = pattern + pattern % 2;
    ASSERT_EQ(TypeParam::from_float(std::nextafterf(midpoint, 0.0F)).bits, pattern);
    ASSERT_EQ(TypeParam::from_float(midpoint).bits, even);
    ASSERT_EQ(TypeParam::from_float(std::nextafterf(midpoint, infinity)).bits, pattern + 1);
    ASSERT_EQ(TypeParam::from_float(-std::nextafterf(midpoint, 0.0F)).bits, sign_pattern | pattern);
    ASSERT_EQ(TypeParam::from_float(-midpoint).bits, sign_pattern | even);
    ASSERT_EQ(TypeParam::from_float(-std::nextafterf(midpoint, infinity)).bits, sign_pattern | (pattern + 1));
  }
}

TYPED_TEST(WideElement, OverflowsToInfinityAndKeepsInfinityAndNan) {
  const Reference format = reference<TypeParam>();
  const std::uint32_t infinity_pattern = ((1U << format.exponent_bits) - 1U) << format.mantissa_bits;
  EXPECT_EQ(TypeParam::from_float(std::numeric_limits<float>::max()).bits, infinity_pattern);
  EXPECT_EQ(TypeParam::from_float(infinity).bits, infinity_pattern);
  EXPECT_EQ(TypeParam::from_float(-infinity).bits, infinity_pattern | 0x8000U);
  for (const std::uint32_t nan : {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU}) {
    EXPECT_EQ(TypeParam::from_float(float_from_bits(nan)).bits, 0x7FFFU);
  }
}

TEST(Bf16, KeepsThePayloadOfANanWhenDecoded) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(bf16{static_cast<std::uint16_t>(pattern)}.to_float()), pattern << 16);
  }
}

TEST(SmallElements, SaturateInfinityAndTurnNanPositive) {
  for (const std::uint32_t nan : {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU}) {
    const float x = float_from_bits(nan);
    EXPECT_EQ(e4m3::from_float(x).bits, 0x7F);
    EXPECT_EQ(e5m2::from_float(x).bits, 0x7F);
    EXPECT_EQ(e2m3::from_float(x).bits, 0x1F);
    EXPECT_EQ(e3m2::from_float(x).bits, 0x1F);
    EXPECT_EQ(e2m1::from_float(x).bits, 0x7);
    EXPECT_EQ(ue4m3::from_float(x).bits, 0x7F);
    EXPECT_EQ(ue8m0::from_float(x).bits, 0xFF);
    EXPECT_EQ(ue8m0::from_float<Rounding::kTowardZero>(x).bits, 0xFF);
  }
  EXPECT_EQ(e4m3::from_float(infinity).bits, 0x7E);
  EXPECT_EQ(e4m3::from_float(-infinity).bits, 0xFE);
  EXPECT_EQ(e5m2::from_float(infinity).bits, 0x7B);
  EXPECT_EQ(e2m3::from_float(-infinity).bits, 0x3F);
  EXPECT_EQ(e3m2::from_float(-infinity).bits, 0x3F);
  EXPECT_EQ(e2m1::from_float(-infinity).bits, 0xF);
  EXPECT_EQ(ue4m3::from_float(-infinity).bits, 0x7E);
  EXPECT_EQ(ue8m0::from_float(-infinity).bits, 0xFE);
}

TEST(SmallElements, AgreeWithWorkedValues) {
  EXPECT_EQ(e4m3::from_float(448.0F).bits, 0x7E);
  EXPECT_EQ(e4m3::from_float(464.0F).bits, 0x7E);
  EXPECT_EQ(e4m3::from_float(465.0F).bits, 0x7E);
  EXPECT_EQ(e5m2::from_float(61440.0F).bits, 0x7B);
  EXPECT_EQ(e2m1::from_float(5.0F).bits, 0x6);
  EXPECT_EQ(e2m1::from_float(0.25F).bits, 0x0);
  EXPECT_EQ(e2m1::from_float(2.5F).to_float(), 2.0F);
  EXPECT_EQ(e2m1::from_float(-0.0F).bits, 0x8);
}

TEST(E2m1x2, PutsElementZeroIntoTheLowNibble) {
  const e2m1x2 pair = e2m1x2::from_floats(1.0F, 6.0F);
  EXPECT_EQ(pair.bits, 0x72);
  EXPECT_EQ(pair.element(0).to_float(), 1.0F);
  EXPECT_EQ(pair.element(1).to_float(), 6.0F);
  EXPECT_EQ(e2m1x2::pack(e2m1{0xF3}, e2m1{0xFC}).bits, 0xC3);
}

TEST(Ue8m0, RoundsTowardZeroAndTowardPositive) {
  const std::vector<Entry> table = sorted_table(reference<ue8m0>());
  test::CaseShare share(10);
  for (const float x : interesting_floats(values_of(table))) {
    if (std::isnan(x) || !share.takes_next()) {
      continue;
    }
    const double magnitude = std::fabs(static_cast<double>(x));
    const std::optional<std::size_t> below = entry_below(table, magnitude);
    std::size_t down = below.value_or(0);
    std::size_t up = below.has_value() && table[*below].value < magnitude ? down + 1 : down;
    up = std::min(up, table.size() - 1);
    ASSERT_EQ(ue8m0::from_float<Rounding::kTowardZero>(x).bits, table[down].pattern) << x;
    ASSERT_EQ(ue8m0::from_float<Rounding::kTowardPositive>(x).bits, table[up].pattern) << x;
  }
}

// One step of tf32 around x, by which dividing and multiplying is exact in double.
double tf32_step(double x) { return std::ldexp(1.0, (x == 0.0 ? -126 : std::max(std::ilogb(x), -126)) - 10); }

TEST(Tf32, RoundsInThreeWays) {
  std::vector<double> values;
  for (int exponent = -150; exponent < 128; ++exponent) {
    for (const double fraction : {1.0, 1.0 + 0x1p-10, 1.0 + 0x1p-9, 1.5, 2.0 - 0x1p-10}) {
      values.push_back(std::ldexp(fraction, exponent));
    }
  }
  std::sort(values.begin(), values.end());
  std::vector<float> inputs = interesting_floats(values);
  for (std::uint32_t upper = 0; upper < 1U << 18; ++upper) {  // every tie, and its neighbours
    for (const std::uint32_t low : {0xFFFU, 0x1000U, 0x1001U}) {
      inputs.push_back(float_from_bits(upper << 13 | low));
    }
  }
  test::CaseShare share(10);
  for (const float x : inputs) {
    if (!std::isfinite(x) || !share.takes_next()) {
      continue;
    }
    const double step = tf32_step(x);
    const double steps = static_cast<double>(x) / step;
    const auto expected = [step, x](double whole) {
      const double magnitude = std::fabs(whole * step);
      const float narrowed = magnitude >= 0x1p128 ? infinity : static_cast<float>(magnitude);
      return std::bit_cast<std::uint32_t>(std::copysign(narrowed, x));
    };
    ASSERT_EQ(tf32::from_float(x).bits, expected(std::nearbyint(steps))) << x;
    ASSERT_EQ(tf32::from_float<Rounding::kNearestAway>(x).bits, expected(std::round(steps))) << x;
    ASSERT_EQ(tf32::from_float<Rounding::kTowardZero>(x).bits, expected(std::trunc(steps))) << x;
  }
}

// As an H200 does, all 2^24 - 2 NaNs of which were tried.
TEST(Tf32, MakesNanCanonicalUnlessTiesGoAway) {
  for (const std::uint32_t nan : {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFF812AE0U, 0xFFFFFFFFU}) {
    EXPECT_EQ(tf32::from_float(float_from_bits(nan)).bits, 0x7FFFE000U);
    EXPECT_EQ(tf32::from_float<Rounding::kTowardZero>(float_from_bits(nan)).bits, 0x7FFFE000U);
    EXPECT_EQ(tf32::from_float<Rounding::kNearestAway>(float_from_bits(nan)).bits, nan & 0xFFFFE000U);
  }
}

TEST(Tf32, KeepsInfinityAndReadsPlainFloatsAsTheTensorCoreDoes) {
  EXPECT_EQ(tf32::from_float(infinity).bits, 0x7F800000U);
  EXPECT_EQ(tf32::from_float<Rounding::kTowardZero>(-infinity).bits, 0xFF800000U);
  EXPECT_EQ(tf32{std::bit_cast<std::uint32_t>(1.0F) | 0x1FFFU}.to_float(), 1.0F);
  EXPECT_EQ(sizeof(tf32), 4U);
  EXPECT_TRUE(std::is_trivially_copyable_v<tf32>);
}

TEST(ElementTraits, NameAndMeasureEveryType) {
  EXPECT_EQ(std::string(element_name<bf16>), "bf16");
  EXPECT_EQ(std::string(element_name<e2m1x2>), "e2m1x2");
  EXPECT_EQ(std::string(element_name<float>), "f32");
  EXPECT_EQ(std::string(element_name<std::int32_t>), "s32");
  EXPECT_EQ(element_bits<tf32>, 32U);
  EXPECT_EQ(element_bits<e2m3>, 6U);
  EXPECT_EQ(element_bits<e2m1>, 4U);
  EXPECT_EQ(element_bits<e2m1x2>, 4U);
  EXPECT_EQ(element_bits<ue4m3>, 8U);
  EXPECT_EQ(element_bytes<e2m1>, 1U);
  EXPECT_EQ(element_bytes<bf16>, 2U);
  EXPECT_EQ(element_bytes<double>, 8U);
}

TEST(ElementTraits, AcceptElementsOnly) {
  EXPECT_TRUE(Element<ue8m0>);
  EXPECT_TRUE(Element<std::uint64_t>);
  EXPECT_FALSE(Element<bool>);
  EXPECT_FALSE(Element<float*>);
  EXPECT_FALSE(Element<const bf16>);
  EXPECT_TRUE(FloatElement<tf32>);
  EXPECT_FALSE(FloatElement<float>);
  EXPECT_FALSE(FloatElement<e2m1x2>);
}

TEST(Conversions, WorkInConstantExpressionsAndInGenericCode) {
  static_assert(bf16::from_float(0.5F).bits == 0x3F00);
  static_assert(to_float(from_float<fp16>(-2.0F)) == -2.0F);
  static_assert(to_float(from_float<float>(3.25F)) == 3.25F);
  static_assert(e4m3::from_float(1e6F).to_float() == 448.0F);
  static_assert(ue8m0::from_float(3.0F).to_float() == 4.0F);
  static_assert(ue8m0{0}.to_float() == 0x1p-127F);
  SUCCEED();
}

}  // namespace
}  // namespace heddle
