// SPDX-License-Identifier: Apache-2.0
//
// The number formats that tensor cores read and write, as plain storage.
//
// Every type here is trivially copyable, holds its pattern in `bits`, and has the size and bits of the
// CUDA type of the same name, so arrays can be handed over as they are. Conversions are exact: decoding
// loses nothing, encoding rounds once, and zeros keep their sign. A float that is NaN becomes the
// format's NaN with a positive sign, or its largest value where it has none, as `cvt` does. bf16, fp16
// and tf32 overflow to infinity; the narrower formats saturate (`cvt.rn.satfinite`).
//
//   constexpr bf16 half = bf16::from_float(0.5f);
//   static_assert(half.bits == 0x3F00 && half.to_float() == 0.5f);
//   static_assert(e4m3::from_float(1e6f).to_float() == 448.0f);
#pragma once

#include <concepts>
#include <cstdint>

#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

enum class Rounding : std::uint8_t {
  kNearestEven,     // PTX .rn
  kNearestAway,     // PTX .rna: ties go away from zero
  kTowardZero,      // PTX .rz
  kTowardPositive,  // PTX .rp
};

// Which patterns above the largest finite value mean something.
enum class Specials : std::uint8_t {
  kInfinityAndNan,  // the largest exponent is reserved, as in IEEE 754
  kNanOnly,         // the pattern of all ones is NaN, its neighbours are numbers
  kNone,
};

// A binary floating-point format: sign, exponent and mantissa from the top bit down.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials = Specials::kInfinityAndNan;
  bool is_signed = true;
  // Without it exponent 0 is an ordinary exponent: there is neither zero nor a subnormal number.
  bool has_zero = true;
};

enum class Overflow : std::uint8_t { kToInfinity, kSaturate };

// The value of a pattern. `bits` above the format's width are ignored.
HEDDLE_HOST_DEVICE constexpr float decode(FloatFormat format, std::uint32_t bits);

// The pattern nearest to `value` in the given direction.
HEDDLE_HOST_DEVICE constexpr std::uint32_t encode(FloatFormat format, float value, Rounding rounding,
                                                  Overflow overflow);

struct bf16 {
  static constexpr FloatFormat format{.exponent_bits = 8, .mantissa_bits = 7, .bias = 127};

  HEDDLE_HOST_DEVICE static constexpr bf16 from_float(float value) {
    return {static_cast<std::uint16_t>(encode(format, value, Rounding::kNearestEven, Overflow::kToInfinity))};
  }
  HEDDLE_HOST_DEVICE constexpr float to_float() const { return decode(format, bits); }

  std::uint16_t bits;
};

struct fp16 {
  static constexpr FloatFormat format{.exponent_bits = 5, .mantissa_bits = 10, .bias = 15};

  HEDDLE_HOST_DEVICE static constexpr fp16 from_float(float value) {
    return {static_cast<std::uint16_t>(encode(format, value, Rounding::kNearestEven, Overflow::kToInfinity))};
  }
  HEDDLE_HOST_DEVICE constexpr float to_float() const { return decode(format, bits); }

  std::uint16_t bits;
};

// A float whose low 13 bits do not count. Tensor cores ignore them, so memory that holds plain floats may
// be read as tf32, and to_float() then gives what the tensor core sees.
struct tf32 {
  static constexpr FloatFormat format{.exponent_bits = 8, .mantissa_bits = 10, .bias = 127};
  static constexpr int unused_bits = 13;

  template <Rounding rounding = Rounding::kNearestEven>
  HEDDLE_HOST_DEVICE static constexpr tf32 from_float(float value) {
    static_assert(rounding != Rounding::kTowardPositive,
                  "tf32 rounds by kNearestEven, kNearestAway or kTowardZero");
    if constexpr (rounding == Rounding::kNearestAway) {
      // An H200's cvt.rna cuts a NaN off like a number where .rn and .rz make it canonical: the sign stays, and
      // a payload in the low 13 bits alone leaves an infinity.
      const std::uint32_t value_bits = __builtin_bit_cast(std::uint32_t, value);
      if ((value_bits & 0x7FFF'FFFFU) > 0x7F80'0000U) return tf32{value_bits >> unused_bits << unused_bits};
    }
    return tf32{encode(format, value, rounding, Overflow::kToInfinity) << unused_bits};
  }
  HEDDLE_HOST_DEVICE constexpr float to_float() const { return decode(format, bits >> unused_bits); }

  std::uint32_t bits;
};

struct e4m3 {
  static constexpr FloatFormat format{
      .exponent_bits = 4, .mantissa_bits = 3, .bias = 7, .specials = Specials::kNanOnly};

  HEDDLE_HOST_DEVICE static constexpr e4m3 from_float(float value) {
    return {static_cast<std::uint8_t>(encode(format, value, Rounding::kNearestEven, Overflow::kSaturate))};
  }
  HEDDLE_HOST_DEVICE constexpr float to_float() const { return decode(format, bits); }

  std::uint8_t bits;
};

struct e5m2 {
  static constexpr FloatFormat format{.exponent_bits = 5, .mantissa_bits = 2, .bias = 15};

  HEDDLE_HOST_DEVICE static constexpr e5m2 from_float(float value) {
    return {static_cast<std::uint8_t>(encode(format, value, Rounding::kNearestEven, Overflow::kSaturate))};
  }
  HEDDLE_HOST_DEVICE constexpr float to_float() const { return decode(format, bits); }

  std::uint8_t bits;
};

// The 6-bit and 4-bit formats sit in the low bits of a byte of their own; the upper bits are written as
// zero and ignored when read.
// Unverified: `cvt` to these and to ue8m0 on sm_100; they agree with CUDA's conversions in software.
struct e2m3 {
  static constexpr FloatFormat format{
      .exponent_bits = 2, .mantissa_bits = 3, .bias = 1, .specials = Specials::kNone};

  HEDDLE_HOST_DEVICE static constexpr e2m3 from_float(float value) {
    return {static_cast<std::uint8_t>(encode(format, value, Rounding::kNearestEven, Overflow::kSaturate))};
  }
  HEDDLE_HOST_DEVICE constexpr float to_float() const { return decode(format, bits); }

  std::uint8_t bits;
};

struct e3m2 {
  static constexpr FloatFormat format{
      .exponent_bits = 3, .mantissa_bits = 2, .bias = 3, .specials = Specials::kNone};

  HEDDLE_HOST_DEVICE static constexpr e3m2 from_float(float value) {
    return {static_cast<std::uint8_t>(encode(format, value, Rounding::kNearestEven, Overflow::kSaturate))};
  }
  HEDDLE_HOST_DEVICE constexpr float to_float() const { return decode(format, bits); }

  std::uint8_t bits;
};

struct e2m1 {
  static constexpr FloatFormat format{
      .exponent_bits = 2, .mantissa_bits = 1, .bias = 1, .specials = Specials::kNone};

  HEDDLE_HOST_DEVICE static constexpr e2m1 from_float(float value) {
    return {static_cast<std::uint8_t>(encode(format, value, Rounding::kNearestEven, Overflow::kSaturate))};
  }
  HEDDLE_HOST_DEVICE constexpr float to_float() const { return decode(format, bits); }

  std::uint8_t bits;
};

// Two e2m1 in one byte, element 0 in the low nibble: how 4-bit matrices lie in memory.
struct e2m1x2 {
  HEDDLE_HOST_DEVICE static constexpr e2m1x2 pack(e2m1 element0, e2m1 element1) {
    return {static_cast<std::uint8_t>((element0.bits & 0xFU) | (element1.bits & 0xFU) << 4)};
  }
  HEDDLE_HOST_DEVICE static constexpr e2m1x2 from_floats(float value0, float value1) {
    return pack(e2m1::from_float(value0), e2m1::from_float(value1));
  }
  HEDDLE_HOST_DEVICE constexpr e2m1 element(int element_idx) const {
    return {static_cast<std::uint8_t>((bits >> 4 * element_idx) & 0xFU)};
  }

  std::uint8_t bits;
};

// The scale of a block of 32: a power of two. It has no sign and no zero: the sign of a float is dropped,
// and anything at or below 2^-127 becomes 2^-127.
struct ue8m0 {
  static constexpr FloatFormat format{.exponent_bits = 8,
                                      .mantissa_bits = 0,
                                      .bias = 127,
                                      .specials = Specials::kNanOnly,
                                      .is_signed = false,
                                      .has_zero = false};

  template <Rounding rounding = Rounding::kTowardPositive>
  HEDDLE_HOST_DEVICE static constexpr ue8m0 from_float(float value) {
    static_assert(rounding == Rounding::kTowardPositive || rounding == Rounding::kTowardZero,
                  "ue8m0 rounds by kTowardPositive or kTowardZero");
    return ue8m0{static_cast<std::uint8_t>(encode(format, value, rounding, Overflow::kSaturate))};
  }
  HEDDLE_HOST_DEVICE constexpr float to_float() const { return decode(format, bits); }

  std::uint8_t bits;
};

// The scale of a block of 16: e4m3 without its sign. The sign of a float is dropped, and bit 7 of a
// pattern is ignored.
struct ue4m3 {
  static constexpr FloatFormat format{
      .exponent_bits = 4, .mantissa_bits = 3, .bias = 7, .specials = Specials::kNanOnly, .is_signed = false};

  HEDDLE_HOST_DEVICE static constexpr ue4m3 from_float(float value) {
    return {static_cast<std::uint8_t>(encode(format, value, Rounding::kNearestEven, Overflow::kSaturate))};
  }
  HEDDLE_HOST_DEVICE constexpr float to_float() const { return decode(format, bits); }

  std::uint8_t bits;
};

// What reports and tables call a type; null for whatever is not an element type.
template <class T>
inline constexpr const char* element_name = nullptr;
template <>
inline constexpr const char* element_name<bf16> = "bf16";
template <>
inline constexpr const char* element_name<fp16> = "fp16";
template <>
inline constexpr const char* element_name<tf32> = "tf32";
template <>
inline constexpr const char* element_name<e4m3> = "e4m3";
template <>
inline constexpr const char* element_name<e5m2> = "e5m2";
template <>
inline constexpr const char* element_name<e2m3> = "e2m3";
template <>
inline constexpr const char* element_name<e3m2> = "e3m2";
template <>
inline constexpr const char* element_name<e2m1> = "e2m1";
template <>
inline constexpr const char* element_name<e2m1x2> = "e2m1x2";
template <>
inline constexpr const char* element_name<ue8m0> = "ue8m0";
template <>
inline constexpr const char* element_name<ue4m3> = "ue4m3";
template <>
inline constexpr const char* element_name<float> = "f32";
template <>
inline constexpr const char* element_name<double> = "f64";
template <>
inline constexpr const char* element_name<std::int8_t> = "s8";
template <>
inline constexpr const char* element_name<std::uint8_t> = "u8";
template <>
inline constexpr const char* element_name<std::int16_t> = "s16";
template <>
inline constexpr const char* element_name<std::uint16_t> = "u16";
template <>
inline constexpr const char* element_name<std::int32_t> = "s32";
template <>
inline constexpr const char* element_name<std::uint32_t> = "u32";
template <>
inline constexpr const char* element_name<std::int64_t> = "s64";
template <>
inline constexpr const char* element_name<std::uint64_t> = "u64";

// What a tile may hold.
template <class T>
concept Element = element_name<T>
!= nullptr;

// A format of this header that stands for one number.
template <class T>
concept FloatElement = Element<T> && requires {
  T::format;
};

// Bytes from one T to the next in an array.
template <Element T>
inline constexpr std::uint32_t element_bytes = sizeof(T);

// Bits of one number where numbers are packed without gaps.
template <Element T>
inline constexpr std::uint32_t element_bits = 8 * sizeof(T);
template <>
inline constexpr std::uint32_t element_bits<e2m3> = 6;
template <>
inline constexpr std::uint32_t element_bits<e3m2> = 6;
template <>
inline constexpr std::uint32_t element_bits<e2m1> = 4;
template <>
inline constexpr std::uint32_t element_bits<e2m1x2> = 4;

// Conversions for code that is generic in the element type.
template <FloatElement T>
HEDDLE_HOST_DEVICE constexpr float to_float(T value) {
  return value.to_float();
}
HEDDLE_HOST_DEVICE constexpr float to_float(float value) { return value; }

template <FloatElement T>
HEDDLE_HOST_DEVICE constexpr T from_float(float value) {
  return T::from_float(value);
}
template <std::same_as<float> T>
HEDDLE_HOST_DEVICE constexpr T from_float(float value) {
  return value;
}

namespace detail {

inline constexpr std::uint32_t float_sign = 0x8000'0000U;
inline constexpr std::uint32_t float_infinity = 0x7F80'0000U;
inline constexpr std::uint32_t float_nan = 0x7FFF'FFFFU;
inline constexpr int float_mantissa_bits = 23;
inline constexpr int float_bias = 127;

HEDDLE_HOST_DEVICE constexpr std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}
HEDDLE_HOST_DEVICE constexpr float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

HEDDLE_HOST_DEVICE constexpr std::uint32_t magnitude_mask(FloatFormat format) {
  return (1U << (format.exponent_bits + format.mantissa_bits)) - 1U;
}

HEDDLE_HOST_DEVICE constexpr std::uint32_t largest_finite(FloatFormat format) {
  const std::uint32_t all_ones = magnitude_mask(format);
  switch (format.specials) {
    case Specials::kInfinityAndNan: return all_ones - (1U << format.mantissa_bits);
    case Specials::kNanOnly: return all_ones - 1U;
    case Specials::kNone: break;
  }
  return all_ones;
}

// significand * 2^-shift as an integer, for a significand below 2^24 and a shift of at least 1.
HEDDLE_HOST_DEVICE constexpr std::uint32_t shift_right_rounded(std::uint32_t significand, int shift,
                                                               Rounding rounding, bool is_negative) {
  // Beyond 25 every bit is below the tie, so all larger shifts round alike.
  const int bounded_shift = shift < 25 ? shift : 25;
  const std::uint32_t whole = significand >> bounded_shift;
  const std::uint32_t rest = significand - (whole << bounded_shift);
  const std::uint32_t tie = (1U << bounded_shift) >> 1;
  bool rounds_up = false;
  switch (rounding) {
    case Rounding::kNearestEven: rounds_up = rest > tie || (rest == tie && (whole & 1U) != 0); break;
    case Rounding::kNearestAway: rounds_up = rest >= tie; break;
    case Rounding::kTowardZero: break;
    case Rounding::kTowardPositive: rounds_up = rest != 0 && !is_negative; break;
  }
  return whole + (rounds_up ? 1U : 0U);
}

}  // namespace detail

HEDDLE_HOST_DEVICE constexpr float decode(FloatFormat format, std::uint32_t bits) {
  const int sign_bit = format.exponent_bits + format.mantissa_bits;
  // Such a format is the upper part of a float, down to the payload of a NaN.
  if (format.exponent_bits == 8 && format.specials == Specials::kInfinityAndNan) {
    return detail::float_of(bits << (31 - sign_bit));
  }
  const std::uint32_t magnitude = bits & detail::magnitude_mask(format);
  const std::uint32_t sign = format.is_signed && ((bits >> sign_bit) & 1U) != 0 ? detail::float_sign : 0U;
  const std::uint32_t largest = detail::largest_finite(format);
  if (magnitude > largest) {
    const bool is_infinity = format.specials == Specials::kInfinityAndNan && magnitude == largest + 1U;
    return detail::float_of(is_infinity ? sign | detail::float_infinity : detail::float_nan);
  }
  const std::uint32_t leading_one = 1U << format.mantissa_bits;
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const bool is_subnormal = format.has_zero && exponent == 0;
  const std::uint32_t significand = (magnitude & (leading_one - 1U)) | (is_subnormal ? 0U : leading_one);
  if (significand == 0) {
    return detail::float_of(sign);
  }
  const int scale = (is_subnormal ? 1 : exponent) - format.bias - format.mantissa_bits;
  // 2^-127 (ue8m0) is the one value below the normal numbers of float. All others are built by moving the
  // exponent of the significand, which is exact.
  if (scale < 1 - detail::float_bias) {
    return detail::float_of(sign | 1U << (detail::float_mantissa_bits - 1));
  }
  const std::uint32_t unscaled = detail::bits_of(static_cast<float>(significand));
  return detail::float_of(sign | (unscaled + (static_cast<std::uint32_t>(scale) << detail::float_mantissa_bits)));
}

HEDDLE_HOST_DEVICE constexpr std::uint32_t encode(FloatFormat format, float value, Rounding rounding,
                                                  Overflow overflow) {
  const std::uint32_t bits = detail::bits_of(value);
  const std::uint32_t magnitude = bits & ~detail::float_sign;
  const std::uint32_t largest = detail::largest_finite(format);
  if (magnitude > detail::float_infinity) {
    return format.specials == Specials::kNone ? largest : detail::magnitude_mask(format);
  }
  const bool is_negative = format.is_signed && bits != magnitude;
  const std::uint32_t sign = is_negative ? 1U << (format.exponent_bits + format.mantissa_bits) : 0U;
  if (magnitude == detail::float_infinity) {
    return sign | (overflow == Overflow::kSaturate ? largest : largest + 1U);
  }

  // value = significand * 2^(exponent - 23). A subnormal float is given exponent -127 like the others, which
  // reaches below every format here, so it needs no normalising.
  const std::uint32_t biased_exponent = magnitude >> detail::float_mantissa_bits;
  const std::uint32_t leading_one = 1U << detail::float_mantissa_bits;
  const std::uint32_t fraction = magnitude & (leading_one - 1U);
  const std::uint32_t significand = biased_exponent == 0 ? fraction << 1 : fraction | leading_one;
  const int exponent = static_cast<int>(biased_exponent) - detail::float_bias;

  const int lowest_exponent = (format.has_zero ? 1 : 0) - format.bias;
  const int used_exponent = exponent > lowest_exponent ? exponent : lowest_exponent;
  const int shift = detail::float_mantissa_bits - format.mantissa_bits + (used_exponent - exponent);
  const std::uint32_t rounded = detail::shift_right_rounded(significand, shift, rounding, is_negative);

  // `rounded` still has its leading one, which counts as one exponent step; a carry out of the mantissa is
  // the next step and needs no care. Without a zero the steps are counted from one lower.
  const std::uint32_t steps = static_cast<std::uint32_t>(used_exponent - lowest_exponent);
  std::uint32_t pattern = (steps << format.mantissa_bits) + rounded;
  if (!format.has_zero) {
    const std::uint32_t one_step = 1U << format.mantissa_bits;
    pattern = pattern > one_step ? pattern - one_step : 0U;
  }
  if (pattern > largest) {
    const bool stays_finite = overflow == Overflow::kSaturate || rounding == Rounding::kTowardZero;
    pattern = stays_finite ? largest : largest + 1U;
  }
  return sign | pattern;
}

}  // namespace heddle::inline HEDDLE_TARGET
