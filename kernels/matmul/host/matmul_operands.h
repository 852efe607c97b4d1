// SPDX-License-Identifier: Apache-2.0
//
// What a matmul's kernel is given, on every architecture: matrices in the memory of the device, and in which
// order and parts they are worked on. matmul_sm90_params and matmul_sm100_params make a kernel's parameters of
// it, launch_matmul (matmul_launch.h) starts it.
//
//   MatmulOperands operands{.m = m, .n = n, .k = k, .a = {a, m, k}, .b = {b, n, k},
//                           .out = {MatmulElement::kBf16, c, m, n}};
#pragma once

#include "matmul/api/matmul_element.h"

#include <heddle/host/error.h>
#include <heddle/host/tile_map.h>
#include <heddle/kernel/scheduler.h>
#include <heddle/tile/early_rows.h>

#include <algorithm>
#include <string>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// Row-major matrices of one size that a kernel stores to, in elements.
struct MatmulOutput {
  MatmulElement type = MatmulElement::kBf16;
  void* address = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t pitch = 0;  // from one row to the next; 0: rows follow one another
  std::uint64_t batches = 1;
  std::uint64_t batch_stride = 0;  // 0: matrices follow one another
  bool is_ragged = false;          // rows may end inside of 16 bytes, for a kernel that stores those

  std::uint64_t row_elems() const { return pitch != 0 ? pitch : cols; }
  std::uint64_t matrix_elems() const { return batch_stride != 0 ? batch_stride : row_elems() * rows; }
  std::uint32_t element_bytes() const {
    return type == MatmulElement::kFp32                                   ? 4
           : type == MatmulElement::kBf16 || type == MatmulElement::kFp16 ? 2
                                                                          : 1;
  }
  TensorType tensor_type() const {
    return type == MatmulElement::kFp32   ? TensorType::kF32
           : type == MatmulElement::kBf16 ? TensorType::kBF16
           : type == MatmulElement::kFp16 ? TensorType::kF16
                                          : TensorType::kU8;
  }

  // For boxes of so many rows and columns. Of rank 2, all matrices are rows of one.
  isa::TensorMap map(std::uint32_t rank, std::uint32_t box_rows, std::uint32_t box_cols,
                     L2Promotion promotion) const {
    return make_tensor_map({.type = tensor_type(),
                            .rank = rank,
                            .address = address,
                            .dims = {cols, rank == 2 ? rows * batches : rows, batches},
                            .strides = {row_elems() * element_bytes(), matrix_elems() * element_bytes()},
                            .box = {box_cols, box_rows, 1},
                            .swizzle = Swizzle::k128B,
                            .l2_promotion = promotion});
  }
};

// `n` counts columns of the sums, of which an epilogue that folds makes fewer.
struct MatmulOperands {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  TiledMatrix a;  // as they are stored
  TiledMatrix b;
  MatmulOutput out;
  std::uint32_t splits = 1;  // parts of K, each with sums of its own
  bool is_joined = false;    // which the CTAs of a cluster add up: see MatmulSm90Config::joins
  std::uint32_t group = 0;   // clusters' tiles across a band; 0: as configured
  Raster raster = Raster::kConfigured;
  bool is_dependent = false;  // the launch overlaps with the kernel ahead
};

template <Element T>
EarlyRows early_rows_of(const TiledMatrix& matrix) {
  return {.address = static_cast<const char*>(matrix.address),
          .pitch = (matrix.pitch != 0 ? matrix.pitch : matrix.cols) * sizeof(T),
          .rows = static_cast<std::uint32_t>(matrix.rows),
          .row_bytes = static_cast<std::uint32_t>(matrix.cols * sizeof(T))};
}

// As a kernel with swapped operands has them. What it stores to is as before.
inline MatmulOperands swapped(MatmulOperands call) {
  std::swap(call.m, call.n);
  std::swap(call.a, call.b);
  call.raster = call.raster == Raster::kAlongM   ? Raster::kAlongN
                : call.raster == Raster::kAlongN ? Raster::kAlongM
                                                 : call.raster;
  return call;
}

constexpr std::uint32_t tiles_along(std::int64_t elems, std::uint32_t tile) {
  return static_cast<std::uint32_t>((elems + tile - 1) / tile);
}

// How many lines a CTA asks for early of each of the `rows` rows that it copies for its first tile: what memory
// delivers while the kernel ahead ends. Where tiles share rows of both operands several CTAs ask for each line,
// and many would only delay what the copy engines ask for.
constexpr std::uint32_t early_lines(std::uint32_t rows, std::uint64_t row_bytes, bool shares_both) {
  const std::uint32_t bytes = (shares_both ? 16u : 64u) << 10;
  const std::uint32_t lines = tiles_along(bytes, rows * kLineBytes);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(lines, (row_bytes + kLineBytes - 1) / kLineBytes));
}

// Throws for an output whose rows end inside of 16 bytes, which only the epilogue of the host's interface stores:
// the copy engine would write behind them.
inline void check_whole_rows(const MatmulOutput& out) {
  const std::uint64_t bytes = out.cols * out.element_bytes();
  if (out.is_ragged || bytes % 16 == 0) return;
  throw InputError("matmul: a row of the output is " + std::to_string(bytes) +
                   " bytes; with this epilogue it must be a multiple of 16. " +
                   std::to_string((bytes + 15) / 16 * 16 / out.element_bytes()) + " columns would pass");
}

template <class Kernel>
TileSchedulerParams matmul_tiles(const TileGrid& grid) {
  if (const std::uint64_t tiles = cluster_tiles_of<Kernel::kScheduler>(grid); tiles > kMaxClusterTiles) {
    throw InputError("matmul: the output has " + std::to_string(tiles) + " tiles; a launch has at most " +
                     std::to_string(kMaxClusterTiles));
  }
  return make_tile_scheduler_params<Kernel::kScheduler>(grid);
}

}  // namespace heddle::inline HEDDLE_TARGET
