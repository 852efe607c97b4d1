// SPDX-License-Identifier: Apache-2.0
//
// As fill_from_wgmma of fill_tile.h, with rows and columns exchanged: where the operands of a product were, too,
// so that what is stored has them the right way round.
//
//   auto c = stores.acquire();                           // StoreTilePipeline<CTiles, 4>, 64 columns
//   fill_transposed_from_wgmma<first>(c.tile(), sums);   // its rows: the sums' columns from `first` on
//   std::move(c).release(&params.c, {col, row});
#pragma once

#include <heddle/isa/matrix.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/tile_tensor.h>

namespace heddle::inline HEDDLE_TARGET {

// By a whole warpgroup: its 64 rows of wgmma's sums become 64 columns of the tile, 16 for each warp. Columns of
// the sums from `first_col` on are the rows. PTX: Register Fragments for wgmma.mma_async; stmatrix.
template <std::uint32_t first_col = 0, OutputElement T, Layout layout, class Sums>
HEDDLE_DEVICE void fill_transposed_from_wgmma(const TileTensor<T, layout>& tile, const Sums& sums,
                                              CallSite site = CallSite::here()) {
  constexpr std::uint32_t rows = layout.shape[0];
  static_assert(layout.rank == 2 && layout.shape[1] == 64,
                "a warpgroup has 64 rows of the sums: make the tile's columns 64");
  static_assert(rows % 8 == 0 && first_col % 8 == 0, "wgmma's columns come in eights: take so many, from there");
  const std::uint32_t lane = isa::laneid() % 32;  // said for the compiler, which knows no bound
  const std::uint32_t first = isa::warp_idx() % 4 * 16;
  HEDDLE_UNROLL
  for (std::uint32_t row = 0; row < rows; row += 8) {
    const std::uint32_t from =
        (first_col + row) / 2;  // registers 0 and 1 of column lane / 4, 2 and 3 of the 8th on
    if constexpr (sizeof(T) == 2) {
      if (row % 16 != 0) continue;
      if (row + 16 <= rows) {
        isa::stmatrix_x4_trans(
            tile.pointer(row + lane / 16 * 8 + lane % 8, first + lane / 8 % 2 * 8),
            {pack_pair<T>(sums[from], sums[from + 1]), pack_pair<T>(sums[from + 2], sums[from + 3]),
             pack_pair<T>(sums[from + 4], sums[from + 5]), pack_pair<T>(sums[from + 6], sums[from + 7])},
            site);
      } else {
        isa::stmatrix_x2_trans(
            tile.pointer(row + lane % 8, first + lane / 8 % 2 * 8),
            {pack_pair<T>(sums[from], sums[from + 1]), pack_pair<T>(sums[from + 2], sums[from + 3])}, site);
      }
    } else {
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < 4; ++i) {
        tile.store(sums[from + i], row + lane % 4 * 2 + i % 2, first + lane / 4 + i / 2 * 8, site);
      }
    }
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
