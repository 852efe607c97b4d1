// SPDX-License-Identifier: Apache-2.0
//
// Rows of one group on their way to the output, and no others: the copy engine would store all rows of a tile.
#pragma once

#include "grouped_tiles.h"

#include <heddle/isa/memory.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/row_writer.h>
#include <heddle/tile/tile_tensor.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// Where the rows of all groups go. Rows begin on 16 bytes, and n is a multiple of 8.
struct GroupTarget {
  void* out = nullptr;
  std::uint64_t out_pitch = 0;  // elements
  std::uint32_t n = 0;
};

// By a warp that has filled the tile, which begins at `row` and `col`: its rows from `begin` to `end`, 16 bytes
// at a time. The target is a GroupTarget, or parameters with the same names.
// Orders: what the warp has written into the tile, ahead of its reads; they end before the tile is released.
template <Element Out, Layout layout, class Target>
HEDDLE_DEVICE void store_group_rows(const TileTensor<Out, layout>& tile, const Target& target, std::uint32_t row,
                                    std::uint32_t col, std::uint32_t begin, std::uint32_t end) {
  constexpr std::uint32_t per_16_bytes = 16 / sizeof(Out);
  constexpr std::uint32_t rows = layout.shape[0];
  constexpr std::uint32_t pieces = layout.shape[1] / per_16_bytes;
  isa::syncwarp();
  Out* const out = static_cast<Out*>(target.out) + row * target.out_pitch + col;
  for (std::uint32_t i = isa::laneid(); i < rows * pieces; i += isa::kWarpThreads) {
    const std::uint32_t at_row = i / pieces;
    const std::uint32_t at_col = i % pieces * per_16_bytes;
    if (row + at_row < begin || row + at_row >= end || col + at_col >= target.n) continue;
    isa::st_global(reinterpret_cast<isa::Bytes16*>(out + at_row * target.out_pitch + at_col),
                   tile.load_bytes16(at_row, at_col));
  }
}

// As RowWriter, for tiles of groups: by the copy engine where all rows of a warp are the group's. `map` has boxes
// of a warp's rows and a chunk's columns, and coordinates {column, row}.
template <Element Out, std::uint32_t tile_n, class Stores, std::uint32_t tile_m>
class GroupRowWriter {
  using Rows = RowWriter<Out, tile_n, Stores, tile_m>;

 public:
  static constexpr std::uint32_t rows = Rows::rows;
  static constexpr std::uint32_t chunk_cols = Rows::chunk_cols;
  static constexpr std::uint32_t lane_cols = Rows::lane_cols;
  static constexpr std::uint32_t chunks = Rows::chunks;

  HEDDLE_DEVICE GroupRowWriter(Stores& stores, const isa::TensorMap& map, const GroupTarget& target)
      : stores_(&stores), map_(&map), target_(&target) {}

  HEDDLE_DEVICE void start_tile(const GroupedTile& tile) {
    row_ = tile.row + isa::warp_idx() * rows;
    begin_ = tile.begin;
    end_ = tile.row + tile.rows;
    col_ = tile.n * tile_n;
  }
  // Of a chunk, what this lane has: its row, and the first of its columns.
  HEDDLE_DEVICE std::uint32_t lane_row() const { return row_ + row_in_tile(); }
  HEDDLE_DEVICE std::uint32_t lane_column(std::uint32_t chunk) const {
    return col_ + chunk * chunk_cols + first_col();
  }
  HEDDLE_DEVICE bool has_lane_row() const { return lane_row() >= begin_ && lane_row() < end_; }

  // By the whole warp.
  HEDDLE_DEVICE void store(std::uint32_t chunk, const float (&values)[lane_cols]) {
    const std::uint32_t col = col_ + chunk * chunk_cols;
    if (row_ >= end_ || row_ + rows <= begin_ || col >= target_->n) return;
    auto tile = stores_->template acquire_as<typename Rows::Tile>();
    fill_row(tile.tile(), row_in_tile(), first_col(), values);
    const bool is_whole = row_ >= begin_ && row_ + rows <= end_;
    if (!is_whole) store_group_rows(tile.tile(), *target_, row_, col, begin_, end_);
    std::move(tile).release_if(is_whole, map_, {static_cast<std::int32_t>(col), static_cast<std::int32_t>(row_)});
  }

 private:
  HEDDLE_DEVICE static std::uint32_t row_in_tile() { return isa::laneid() % rows; }
  HEDDLE_DEVICE static std::uint32_t first_col() { return isa::laneid() / rows * lane_cols; }

  Stores* stores_;
  const isa::TensorMap* map_;
  const GroupTarget* target_;
  std::uint32_t row_ = 0;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
  std::uint32_t col_ = 0;
};

}  // namespace heddle::inline HEDDLE_TARGET
