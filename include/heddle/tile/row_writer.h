// SPDX-License-Identifier: Apache-2.0
//
// Numbers in registers, a row or half of one in each lane as tensor memory gives them, to a matrix in global
// memory: chunk by chunk through a ring of small tiles, by the copy engine. Where rows of the matrix end inside
// of 16 bytes, which the copy engine would write past, the chunks at that edge are stored element by element.
//
//   RowWriter<bf16, 128, Stores> writer(stores, params.c);
//   writer.start_tile(row, col, batch);
//   for (...) writer.store(chunk, values);
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/layout.h>
#include <heddle/tile/tile_tensor.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// Where rows go. `map` has boxes of a warp's rows and a chunk's columns, and coordinates {column, row, batch}.
struct RowTarget {
  isa::TensorMap map;
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  void* ragged_out = nullptr;      // the matrix, where its rows end inside 16 bytes
  std::uint64_t pitch = 0;         // elements
  std::uint64_t batch_stride = 0;  // elements
};

// A tile is stored in chunks of columns, a row of which is at most 128 bytes.
template <Element Out, std::uint32_t tile_n>
HEDDLE_HOST_DEVICE constexpr std::uint32_t row_chunk_cols() {
  constexpr std::uint32_t most = 128 / sizeof(Out);
  constexpr std::uint32_t cols = tile_n % most == 0 ? most : tile_n % (most / 2) == 0 ? most / 2 : most / 4;
  static_assert(tile_n % cols == 0, "the columns of a tile are whole chunks: make tile_n a multiple of 32");
  return cols;
}

// How one warp stores its rows, a quarter of a tile's: chunk by chunk through a ring of small tiles that only it
// uses. A lane has a row of the chunk, or with 16 rows half of one: lane t and lane t + 16 have row t.
template <Element Out, std::uint32_t tile_n, class Stores, std::uint32_t tile_m = 128>
class RowWriter {
 public:
  static constexpr std::uint32_t rows = tile_m / 4;
  static_assert(rows == 32 || rows == 16, "a warp has 32 rows or 16: make tile_m 128 or 64");
  static constexpr std::uint32_t chunk_cols = row_chunk_cols<Out, tile_n>();
  static constexpr std::uint32_t lane_cols = chunk_cols * rows / 32;
  static constexpr std::uint32_t chunks = tile_n / chunk_cols;
  using Tile = TileTensor<Out, k_major_tile<Out>(rows, chunk_cols, Swizzle::k128B)>;

  HEDDLE_DEVICE RowWriter(Stores& stores, const RowTarget& target) : stores_(&stores), target_(&target) {}

  // The first row and column of a tile that the writer stores to from here on.
  HEDDLE_DEVICE void start_tile(std::uint32_t row, std::uint32_t col, std::uint32_t batch) {
    row_ = row + isa::warp_idx() * rows;
    col_ = col;
    batch_ = batch;
  }
  // The first column of a chunk that this lane has.
  HEDDLE_DEVICE std::uint32_t lane_column(std::uint32_t chunk) const {
    return col_ + chunk * chunk_cols + first_col();
  }

  HEDDLE_DEVICE std::uint32_t lane_row() const { return row_ + row_in_tile(); }

  // By the whole warp.
  HEDDLE_DEVICE void store(std::uint32_t chunk, const float (&values)[lane_cols]) {
    const std::uint32_t col = col_ + chunk * chunk_cols;
    const bool is_ragged = target_->ragged_out != nullptr && col + chunk_cols > target_->n;
    auto tile = stores_->template acquire_as<Tile>();
    if (is_ragged) {
      store_elements(lane_column(chunk), values);
    } else {
      fill_row(tile.tile(), row_in_tile(), first_col(), values);
    }
    std::move(tile).release_if(
        !is_ragged && row_ < target_->m && col < target_->n, &target_->map,
        {static_cast<std::int32_t>(col), static_cast<std::int32_t>(row_), static_cast<std::int32_t>(batch_)});
  }

 private:
  HEDDLE_DEVICE static std::uint32_t row_in_tile() { return isa::laneid() % rows; }
  HEDDLE_DEVICE static std::uint32_t first_col() { return isa::laneid() / rows * lane_cols; }

  HEDDLE_DEVICE void store_elements(std::uint32_t first, const float (&values)[lane_cols]) const {
    if (lane_row() >= target_->m) return;
    Out* const row =
        static_cast<Out*>(target_->ragged_out) + batch_ * target_->batch_stride + lane_row() * target_->pitch;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < lane_cols; ++i) {
      if (first + i < target_->n) isa::st_global(row + first + i, as_element<Out>(values[i]));
    }
  }

  Stores* stores_;
  const RowTarget* target_;
  std::uint32_t row_ = 0;
  std::uint32_t col_ = 0;
  std::uint32_t batch_ = 0;
};

}  // namespace heddle::inline HEDDLE_TARGET
