// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/scaled_core.h"

#include <heddle/tile/element.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace heddle::sim::machine {

namespace {

constexpr int kFractionBits = 35;
constexpr int kScaleFraction = 3;
constexpr int kHalvesFraction = 2;  // of a product of two numbers in halves
constexpr int kTermFraction = kHalvesFraction + 2 * kScaleFraction;

// Toward zero.
std::int64_t shifted(std::int64_t value, int distance) {
  if (distance >= 63) return 0;
  return value < 0 ? -(-value >> distance) : value >> distance;
}

std::int32_t sum_of_products(const std::int16_t* a, const std::int16_t* b, std::uint32_t count) {
  std::int32_t sum = 0;
  for (std::uint32_t k = 0; k < count; ++k) sum += a[k] * b[k];
  return sum;
}

struct Term {
  std::int64_t value;  // times 2^(exponent - fraction bits)
  int exponent;
};

Term accumulator_term(std::uint32_t bits) {
  const auto field = static_cast<int>(bits >> 23 & 0xFF);
  const auto fraction = static_cast<std::int64_t>(bits & 0x7F'FFFF);
  const std::int64_t magnitude = field == 0 ? fraction : fraction | 1 << 23;
  if (magnitude == 0) return {0, kZeroExponent};
  return {(bits >> 31 != 0 ? -magnitude : magnitude) << (kFractionBits - 23), std::max(field, 1) - 127};
}

}  // namespace

Scale scale_of(ScaleType type, std::uint8_t bits) {
  if (type == ScaleType::kUe8m0) return {1 << kScaleFraction, int{bits} - 127, bits == 0xFF};
  const std::int32_t field = bits >> 3 & 0xF;
  const std::int32_t fraction = bits & 7;
  return {field == 0 ? fraction : fraction | 8, std::max(field, 1) - 7, (bits & 0x7F) == 0x7F};
}

Fp4Operand::Fp4Operand(std::uint32_t rows, std::uint32_t depth, bool negate, const std::byte* elements,
                       std::vector<Scale> scales)
    : depth_(depth), halves_(std::size_t{rows} * depth), scales_(std::move(scales)) {
  constexpr std::array<std::int16_t, 8> kHalves = {0, 1, 2, 3, 4, 6, 8, 12};
  for (std::size_t i = 0; i < halves_.size(); ++i) {
    const auto nibble = static_cast<std::uint32_t>(elements[i / 2] >> 4 * (i % 2)) & 0xF;
    const std::int16_t magnitude = kHalves[nibble & 7];
    halves_[i] = (nibble >> 3 != 0) != negate ? static_cast<std::int16_t>(-magnitude) : magnitude;
  }
}

void multiply_add(const Fp4Operand& a, const Fp4Operand& b, std::uint32_t* d) {
  for (std::uint32_t row = 0; row < a.rows(); ++row) {
    for (std::uint32_t column = 0; column < b.rows(); ++column, ++d) {
      const float before = std::bit_cast<float>(*d);
      std::array<Term, Fp4Operand::kGroups + 1> terms = {accumulator_term(*d)};
      bool is_nan = std::isnan(before);
      for (std::uint32_t g = 0; g < Fp4Operand::kGroups; ++g) {
        const Scale& left = a.scale(row, g);
        const Scale& right = b.scale(column, g);
        is_nan |= left.is_nan || right.is_nan;
        const std::int64_t sum =
            sum_of_products(a.row(row) + g * a.group(), b.row(column) + g * a.group(), a.group());
        const std::int64_t value = sum * left.significand * right.significand;
        terms[g + 1] = {value * (std::int64_t{1} << (kFractionBits - kTermFraction)),
                        value == 0 ? kZeroExponent : left.exponent + right.exponent};
      }
      if (is_nan) {
        *d = kNanF32;
        continue;
      }
      if (std::isinf(before)) continue;
      int largest = kZeroExponent;
      for (const Term& term : terms) largest = std::max(largest, term.exponent);
      std::int64_t total = 0;
      for (const Term& term : terms) total += shifted(term.value, largest - term.exponent);
      *d = truncated_f32(static_cast<std::uint64_t>(std::abs(total)), largest - kFractionBits) |
           (total < 0 ? 0x8000'0000u : 0u);
    }
  }
}

void spread_packed(OperandType type, std::vector<std::byte>& elements) {
  const std::uint32_t bits = type == OperandType::kE2m1                                 ? 4
                             : type == OperandType::kE2m3 || type == OperandType::kE3m2 ? 6
                                                                                        : 8;
  if (bits == 8) return;
  for (std::size_t unit = 0; unit < elements.size(); unit += 16) {
    std::array<std::byte, 16> spread = {};
    for (std::uint32_t i = 0; i < 16; ++i) {
      const std::uint32_t first = i * bits;
      std::uint32_t word = static_cast<std::uint32_t>(elements[unit + first / 8]);
      if (first % 8 + bits > 8) word |= static_cast<std::uint32_t>(elements[unit + first / 8 + 1]) << 8;
      spread[i] = static_cast<std::byte>(word >> first % 8 & ((1u << bits) - 1));
    }
    std::copy(spread.begin(), spread.end(), elements.begin() + static_cast<std::ptrdiff_t>(unit));
  }
}

}  // namespace heddle::sim::machine
