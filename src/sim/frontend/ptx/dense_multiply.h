// SPDX-License-Identifier: Apache-2.0
//
// D = A * B + C for matrices whose elements were taken out of registers one by one: what wmma and mma.sp do once
// they know which element is where.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle::sim::ptx {

enum class Number : std::uint8_t { kF16, kBf16, kTf32, kF64, kS8, kU8, kS4, kU4, kB1, kF32, kS32, kE4m3, kE5m2 };

Number number_of(std::string_view name);  // ".f16"
std::uint32_t bits_of(Number number);

struct DenseMultiply {
  // flags
  static constexpr std::uint32_t kSaturate = 4;  // below it: the rounding of f64, as in FloatFlags
  static constexpr std::uint32_t kAnd = 8;       // of bits: and, not xor

  std::uint32_t m, n, k;
  Number d, a, b, c;
  std::uint32_t flags = 0;
};

// The bits of the elements: of A row by row, of B column by column, of C row by row. D takes the place of C.
void multiply_dense(const DenseMultiply& how, const std::vector<std::uint64_t>& a,
                    const std::vector<std::uint64_t>& b, std::vector<std::uint64_t>& d);

}  // namespace heddle::sim::ptx
