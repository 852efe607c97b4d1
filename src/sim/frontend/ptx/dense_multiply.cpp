// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/ptx/dense_multiply.h"

#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/warp.h"
#include "sim/machine/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace heddle::sim::ptx {

namespace {

using machine::MmaOperand;

constexpr std::string_view kNumbers[] = {".f16", ".bf16", ".tf32", ".f64", ".s8",   ".u8",  ".s4",
                                         ".u4",  ".b1",   ".f32",  ".s32", ".e4m3", ".e5m2"};

OperandType operand_type(Number number) {
  return number == Number::kF16    ? OperandType::kF16
         : number == Number::kBf16 ? OperandType::kBf16
         : number == Number::kE4m3 ? OperandType::kE4m3
         : number == Number::kE5m2 ? OperandType::kE5m2
                                   : OperandType::kTf32;
}

// Of every eight elements along K the first four, or the others.
std::vector<std::uint64_t> half_of(const std::vector<std::uint64_t>& elements, std::uint32_t half) {
  std::vector<std::uint64_t> result;
  for (std::size_t at = 0; at < elements.size(); ++at) {
    if (at % 8 / 4 == half) result.push_back(elements[at]);
  }
  return result;
}

// Model: sums as mma.sync makes them. Those of wmma's tf32 differ from an H200's in the last places. Where C and
// D differ, C is converted first, and a D of f16 is rounded from the sum in f32. Hopper has no mma of fp8: its
// assembler multiplies the halves of the registers as f16, one on top of the other, and adds C last.
void multiply_floats(const DenseMultiply& how, const std::vector<std::uint64_t>& a,
                     const std::vector<std::uint64_t>& b, std::vector<std::uint64_t>& d) {
  const std::size_t bytes = bits_of(how.a) / 8;
  const auto operand = [&](MmaOperand::Side side, Number number, const std::vector<std::uint64_t>& elements,
                           std::uint32_t lines) {
    std::vector<std::byte> packed(elements.size() * bytes);
    for (std::size_t at = 0; at < elements.size(); ++at) std::memcpy(&packed[at * bytes], &elements[at], bytes);
    return MmaOperand(side, operand_type(number), false, lines,
                      static_cast<std::uint32_t>(elements.size()) / lines, packed.data());
  };
  const bool adds_halves = how.d == Number::kF16 && how.c == Number::kF16;
  const AccumulatorType type = adds_halves ? AccumulatorType::kF16 : AccumulatorType::kF32;
  std::vector<std::uint32_t> sums(d.size());
  for (std::size_t at = 0; at < d.size(); ++at) {
    sums[at] = how.c == Number::kF16 && !adds_halves
                   ? std::bit_cast<std::uint32_t>(static_cast<float>(widen<HalfFormat>(d[at])))
                   : static_cast<std::uint32_t>(d[at]);
  }
  const auto multiply = [&](const std::vector<std::uint64_t>& left, const std::vector<std::uint64_t>& right,
                            std::vector<std::uint32_t>& on) {
    constexpr machine::MmaArithmetic kArithmetic{.fraction_bits = 25, .result_fraction_bits = 23};
    machine::multiply_add(kArithmetic, operand(MmaOperand::Side::kA, how.a, left, how.m), 0, how.m,
                          operand(MmaOperand::Side::kB, how.b, right, how.n), type, on.data());
  };
  if (bytes == 1) {
    std::vector<std::uint32_t> products(d.size());
    for (const std::uint32_t half : {0u, 1u}) multiply(half_of(a, half), half_of(b, half), products);
    for (std::size_t at = 0; at < d.size(); ++at) {
      const float sum = std::bit_cast<float>(sums[at]) + std::bit_cast<float>(products[at]);
      sums[at] = std::bit_cast<std::uint32_t>(canonical(sum));
    }
  } else {
    multiply(a, b, sums);
  }
  for (std::size_t at = 0; at < d.size(); ++at) {
    d[at] =
        how.d == Number::kF16 && !adds_halves ? narrow<HalfFormat>(std::bit_cast<float>(sums[at]), 0) : sums[at];
  }
}

// Unverified: the order in which a card adds f64; here k by k, each step rounded once.
void multiply_doubles(const DenseMultiply& how, const std::vector<std::uint64_t>& a,
                      const std::vector<std::uint64_t>& b, std::vector<std::uint64_t>& d) {
  const RoundingScope scope(how.flags);
  for (std::uint32_t row = 0; row < how.m; ++row) {
    for (std::uint32_t column = 0; column < how.n; ++column) {
      double sum = get<double>(d[row * how.n + column]);
      for (std::uint32_t k = 0; k < how.k; ++k) {
        const double x = get<double>(a[row * how.k + k]);
        const double y = get<double>(b[column * how.k + k]);
        sum = with_nans(std::fma(x, y, sum), x, y, sum);
      }
      d[row * how.n + column] = put(sum);
    }
  }
}

// PTX: mma, wmma. Without .satfinite, an overflow wraps.
void multiply_integers(const DenseMultiply& how, const std::vector<std::uint64_t>& a,
                       const std::vector<std::uint64_t>& b, std::vector<std::uint64_t>& d) {
  const auto value = [](Number number, std::uint64_t bits) {
    const bool is_signed = number == Number::kS8 || number == Number::kS4;
    const auto plain = static_cast<std::int64_t>(bits);
    return is_signed && bits >> (bits_of(number) - 1) != 0 ? plain - (std::int64_t{1} << bits_of(number)) : plain;
  };
  for (std::uint32_t row = 0; row < how.m; ++row) {
    for (std::uint32_t column = 0; column < how.n; ++column) {
      std::int64_t sum = static_cast<std::int32_t>(d[row * how.n + column]);
      for (std::uint32_t k = 0; k < how.k; ++k) {
        const std::int64_t x = value(how.a, a[row * how.k + k]);
        const std::int64_t y = value(how.b, b[column * how.k + k]);
        sum += how.a != Number::kB1 ? x * y : (how.flags & DenseMultiply::kAnd) != 0 ? x & y : x ^ y;
      }
      if ((how.flags & DenseMultiply::kSaturate) != 0) {
        sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                       std::numeric_limits<std::int32_t>::max());
      }
      d[row * how.n + column] = static_cast<std::uint32_t>(sum);
    }
  }
}

}  // namespace

Number number_of(std::string_view name) {
  std::uint8_t number = 0;
  while (kNumbers[number] != name) ++number;
  return static_cast<Number>(number);
}

std::uint32_t bits_of(Number number) {
  switch (number) {
    case Number::kF16:
    case Number::kBf16: return 16;
    case Number::kS8:
    case Number::kU8:
    case Number::kE4m3:
    case Number::kE5m2: return 8;
    case Number::kS4:
    case Number::kU4: return 4;
    case Number::kB1: return 1;
    case Number::kF64: return 64;
    default: return 32;
  }
}

void multiply_dense(const DenseMultiply& how, const std::vector<std::uint64_t>& a,
                    const std::vector<std::uint64_t>& b, std::vector<std::uint64_t>& d) {
  if (how.d == Number::kS32) return multiply_integers(how, a, b, d);
  if (how.d == Number::kF64) return multiply_doubles(how, a, b, d);
  multiply_floats(how, a, b, d);
}

}  // namespace heddle::sim::ptx
