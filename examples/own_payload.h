// SPDX-License-Identifier: Apache-2.0
//
// A payload of one's own: what an input pipeline carries is up to the kernel.
#pragma once

#include <heddle/pipeline/input_tile_pipeline.h>

namespace heddle::inline HEDDLE_TARGET {

// [payload]
// A tile of activations, and a scale for each of its columns.
class ScaledRows {
 public:
  template <std::uint32_t num_stages>
  struct Storage {
    SMemTileArray2D<bf16, TileShape{64, 64}, num_stages> rows;
    SMemTileArray2DRowMajor<float, TileShape{1, 64}, num_stages> scales;
  };
  using Rows = decltype(Storage<1>::rows);
  using Scales = decltype(Storage<1>::scales);
  struct Tiles {
    Rows::Tile rows;
    Scales::Tile scales;
  };
  static constexpr std::uint32_t tiles_per_stage = 2;
  static constexpr std::uint32_t tx_bytes = Rows::Tile::tx_bytes() + Scales::Tile::tx_bytes();
  static constexpr std::uint32_t stage_bytes = Rows::tile_stride_bytes + Scales::tile_stride_bytes;

  HEDDLE_HOST_DEVICE explicit ScaledRows(auto& storage)
      : rows_(storage.rows.view()), scales_(storage.scales.view()) {}
  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE Tiles get_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return {rows_[stage * k_group_size + k], scales_[stage * k_group_size + k]};
  }

 private:
  Rows::View rows_;
  Scales::View scales_;
};
// [payload]

static_assert(TilePayload<ScaledRows>);

}  // namespace heddle::inline HEDDLE_TARGET
