// SPDX-License-Identifier: Apache-2.0
//
// Binary floating-point formats from their definitions: numbers to bits and back, in double. What references are
// made of; it shares nothing with the conversions that kernels use.
#pragma once

#include "matmul/api/matmul_element.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace heddle::reference {

// A sign, so many bits of exponent and of fraction.
struct FloatFormat {
  int exponent_bits;
  int fraction_bits;
  bool has_infinity;
  bool has_nan = true;  // without infinity: all ones

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

inline FloatFormat format_of(MatmulElement type) {
  switch (type) {
    case MatmulElement::kBf16: return {8, 7, true};
    case MatmulElement::kFp16: return {5, 10, true};
    case MatmulElement::kFp32: return {8, 23, true};
    case MatmulElement::kTf32: return {8, 10, true};
    case MatmulElement::kE4m3: return {4, 3, false};
    case MatmulElement::kE5m2: return {5, 2, true};
  }
  return {0, 0, false};
}

inline double decode(FloatFormat f, std::uint32_t bits) {
  const std::uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
  const auto exponent = static_cast<int>(bits >> f.fraction_bits & ((1u << f.exponent_bits) - 1));
  const double sign = bits >> (f.exponent_bits + f.fraction_bits) & 1 ? -1.0 : 1.0;
  const bool is_top = exponent == (1 << f.exponent_bits) - 1;
  if (f.has_infinity && is_top) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (!f.has_infinity && f.has_nan && is_top && fraction == (1u << f.fraction_bits) - 1) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double significand =
      std::ldexp(static_cast<double>(fraction), -f.fraction_bits) + (exponent == 0 ? 0.0 : 1.0);
  return sign * std::ldexp(significand, (exponent == 0 ? 1 : exponent) - f.bias());
}

// The nearest number of the format, ties to even; for numbers inside its range.
inline double rounded(FloatFormat f, double value) {
  if (value == 0.0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), 1 - f.bias());
  const double unit = std::ldexp(1.0, exponent - f.fraction_bits);
  return std::nearbyint(value / unit) * unit;  // the default rounding of the host: to nearest even
}

// The bits of a number that the format holds exactly.
inline std::uint32_t encode(FloatFormat f, double value) {
  const std::uint32_t sign = std::signbit(value) ? 1u << (f.exponent_bits + f.fraction_bits) : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0.0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - f.bias());
  const auto scaled = static_cast<std::uint32_t>(std::ldexp(magnitude, f.fraction_bits - exponent));
  const bool is_normal = scaled >> f.fraction_bits != 0;
  const std::uint32_t code = is_normal ? static_cast<std::uint32_t>(exponent + f.bias()) : 0;
  return sign | code << f.fraction_bits | (scaled & ((1u << f.fraction_bits) - 1));
}

// An element as it lies in memory. A tf32 has the upper bits of a float.
inline std::uint32_t stored_bits(MatmulElement type, double value) {
  const FloatFormat f = format_of(type);
  const std::uint32_t bits = encode(f, rounded(f, value));
  return type == MatmulElement::kTf32 ? bits << 13 : bits;
}

inline double stored_value(MatmulElement type, std::uint32_t bits) {
  return decode(format_of(type), type == MatmulElement::kTf32 ? bits >> 13 : bits);
}

}  // namespace heddle::reference
