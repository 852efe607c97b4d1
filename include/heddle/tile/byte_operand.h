// SPDX-License-Identifier: Apache-2.0
//
// Sums of a warpgroup as A of its next multiplication where that takes numbers of 8 bits: to_operand of
// wgmma_sums.h for e4m3 and e5m2.
//
//   const auto p = to_byte_operand<e4m3>(values);
//   auto next = more_sums.multiply(p, v.operand());
#pragma once

#include <heddle/isa/permute.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/wgmma_sums.h>

namespace heddle::inline HEDDLE_TARGET {

// The sums, rounded to T; their columns become K. A register of the operand has four neighbours of a row; a
// thread's sums are two of each eight columns, so that it takes what it needs from two lanes of its four. All
// lanes of the warp do the same. PTX: Register Fragments for wgmma.mma_async.
template <Element T, WgmmaShape shape>
requires(sizeof(T) == 1)
    HEDDLE_DEVICE RegisterOperand<T, shape.n> to_byte_operand(const WgmmaValues<shape>& values) {
  const std::uint32_t lane = isa::laneid();
  const std::uint32_t from = lane / 4 * 4 + lane % 2 * 2;
  // Halves of two lanes. Not by a condition: nvcc makes a branch of it, and shuffles in both of its ways, where
  // lanes have to meet again for each.
  const std::uint32_t halves = lane % 4 >= 2 ? 0x7632 : 0x5410;
  RegisterOperand<T, shape.n> operand;
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < values.count; i += 8) {
    HEDDLE_UNROLL
    for (std::uint32_t row = 0; row < 2; ++row) {
      // Of sixteen columns the lower eight and the upper eight.
      const std::uint32_t at = i + 2 * row;
      const std::uint32_t own =
          pack_pair<T>(values[at], values[at + 1]) | pack_pair<T>(values[at + 4], values[at + 5]) << 16;
      const std::uint32_t first = isa::shfl_sync_idx(own, from);
      const std::uint32_t second = isa::shfl_sync_idx(own, from + 1);
      operand.fragment(i / 16 * 32)[i / 8 % 2 * 2 + row] = isa::prmt_b32(first, second, halves);
    }
  }
  return operand;
}

}  // namespace heddle::inline HEDDLE_TARGET
