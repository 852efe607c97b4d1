// SPDX-License-Identifier: Apache-2.0
//
// wgmma's sums to a matrix in global memory, a panel of at most 128 bytes of columns at a time: the epilogue,
// then a small tile of a store ring, then the copy engine. The copy engine clips at multiples of 16 bytes: an
// epilogue that says by ragged_out where a matrix lies whose rows end elsewhere has the panels at that edge
// stored number by number. One that reads what the tile overwrites by reads_output. One that its kernel has
// applied to all sums before it stores any of them, in one text for every type that may be stored, says so by
// is_applied_before.
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
  Epilogue::ragged_out(p);
};

template <class Epilogue>
inline constexpr bool kMayReadOutput = requires(typename Epilogue::Params p) {
  Epilogue::reads_output(p);
};

template <class Epilogue>
inline constexpr bool kIsAppliedBefore = requires {
  requires Epilogue::is_applied_before;
};

// By a warp that has filled a tile: its numbers that are inside of the matrix, one at a time.
// Orders: what the lanes wrote, ahead of these reads.
template <OutputElement Out, Layout layout>
HEDDLE_DEVICE void store_elements(const TileTensor<Out, layout>& tile, Out* matrix, std::uint64_t pitch,
                                  const PanelPlace& at) {
  constexpr std::uint32_t cols = layout.shape[1];
  isa::syncwarp();
  HEDDLE_NO_UNROLL
  for (std::uint32_t i = isa::laneid(); i < layout.shape[0] * cols; i += isa::kWarpThreads) {
    const std::uint32_t row = at.row + i / cols;
    const std::uint32_t col = at.col + i % cols;
    if (row >= at.m || col >= at.n) continue;
    isa::st_global(matrix + (at.rows_before + row) * pitch + col, tile.load(i / cols, i % cols));
  }
}

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
    if constexpr (!kIsAppliedBefore<Epilogue>) Epilogue::template apply<Out>(epilogue, panel);
    if constexpr (kMayReadOutput<Epilogue>) {
      // Orders: those reads, ahead of the copy.
      if (Epilogue::reads_output(epilogue)) isa::fence_proxy_async_global();
    }
    fill_from_wgmma<from>(tile.tile(), sums);
    if constexpr (kStoresRaggedRows<Epilogue>) {
      void* const out = Epilogue::ragged_out(epilogue);
      if (out != nullptr && at.col + cols > at.n) {
        store_elements(tile.tile(), static_cast<Out*>(out), Epilogue::out_pitch(epilogue), at);
        is_stored = false;
      }
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
