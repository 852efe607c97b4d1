// SPDX-License-Identifier: Apache-2.0
//
// store_to: what a warpgroup has in its registers to a tile, rounded to the tile's type. One word for the sums of
// wgmma, which go by stmatrix where the type has 16 bits, and for rows out of tensor memory.
//
//   auto c = stores.acquire();                    // StoreTilePipeline<CTiles>
//   store_to(c.tile(), values);                   // WgmmaValues, or a TmemRow
//   std::move(c).release(&params.c, {col, row});
//
// All 128 threads of the warpgroup do the same. Tiles of a part of the columns: tile/fill_tile.h.
#pragma once

#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/tile_tensor.h>
#include <heddle/tile/tmem_plan.h>
#include <heddle/tile/tmem_rows.h>
#include <heddle/tile/wgmma_sums.h>

namespace heddle::inline HEDDLE_TARGET {

namespace detail {

template <Layout layout, std::uint32_t rows, std::uint32_t cols>
HEDDLE_HOST_DEVICE constexpr void check_holds() {
  static_assert(layout.rank == 2 && layout.shape[0] == rows && layout.shape[1] == cols,
                "the tile is not as large as what is stored to it: give both the same rows and columns");
}

}  // namespace detail

template <OutputElement T, Layout layout, WgmmaShape shape, std::uint32_t row_blocks>
HEDDLE_DEVICE void store_to(const TileTensor<T, layout>& tile, const WgmmaValues<shape, row_blocks>& values,
                            CallSite site = CallSite::here()) {
  detail::check_holds<layout, row_blocks * kWgmmaM, shape.n>();
  constexpr std::uint32_t warp_rows = 16;
  const std::uint32_t warp = isa::warp_idx() % 4;
  HEDDLE_UNROLL
  for (std::uint32_t block = 0; block < row_blocks; ++block) {
    fill_from_wgmma(tile.template slice<warp_rows, shape.n>(block * 4 + warp), values.block(block), site);
  }
}

template <OutputElement T, Layout layout, std::uint32_t cols>
HEDDLE_DEVICE void store_to(const TileTensor<T, layout>& tile, const TmemRow<cols>& row,
                            CallSite site = CallSite::here()) {
  detail::check_holds<layout, kTmemLanes, cols>();
  fill_row(tile, row.row(0), 0, row.values, site);
}

// An operand in tensor memory. tcgen05_wait_st follows before anyone else hears of it.
template <Element T, std::uint32_t row_k>
HEDDLE_DEVICE void store_to(const PackedTmem<T, row_k>& operand, const TmemRow<row_k>& row,
                            CallSite site = CallSite::here()) {
  operand.store(row.values, 0, site);
}

}  // namespace heddle::inline HEDDLE_TARGET
