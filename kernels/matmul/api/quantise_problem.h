// SPDX-License-Identifier: Apache-2.0
//
// From bf16 to e4m3 with float scales for blocks of numbers, as matmul_grouped takes them with
// GroupScaling::kBlocks:
//
//   kRows     one scale for 128 numbers of a row, as A has them: scales are [cols / 128, scales_pitch], a number
//   for
//             each row in each line.
//   kSquares  one scale for 128 x 128 numbers, as B has them: scales are [rows / 128, cols / 128]. For several
//             matrices below one another, their rows are a multiple of 128.
//
// A scale is the largest magnitude of its block divided by 448, the largest e4m3, in float; 1 where all are
// zeros. With powers of two it is the next power of two that is not smaller. Numbers are divided by their scale
// in float and rounded to the nearest e4m3, ties to even: host and device give the same bits. NaNs of all kinds
// become the NaN 0x7f and have no part in a scale; an infinity makes its block's scale infinite.
#pragma once

#include <cstdint>

namespace heddle {

enum class QuantiseBlocks : std::uint8_t { kRows, kSquares };

// Sizes and pitches in elements. A size may be 0.
struct QuantiseProblem {
  std::int64_t rows = 0;
  std::int64_t cols = 0;  // a multiple of 4
  QuantiseBlocks blocks = QuantiseBlocks::kRows;
  bool has_powers_of_two = false;
  std::int64_t in_pitch = 0;      // from one row to the next, a multiple of 4; 0: rows follow one another
  std::int64_t out_pitch = 0;     // the same
  std::int64_t scales_pitch = 0;  // with kRows: 0: rows rounded up to a multiple of 4
  bool is_dependent = true;       // on a GPU: may start while the kernel before it in the stream still runs
};

struct QuantiseTensors {
  const void* in = nullptr;  // bf16, on 8 bytes
  void* out = nullptr;       // e4m3, on 4 bytes
  float* scales = nullptr;
};

}  // namespace heddle
