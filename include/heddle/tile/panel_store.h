// SPDX-License-Identifier: Apache-2.0
//
// wgmma's sums to a matrix in global memory, a panel of at most 128 bytes of columns at a time: the epilogue,
// then a small tile of a store ring, then the copy engine. An epilogue that stores elements itself, where rows of
// the matrix end inside 16 bytes, says so by is_ragged, and one that reads what the tile overwrites by
// reads_output.
//
//   const PanelPlace at{.row = row, .col = col, .m = m, .n = n};
//   store_panel<Out, from, cols, Epilogue>(stores, sums, params.epilogue, &params.c, at);
#pragma once

#include <heddle/isa/fence.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/tile/epilogue.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/fill_transposed.h>
#include <heddle/tile/tile_tensor.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// Where the sums of a block of 64 rows go, of those that a warp has (16) or a warpgroup (64).
struct PanelPlace {
  std::uint32_t row;
  std::uint32_t col;
  std::uint32_t m;  // extents of the matrix
  std::uint32_t n;
  std::uint32_t rows_before = 0;  // of other matrices, under the same map
};

template <class Epilogue>
inline constexpr bool kStoresRaggedRows = requires(typename Epilogue::Params p) {
  Epilogue::is_ragged(p, 0u, 0u);
};

template <class Epilogue>
inline constexpr bool kMayReadOutput = requires(typename Epilogue::Params p) {
  Epilogue::reads_output(p);
};

// By a warp: 16 rows, columns `from` to `from + cols` of the block's sums. The map has boxes of as many.
template <class Out, std::uint32_t from, std::uint32_t cols, class Epilogue, class Stores, class Sums>
HEDDLE_DEVICE void store_panel(Stores& stores, Sums& sums, const typename Epilogue::Params& epilogue,
                               const isa::TensorMap* map, const PanelPlace& at) {
  bool is_stored = at.row < at.m && at.col < at.n;
  auto tile = stores.template acquire_as<TileTensor<Out, k_major_tile<Out>(16, cols, Swizzle::k128B)>>();
  if constexpr (is_plain_epilogue<Epilogue>) {
    fill_from_wgmma<from>(tile.tile(), sums);
  } else {
    const std::uint32_t lane = isa::laneid();
    WgmmaPanel<from / 2, cols / 2, Sums> panel(sums, at.row + lane / 4, at.col + lane % 4 * 2, at.m, at.n);
    Epilogue::template apply<Out>(epilogue, panel);
    if constexpr (kMayReadOutput<Epilogue>) {
      // Orders: those reads, ahead of the copy.
      if (Epilogue::reads_output(epilogue)) isa::fence_proxy_async_global();
    }
    bool is_ragged = false;
    if constexpr (kStoresRaggedRows<Epilogue>) is_ragged = Epilogue::is_ragged(epilogue, at.col + cols, at.n);
    if (is_ragged) {
      if constexpr (kStoresRaggedRows<Epilogue>) Epilogue::template store<Out>(epilogue, panel);
      is_stored = false;
    } else {
      fill_from_wgmma<from>(tile.tile(), sums);
    }
  }
  std::move(tile).release_if(
      is_stored, map, {static_cast<std::int32_t>(at.col), static_cast<std::int32_t>(at.rows_before + at.row)});
}

// By a warpgroup, as the sums are: their 64 rows are columns of the matrix, and `at` counts as the sums do.
template <class Out, std::uint32_t from, std::uint32_t cols, class Stores, class Sums>
HEDDLE_DEVICE void store_panel_transposed(Stores& stores, Sums& sums, const isa::TensorMap* map,
                                          const PanelPlace& at) {
  auto tile = stores.template acquire_as<TileTensor<Out, k_major_tile<Out>(cols, 64, Swizzle::k128B)>>();
  fill_transposed_from_wgmma<from>(tile.tile(), sums);
  std::move(tile).release_if(at.row < at.m && at.col < at.n, map,
                             {static_cast<std::int32_t>(at.row), static_cast<std::int32_t>(at.col)});
}

}  // namespace heddle::inline HEDDLE_TARGET
