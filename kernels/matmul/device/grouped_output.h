// SPDX-License-Identifier: Apache-2.0
//
// How the sums of a grouped Hopper matmul go to the output: rows of one group and no others. The copy engine
// stores blocks of 16 rows that belong to the group, and threads the rows of the block in which it ends. Where
// registers are left, sums wait as 16-bit numbers until the next tile is under way, and are stored piece by piece
// between its multiplications.
//
//   using Output = GroupedOutput<config, A, B>;
//   typename Output::Later later;
//   const typename Output::Kept kept{params, stores, later};
//   Output::finish(params, stores, sums, corner, later);   // stored, or kept
//   kept.store_piece();                                    // some of it, whenever there is time
//   kept.store();                                          // all that is left
#pragma once

#include "group_rows.h"
#include "matmul_epilogue.h"
#include "matmul_sm90_grouped_params.h"

#include <heddle/isa/matrix.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/smem_array.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

template <MatmulGroupedConfig config, Element A, Element B>
struct GroupedOutput {
  using Params = MatmulGroupedParams;
  // Of a warp: tiles of its 16 rows and 128 bytes, whatever is stored.
  static constexpr std::uint32_t kStoreRows = 16;
  using StoreTiles = SMemTileArray2D<float, TileShape{kStoreRows, 32}, config.store_tiles>;
  using Stores = StoreTilePipeline<StoreTiles, 1>;

 private:
  static constexpr bool kIsBlockwise = config.accumulation == Accumulation::kBlockwise;
  static constexpr bool kIsPromoted = config.accumulation != Accumulation::kWhole;
  static constexpr std::uint32_t kRowBlocks = config.row_blocks();
  static constexpr WgmmaShape kWgmma{.n = config.tile_n, .a = operand_type<A>(), .b = operand_type<B>()};
  static constexpr std::uint32_t kPanels = (config.tile_n + 63) / 64;  // of 128 bytes, as 16-bit numbers
  static constexpr std::uint32_t kKept = kRowBlocks * kPanels;         // pieces that are stored later
  static constexpr bool kStoresLater = config.stores_later();

 public:
  // Where the sums of one warp go: 16 rows of each block of 64, from `row` and `col` on, those from `begin` to
  // `end`.
  struct Corner {
    std::uint32_t row;
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t col;
    std::uint32_t group;
  };

  // Sums of 16-bit numbers, two in a register, on their way to `at`.
  struct Later {
    std::uint32_t pairs[kStoresLater ? kRowBlocks : 1][kWgmma.d_registers() / 2];
    Corner at;
    std::uint32_t next = kKept;  // to be stored, 64 columns of 64 rows each
  };

  // What is kept of the tile before, for whoever has time to store it.
  struct Kept {
    const Params& params;
    Stores& stores;
    Later& later;

    HEDDLE_DEVICE void store_piece() const {
      if constexpr (kStoresLater) GroupedOutput::store_piece(params, stores, later);
    }
    HEDDLE_DEVICE void store() const {
      if constexpr (kStoresLater) store_kept(params, stores, later);
    }
  };

  // Stores the sums, of which `Blocks` has 64 rows at a time, or keeps them until the next tile is under way.
  template <class Blocks>
  HEDDLE_DEVICE static void finish(const Params& params, Stores& stores, Blocks& sums, const Corner& at,
                                   [[maybe_unused]] Later& later) {
    with_output_type(params.output, [&]<class Out>() {
      if constexpr (kStoresLater && sizeof(Out) == 2) {
        keep<Out>(params, sums, at, later);
      } else {
        store<Out>(params, stores, sums, at);
      }
    });
  }

 private:
  template <class Out, class Blocks>
  HEDDLE_DEVICE static void keep(const Params& params, Blocks& sums, const Corner& at, Later& later) {
    [&]<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
      (keep_panel<Out, i % kPanels * 64>(params, sums.block(i / kPanels), at.row + i / kPanels * kWgmmaM, at,
                                         later.pairs[i / kPanels]),
       ...);
    }
    (std::make_integer_sequence<std::uint32_t, kKept>());
    later.at = at;
    later.next = 0;
  }

  template <class Out, std::uint32_t from, std::uint32_t count>
  HEDDLE_DEVICE static void keep_panel(const Params& params, WgmmaAccumulators<kWgmma>& sums, std::uint32_t row,
                                       const Corner& at, std::uint32_t (&pairs)[count]) {
    constexpr std::uint32_t cols = config.tile_n - from < 64 ? config.tile_n - from : 64;
    // Scales are loaded for one panel at a time: there are no registers for more.
    if constexpr (sizeof(A) == 1 && !kIsBlockwise) isa::syncwarp();
    scale_panel<from, cols>(params, sums, row, at);
    HEDDLE_UNROLL
    for (std::uint32_t i = from / 2; i < (from + cols) / 2; i += 2) {
      pairs[i / 2] = pack_pair<Out>(sums[i], sums[i + 1]);
    }
  }

  // One piece of what is kept, or none. Which one is a constant in each branch, because registers can only be
  // indexed by constants.
  HEDDLE_DEVICE static void store_piece(const Params& params, Stores& stores, Later& later) {
    if (later.next >= kKept) return;
    const std::uint32_t piece = later.next++;
    [&]<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
      ((piece == i ? store_pairs<i % kPanels * 64>(params, stores, later.pairs[i / kPanels],
                                                   later.at.row + i / kPanels * kWgmmaM, later.at)
                   : void()),
       ...);
    }
    (std::make_integer_sequence<std::uint32_t, kKept>());
  }
  HEDDLE_DEVICE static void store_kept(const Params& params, Stores& stores, Later& later) {
    while (later.next < kKept) store_piece(params, stores, later);
  }

  // Their bits are what counts: fp16 goes as bf16 does.
  template <std::uint32_t from, std::uint32_t count>
  HEDDLE_DEVICE static void store_pairs(const Params& params, Stores& stores, const std::uint32_t (&pairs)[count],
                                        std::uint32_t row, const Corner& at) {
    constexpr std::uint32_t cols = config.tile_n - from < 64 ? config.tile_n - from : 64;
    const std::uint32_t col = at.col + from;
    if (row >= at.end || col >= params.n) return;
    auto tile =
        stores.template acquire_as<TileTensor<bf16, k_major_tile<bf16>(kStoreRows, cols, Swizzle::k128B)>>();
    const std::uint32_t lane = isa::laneid() % 32;
    HEDDLE_UNROLL
    for (std::uint32_t c = 0; c < cols; c += 16) {
      const std::uint32_t i = (from + c) / 4;
      if constexpr (cols % 16 == 0) {
        isa::stmatrix_x4(tile.tile().pointer(lane % 16, c + lane / 16 * 8),
                         {pairs[i], pairs[i + 1], pairs[i + 2], pairs[i + 3]});
      } else {
        if (c + 16 <= cols) {
          isa::stmatrix_x4(tile.tile().pointer(lane % 16, c + lane / 16 * 8),
                           {pairs[i], pairs[i + 1], pairs[i + 2], pairs[i + 3]});
        } else {
          isa::stmatrix_x2(tile.tile().pointer(lane % 16, c), {pairs[i], pairs[i + 1]});
        }
      }
    }
    const bool is_whole = row >= at.begin && row + kStoreRows <= at.end;
    if (!is_whole) store_group_rows(tile.tile(), params, row, col, at.begin, at.end);
    std::move(tile).release_if(is_whole, cols < 64 ? &params.c_tail : &params.c,
                               {static_cast<std::int32_t>(col), static_cast<std::int32_t>(row)});
  }

  // Panel by panel: 128 bytes of each of the warp's rows. Their numbers are template arguments, because registers
  // can only be indexed by constants.
  template <class Out, class Blocks>
  HEDDLE_DEVICE static void store(const Params& params, Stores& stores, Blocks& sums, const Corner& at) {
    constexpr std::uint32_t cols = 128 / sizeof(Out);
    constexpr std::uint32_t panels = (config.tile_n + cols - 1) / cols;
    [&]<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
      (store_panel<Out, i % panels * cols>(params, stores, sums.block(i / panels), at.row + i / panels * kWgmmaM,
                                           at),
       ...);
    }
    (std::make_integer_sequence<std::uint32_t, kRowBlocks * panels>());
  }

  // Columns from `from` on, as many as a panel has, or the rest of the tile.
  template <class Out, std::uint32_t from>
  HEDDLE_DEVICE static void store_panel(const Params& params, Stores& stores, WgmmaAccumulators<kWgmma>& sums,
                                        std::uint32_t row, const Corner& at) {
    constexpr bool is_tail = config.tile_n - from < 128 / sizeof(Out);
    constexpr std::uint32_t cols = is_tail ? config.tile_n - from : 128 / sizeof(Out);
    const std::uint32_t col = at.col + from;
    if (row >= at.end || col >= params.n) return;
    auto tile =
        stores.template acquire_as<TileTensor<Out, k_major_tile<Out>(kStoreRows, cols, Swizzle::k128B)>>();
    scale_panel<from, cols>(params, sums, row, at);
    fill_from_wgmma<from, !kIsPromoted>(tile.tile(), sums);
    const bool is_whole = row >= at.begin && row + kStoreRows <= at.end;
    if (!is_whole) store_group_rows(tile.tile(), params, row, col, at.begin, at.end);
    std::move(tile).release_if(is_whole, is_tail ? &params.c_tail : &params.c,
                               {static_cast<std::int32_t>(col), static_cast<std::int32_t>(row)});
  }

  // By the scales of tensors or rows.
  template <std::uint32_t from, std::uint32_t cols>
  HEDDLE_DEVICE static void scale_panel([[maybe_unused]] const Params& params,
                                        [[maybe_unused]] WgmmaAccumulators<kWgmma>& sums,
                                        [[maybe_unused]] std::uint32_t row, [[maybe_unused]] const Corner& at) {
    if constexpr (sizeof(A) == 1 && !kIsBlockwise) {
      const std::uint32_t lane = isa::laneid();
      params.scales.template apply<from / 2, cols>(sums, at.group, row + lane / 4, at.end,
                                                   at.col + from + lane % 4 * 2, params.n);
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
