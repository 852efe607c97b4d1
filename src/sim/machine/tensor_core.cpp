// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/tensor_core.h"

#include <heddle/tile/element.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace heddle::sim::machine {

namespace {

constexpr int kF32Fraction = 23;
constexpr int kF32Bias = 127;
constexpr int kF16Fraction = 10;

// In place of an exponent, where the significand is 0. All lie far below every exponent, and still do when two
// are added.
constexpr std::int32_t kZero = -10'000;
constexpr std::int32_t kPlusInfinity = -10'001;
constexpr std::int32_t kMinusInfinity = -10'002;
constexpr std::int32_t kNan = -10'003;

// Products that can be added up in 32 bits: a term is below 4 * 2^25.
constexpr std::uint32_t kTermsPerWord = 16;
constexpr std::uint32_t kMaxDepth = 64;
constexpr std::uint32_t kMaxWords = kMaxDepth / kTermsPerWord;

constexpr std::uint32_t kLanes = MmaOperand::kLanes;

FloatFormat format_of(OperandType type) {
  switch (type) {
    case OperandType::kF16: return fp16::format;
    case OperandType::kBf16: return bf16::format;
    case OperandType::kTf32: return tf32::format;
    case OperandType::kE4m3: return e4m3::format;
    case OperandType::kE5m2: return e5m2::format;
    case OperandType::kE2m3: return e2m3::format;
    case OperandType::kE3m2: return e3m2::format;
    case OperandType::kE2m1: return e2m1::format;
    case OperandType::kU8:
    case OperandType::kS8: break;
  }
  std::abort();  // integers are not multiplied here
}

// A number is significand * 2^(exponent - mantissa bits of its format).
struct Element {
  std::int32_t significand;
  std::int32_t exponent;

  bool is_finite() const { return exponent >= kZero; }
};

// `pattern` has no bits above the format's.
inline Element take_apart(const FloatFormat& format, std::uint32_t pattern) {
  const std::uint32_t magnitude = pattern & ((1u << (format.exponent_bits + format.mantissa_bits)) - 1);
  const bool is_negative = pattern != magnitude;
  const std::uint32_t leading_one = 1u << format.mantissa_bits;
  const auto field = static_cast<std::int32_t>(magnitude >> format.mantissa_bits);
  const std::uint32_t fraction = magnitude & (leading_one - 1);
  if (magnitude == 0) return {0, kZero};
  if (field == (1 << format.exponent_bits) - 1) {
    if (format.specials == Specials::kInfinityAndNan) {
      if (fraction != 0) return {0, kNan};
      return {0, is_negative ? kMinusInfinity : kPlusInfinity};
    }
    if (format.specials == Specials::kNanOnly && fraction == leading_one - 1) return {0, kNan};
  }
  const auto significand = static_cast<std::int32_t>(field == 0 ? fraction : fraction | leading_one);
  return {is_negative ? -significand : significand, std::max(field, 1) - format.bias};
}

Element negated(Element element) {
  if (element.exponent == kPlusInfinity) return {0, kMinusInfinity};
  if (element.exponent == kMinusInfinity) return {0, kPlusInfinity};
  return {-element.significand, element.exponent};
}

// A float of the same kind and sign: what decides a sum in which something is not finite.
float stand_in(Element element) {
  switch (element.exponent) {
    case kZero: return 0.0f;
    case kPlusInfinity: return std::numeric_limits<float>::infinity();
    case kMinusInfinity: return -std::numeric_limits<float>::infinity();
    case kNan: return std::numeric_limits<float>::quiet_NaN();
    default: return element.significand < 0 ? -1.0f : 1.0f;
  }
}

// What is multiplied at once: a row of A with a block of B, depth x kLanes, and the block's part of D.
struct Block {
  const std::int32_t* a_significand;  // scaled: a product of the largest exponent has its last kept bit in bit 0
  const std::int32_t* a_exponent;
  const std::int32_t* b_significand;
  const std::int32_t* b_exponent;
  std::uint32_t depth;
  int fraction_bits;

  // D on the way in: signed significands of kF32Fraction fraction bits, and exponents of at least kZeroExponent.
  alignas(64) std::int32_t d_significand[kLanes];
  alignas(64) std::int32_t d_exponent[kLanes];

  // The result, in words that have to be added up, and the exponent that all terms were aligned to.
  alignas(64) std::int32_t word[kMaxWords + 1][kLanes];
  alignas(64) std::int32_t largest[kLanes];
};

// Integer vectors of the compiler, `lanes` words wide. They are never passed between functions that are not
// inlined, so it does not matter that wide ones have no calling convention on a plain processor.
template <int lanes>
struct VectorOf {
  typedef std::int32_t Signed __attribute__((vector_size(4 * lanes)));
  typedef std::uint32_t Unsigned __attribute__((vector_size(4 * lanes)));
};

// Shifts right toward zero.
template <int lanes>
[[gnu::always_inline]] inline void truncate(typename VectorOf<lanes>::Signed& value,
                                            const typename VectorOf<lanes>::Signed& distance) {
  using Vector = typename VectorOf<lanes>::Signed;
  using Bits = typename VectorOf<lanes>::Unsigned;
  const Vector sign = value >> 31;
  const auto magnitude = reinterpret_cast<Bits>((value ^ sign) - sign);
  const auto shift = reinterpret_cast<Bits>(distance < 31 ? distance : 31 + Vector{});
  value = (reinterpret_cast<Vector>(magnitude >> shift) ^ sign) - sign;
}

// The inner loop of every simulated matmul.
template <int lanes>
[[gnu::always_inline]] inline void add_up(Block& block) {
  using Vector = typename VectorOf<lanes>::Signed;
  for (std::uint32_t lane = 0; lane < kLanes; lane += lanes) {
    const auto load = [lane](Vector & vector, const std::int32_t* words) __attribute__((always_inline)) {
      std::memcpy(&vector, words + lane, sizeof vector);
    };
    Vector largest;
    load(largest, block.d_exponent);
    for (std::uint32_t k = 0; k < block.depth; ++k) {
      Vector exponent;
      load(exponent, block.b_exponent + k * kLanes);
      exponent += block.a_exponent[k];
      largest = largest > exponent ? largest : exponent;
    }
    std::memcpy(block.largest + lane, &largest, sizeof largest);
    for (std::uint32_t first = 0; first < block.depth; first += kTermsPerWord) {
      const std::uint32_t last = std::min(first + kTermsPerWord, block.depth);
      Vector sum = {};
      for (std::uint32_t k = first; k < last; ++k) {
        Vector product;
        Vector exponent;
        load(product, block.b_significand + k * kLanes);
        load(exponent, block.b_exponent + k * kLanes);
        product *= block.a_significand[k];
        truncate<lanes>(product, largest - exponent - block.a_exponent[k]);
        sum += product;
      }
      std::memcpy(block.word[1 + first / kTermsPerWord] + lane, &sum, sizeof sum);
    }
    Vector d;
    Vector exponent;
    load(d, block.d_significand);
    load(exponent, block.d_exponent);
    d <<= std::max(block.fraction_bits - kF32Fraction, 0);
    truncate<lanes>(d, largest - exponent + std::max(kF32Fraction - block.fraction_bits, 0));
    std::memcpy(block.word[0] + lane, &d, sizeof d);
  }
}

// The same loop for the processor that runs it: seven times as fast where vectors are eight words wide and
// each word is shifted by its own distance.
void add_up_plain(Block& block) { add_up<4>(block); }

#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_up_avx2(Block& block) { add_up<8>(block); }
#endif

using AddUp = void (*)(Block&);

AddUp fastest_add_up() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return add_up_avx2;
#endif
  return add_up_plain;
}

// magnitude * 2^scale, rounded to the nearest f16, ties to even.
std::uint32_t rounded_f16(std::uint64_t magnitude, int scale) {
  if (magnitude == 0) return 0;
  const int used = std::max(63 - std::countl_zero(magnitude) + scale, 1 - fp16::format.bias);
  if (used > fp16::format.bias) return 0x7C00;
  const int shift = used - kF16Fraction - scale;
  std::uint64_t significand = 0;
  if (shift <= 0) {
    significand = magnitude << -shift;
  } else if (shift < 63) {
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    const std::uint64_t rest = magnitude & (2 * half - 1);
    significand = magnitude >> shift;
    if (rest > half || (rest == half && (significand & 1) != 0)) ++significand;
  }
  // A carry out of the fraction is the next exponent, and out of the largest one, infinity.
  return (static_cast<std::uint32_t>(used + fp16::format.bias - 1) << kF16Fraction) +
         static_cast<std::uint32_t>(significand);
}

// D as a term, whatever its type with the fraction bits of f32.
Element accumulator_element(AccumulatorType type, std::uint32_t bits) {
  constexpr FloatFormat kF32{.exponent_bits = 8, .mantissa_bits = kF32Fraction, .bias = kF32Bias};
  if (type == AccumulatorType::kF32) return take_apart(kF32, bits);
  Element element = take_apart(fp16::format, bits & 0xFFFF);
  element.significand *= 1 << (kF32Fraction - kF16Fraction);
  return element;
}

// total * 2^scale as the result's bits.
std::uint32_t rounded(AccumulatorType type, std::int64_t total, int scale, int fraction_bits) {
  const auto magnitude = static_cast<std::uint64_t>(total < 0 ? -total : total);
  if (type == AccumulatorType::kF16) return rounded_f16(magnitude, scale) | (total < 0 ? 0x8000u : 0u);
  return truncated_f32(magnitude, scale, fraction_bits) | (total < 0 ? 0x8000'0000u : 0u);
}

// The sum of the terms that are not finite, which decides the result if there are any; else 0.
float special_sum(const MmaOperand& a, std::uint32_t row, const MmaOperand& b, std::uint32_t column,
                  Element addend) {
  const auto element = [](const MmaOperand& operand, std::uint32_t r, std::uint32_t k) {
    const std::size_t index = operand.index(r, k);
    return Element{operand.significand()[index], operand.exponent()[index]};
  };
  float sum = addend.is_finite() ? 0.0f : stand_in(addend);
  for (std::uint32_t k = 0; k < a.depth(); ++k) {
    const Element left = element(a, row, k);
    const Element right = element(b, column, k);
    if (!left.is_finite() || !right.is_finite()) sum += stand_in(left) * stand_in(right);
  }
  return sum;
}

std::uint32_t special_bits(AccumulatorType type, float value) {
  const bool is_f16 = type == AccumulatorType::kF16;
  if (std::isnan(value)) return is_f16 ? kNanF16 : kNanF32;
  if (is_f16) return value < 0 ? 0xFC00 : 0x7C00;
  return value < 0 ? 0xFF80'0000 : 0x7F80'0000;
}

}  // namespace

std::uint32_t truncated_f32(std::uint64_t magnitude, int scale, int fraction_bits) {
  if (magnitude == 0) return 0;
  const int exponent = 63 - std::countl_zero(magnitude) + scale;
  if (exponent > kF32Bias) return 0x7F80'0000;
  // A subnormal result has the exponent of the smallest normal one and no leading one.
  const int used = std::max(exponent, 1 - kF32Bias);
  const int shift = used - kF32Fraction - scale;
  const auto significand = static_cast<std::uint32_t>(shift >= 64  ? 0
                                                      : shift >= 0 ? magnitude >> shift
                                                                   : magnitude << -shift);
  const std::uint32_t kept = significand & ~((1u << (kF32Fraction - fraction_bits)) - 1);
  return (static_cast<std::uint32_t>(used + kF32Bias - 1) << kF32Fraction) + kept;
}

MmaArithmetic mma_arithmetic(Arch arch, OperandType type) {
  const bool is_short = arch == Arch::kSm90 && (type == OperandType::kE4m3 || type == OperandType::kE5m2);
  return is_short ? MmaArithmetic{.fraction_bits = 13, .result_fraction_bits = 13}
                  : MmaArithmetic{.fraction_bits = 25, .result_fraction_bits = kF32Fraction};
}

std::uint32_t stored_bytes(OperandType type) {
  switch (type) {
    case OperandType::kF16:
    case OperandType::kBf16: return 2;
    case OperandType::kTf32: return 4;
    default: return 1;
  }
}

MmaOperand::MmaOperand(Side side, OperandType type, bool negate, std::uint32_t rows, std::uint32_t depth,
                       const std::byte* elements)
    : lanes_(side == Side::kA ? 1 : kLanes),
      rows_(rows),
      depth_(depth),
      mantissa_bits_(format_of(type).mantissa_bits),
      significand_(std::size_t{(rows + lanes_ - 1) / lanes_} * lanes_ * depth),
      exponent_(significand_.size(), kZero),
      row_is_special_(rows) {
  const FloatFormat format = format_of(type);
  const std::uint32_t bytes = stored_bytes(type);
  const int unused_bits = type == OperandType::kTf32 ? tf32::unused_bits : 0;
  const std::uint32_t format_mask = (2u << (format.exponent_bits + format.mantissa_bits)) - 1;
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t k = 0; k < depth; ++k, elements += bytes) {
      std::uint32_t pattern = 0;
      std::memcpy(&pattern, elements, bytes);
      Element element = take_apart(format, (pattern >> unused_bits) & format_mask);
      if (negate) element = negated(element);
      significand_[index(row, k)] = element.significand;
      exponent_[index(row, k)] = element.exponent;
      if (!element.is_finite()) row_is_special_[row] = 1;
    }
  }
}

void MmaOperand::scale_row(std::uint32_t row, std::int32_t exponent, bool is_nan) {
  for (std::uint32_t k = 0; k < depth_; ++k) {
    const std::size_t at = index(row, k);
    if (is_nan) {
      significand_[at] = 0;
      exponent_[at] = kNan;
    } else if (exponent_[at] > kZero) {
      exponent_[at] += exponent;
    }
  }
  if (is_nan) row_is_special_[row] = 1;
}

void multiply_add(const MmaArithmetic& arithmetic, const MmaOperand& a, std::uint32_t first_row,
                  std::uint32_t row_count, const MmaOperand& b, AccumulatorType type, std::uint32_t* d,
                  MmaLoop loop) {
  static const AddUp fastest = fastest_add_up();
  const AddUp add_up_block = loop == MmaLoop::kFastest ? fastest : add_up_plain;
  const std::uint32_t columns = b.rows();
  const std::uint32_t words = 1 + (a.depth() + kTermsPerWord - 1) / kTermsPerWord;
  const std::int32_t scale = 1 << (arithmetic.fraction_bits - a.mantissa_bits() - b.mantissa_bits());
  std::array<std::int32_t, kMaxDepth> a_significand = {};
  Block block = {};
  block.a_significand = a_significand.data();
  block.depth = a.depth();
  block.fraction_bits = arithmetic.fraction_bits;
  for (std::uint32_t row = first_row; row < first_row + row_count; ++row, d += columns) {
    for (std::uint32_t k = 0; k < a.depth(); ++k) a_significand[k] = a.significand()[a.index(row, k)] * scale;
    block.a_exponent = &a.exponent()[a.index(row, 0)];
    for (std::uint32_t first = 0; first < columns; first += kLanes) {
      const std::uint32_t lanes = std::min(kLanes, columns - first);
      block.b_significand = &b.significand()[b.index(first, 0)];
      block.b_exponent = &b.exponent()[b.index(first, 0)];
      bool is_special = a.is_special(row);
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const Element addend = accumulator_element(type, d[first + lane]);
        block.d_significand[lane] = addend.significand;
        block.d_exponent[lane] = std::max(addend.exponent, kZeroExponent);
        is_special |= !addend.is_finite() || b.is_special(first + lane);
      }
      add_up_block(block);
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        std::uint32_t& result = d[first + lane];
        if (is_special) {
          const float sum = special_sum(a, row, b, first + lane, accumulator_element(type, result));
          if (!std::isfinite(sum)) {
            result = special_bits(type, sum);
            continue;
          }
        }
        std::int64_t total = 0;
        for (std::uint32_t word = 0; word < words; ++word) total += block.word[word][lane];
        result =
            rounded(type, total, block.largest[lane] - arithmetic.fraction_bits, arithmetic.result_fraction_bits);
      }
    }
  }
}

void multiply_add(const IntegerOperand& a, const IntegerOperand& b, std::uint32_t depth, bool saturates,
                  std::uint32_t* d) {
  const auto value = [](OperandType type, std::byte element) {
    return type == OperandType::kS8 ? static_cast<std::int32_t>(static_cast<std::int8_t>(element))
                                    : static_cast<std::int32_t>(element);
  };
  for (std::uint32_t row = 0; row < a.rows; ++row) {
    for (std::uint32_t column = 0; column < b.rows; ++column, ++d) {
      std::int64_t sum = static_cast<std::int32_t>(*d);
      for (std::uint32_t k = 0; k < depth; ++k) {
        sum += value(a.type, a.elements[row * depth + k]) * value(b.type, b.elements[column * depth + k]);
      }
      if (saturates) {
        sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                       std::numeric_limits<std::int32_t>::max());
      }
      *d = static_cast<std::uint32_t>(sum);
    }
  }
}

}  // namespace heddle::sim::machine
