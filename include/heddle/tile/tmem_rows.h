// SPDX-License-Identifier: Apache-2.0
//
// Rows of accumulators in tensor memory: a thread's row in registers, and all rows multiplied where they lie.
//
//   TmemRow<128> s;
//   load_row(plan.region<"scores">(t), s);          // s[i] is column i of this thread's row
//   const float largest = row_max(s);               // as of wgmma's sums, in tile/wgmma_sums.h
//   scale_rows(plan.region<"output">(t), factor);   // this thread's row, times its own factor
//
// By warpgroups that begin at a multiple of four warps, with accumulators of 128 rows: thread i has row i.
#pragma once

#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tmem.h>
#include <heddle/tile/tmem_view.h>

namespace heddle::inline HEDDLE_TARGET {

template <std::uint32_t cols>
struct TmemRow {
  static constexpr std::uint32_t count = cols;
  float values[count];

  HEDDLE_DEVICE float& operator[](std::uint32_t i) { return values[i]; }
  HEDDLE_DEVICE float operator[](std::uint32_t i) const { return values[i]; }
  // As the fragments of a warpgroup have them.
  HEDDLE_DEVICE static std::uint32_t row(std::uint32_t) { return isa::tid_x() % 128; }
  HEDDLE_DEVICE static std::uint32_t col(std::uint32_t i) { return i; }
};

namespace detail {

// What a load or store moves: as many registers of a thread.
inline constexpr std::uint32_t kTmemRowPart = 32;

}  // namespace detail

// The whole row, and waits for it.
template <AccumulatorShape shape, std::uint32_t cols>
HEDDLE_DEVICE void load_row(const TmemTensor<float, shape>& from, TmemRow<cols>& row) {
  constexpr std::uint32_t kPart = detail::kTmemRowPart;
  static_assert(shape.m == 128 && shape.n == cols && cols % kPart == 0,
                "rows of accumulators with 128 rows and a multiple of 32 columns");
  TmemFragment<float, kPart> parts[cols / kPart];
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < cols / kPart; ++i) from.load(parts[i], i * kPart);
  isa::tcgen05_wait_ld();
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < cols; ++i) row[i] = parts[i / kPart][i % kPart];
}

// The largest number and the sum of the row.
template <std::uint32_t cols>
HEDDLE_DEVICE float row_max(const TmemRow<cols>& row) {
  float largest = row[0];
  HEDDLE_UNROLL
  for (std::uint32_t i = 1; i < cols; ++i) largest = __builtin_fmaxf(largest, row[i]);
  return largest;
}
template <std::uint32_t cols>
HEDDLE_DEVICE float row_sum(const TmemRow<cols>& row) {
  float sum = row[0];
  HEDDLE_UNROLL
  for (std::uint32_t i = 1; i < cols; ++i) sum += row[i];
  return sum;
}

// Orders: the products, ahead of what this thread does afterwards.
template <AccumulatorShape shape>
HEDDLE_DEVICE void scale_rows(const TmemTensor<float, shape>& sums, float factor) {
  constexpr std::uint32_t kPart = detail::kTmemRowPart;
  static_assert(shape.m == 128 && shape.n % kPart == 0,
                "rows of accumulators with 128 rows and a multiple of 32 columns");
  HEDDLE_UNROLL
  for (std::uint32_t col = 0; col < shape.n; col += kPart) {
    TmemFragment<float, kPart> part;
    sums.load(part, col);
    isa::tcgen05_wait_ld();
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < kPart; ++i) {
      part.words[i] = __builtin_bit_cast(std::uint32_t, part[i] * factor);
    }
    sums.store(part, col);
  }
  isa::tcgen05_wait_st();
}

}  // namespace heddle::inline HEDDLE_TARGET
