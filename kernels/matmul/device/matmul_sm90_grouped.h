// SPDX-License-Identifier: Apache-2.0
//
// C = A * B for Hopper where every group of rows has a B of its own, as in a mixture of experts: A is [M, K], B
// is [groups, N, K], C is [M, N]; which rows are whose lies in the memory of the device (grouped_tiles.h).
//
// Persistent, with one warp that loads and one or two warpgroups that multiply; CTAs of a cluster that need the
// same rows of A or B load a part each and multicast it. A tile reads rows of the next group where its own group
// ends, and stores none of them: the copy engine stores blocks of 16 rows that belong to the group, and threads
// the rows of the block in which it ends. A warpgroup whose rows are all outside of the group multiplies nothing,
// so that a tile of 256 rows with 100 costs half of a full one.
//
// FP8 has scales: of whole operands or of their rows, which the sums are multiplied by at the end, or blockwise,
// for each row of A and 128 numbers along K and for each 128 x 128 numbers of B. Those of A come with the stage,
// those of B from global memory. One group of all rows is an ordinary matmul.
#pragma once

#include "grouped_scales.h"
#include "grouped_tiles.h"
#include "matmul_epilogue.h"

#include "matmul/api/matmul_element.h"

#include <heddle/isa/entry.h>
#include <heddle/isa/matrix.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/registers.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/isa/wgmma.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/pipeline/wgmma_backend.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

enum class Accumulation : std::uint8_t {
  kWhole,      // by the tensor cores alone
  kPromoted,   // every stage of K is added to totals in float
  kBlockwise,  // the same, times the scales of its blocks
};

struct MatmulGroupedConfig {
  std::uint32_t tile_m = 128;
  std::uint32_t tile_n = 128;
  std::uint32_t tile_k = 64;
  std::uint32_t stages = 4;
  std::uint32_t cluster_m = 1;    // CTAs along M that share rows of B
  std::uint32_t cluster_n = 1;    // CTAs along N that share rows of A
  std::uint32_t warpgroups = 2;   // that multiply equal shares of a tile's rows
  std::uint32_t store_tiles = 2;  // of 16 rows x 128 bytes, for each warp
  Accumulation accumulation = Accumulation::kWhole;

  bool operator==(const MatmulGroupedConfig&) const = default;

  HEDDLE_HOST_DEVICE constexpr std::uint32_t cluster() const { return cluster_m * cluster_n; }
  // Blocks of 64 rows that a warpgroup has.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t row_blocks() const { return tile_m / warpgroups / kWgmmaM; }
  // Of a thread. Promoted, the tensor cores have one block at a time, beside the totals of all.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t sum_registers() const {
    return (row_blocks() + (accumulation == Accumulation::kWhole ? 0 : 1)) * tile_n / 2;
  }
  // Where registers are left, sums of a tile wait as 16-bit numbers until the next tile is under way.
  HEDDLE_HOST_DEVICE constexpr bool stores_later() const {
    return sum_registers() + row_blocks() * tile_n / 4 <= 192;
  }
};

struct MatmulGroupedParams {
  isa::TensorMap a;         // {k, row}
  isa::TensorMap b;         // {k, column, group}
  isa::TensorMap c;         // {column, row}, boxes of 16 rows x 128 bytes
  isa::TensorMap c_tail;    // boxes for what is left of a tile's columns
  isa::TensorMap a_scales;  // blockwise: {row, block along K}
  const float* b_scales;    // blockwise: [group][block of columns][block along K]
  OperandScales scales;     // of other FP8
  GroupedTilesParams tiles;
  std::uint32_t k_blocks;
  std::uint32_t n;
  void* out;  // what c is a map of
  std::uint64_t out_pitch;
  MatmulElement output;
};

// The backend is a parameter so that mistakes can be planted.
template <MatmulGroupedConfig config, Element A, Element B,
          class Backend = std::conditional_t<config.accumulation == Accumulation::kBlockwise,
                                             ScaledInputBackend<config.stages, (config.cluster() > 1)>,
                                             WgmmaInputBackend<config.stages, (config.cluster() > 1)>>>
struct MatmulSm90Grouped {
  static constexpr bool kIsBlockwise = config.accumulation == Accumulation::kBlockwise;
  static constexpr bool kIsPromoted = config.accumulation != Accumulation::kWhole;
  static constexpr ClusterConfig kCluster{.cluster = {config.cluster_m, config.cluster_n}};
  using Params = MatmulGroupedParams;
  using Context = KernelContext<kCluster>;
  // The copy engine takes scales of A from multiples of 16 bytes on.
  using Tiles = GroupedTiles<GroupedTilesConfig{
      .cluster = kCluster.cluster, .tile_m = config.tile_m, .row_step = kIsBlockwise ? 4u : 1u}>;

  // With two math warpgroups the loading warp has a warpgroup of its own, which hands its registers over.
  static constexpr bool kMovesRegisters = config.warpgroups == 2;
  using Math = Role<"math", 4 * config.warpgroups>;
  using Load = Role<"load", 1>;
  using Roles =
      std::conditional_t<kMovesRegisters, WarpRoles<Math, Load, Role<"idle", 3>>, WarpRoles<Math, Load>>;
  static constexpr std::uint32_t kThreads = Roles::kThreads;
  static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);

  static constexpr TileShape kATile{config.tile_m, config.tile_k};
  static constexpr TileShape kBTile{config.tile_n, config.tile_k};
  using Payload =
      std::conditional_t<kIsBlockwise,
                         BlockwiseFP8TilePayload<A, B, BlockwiseFP8TileConfig{.a = kATile, .b = kBTile}>,
                         StandardTilePayload<A, B, StandardTileConfig{.a = kATile, .b = kBTile}>>;
  using Input = InputTilePipeline<Payload, config.stages, 1, Backend>;
  // Of a warp: tiles of its 16 rows and 128 bytes, whatever is stored.
  static constexpr std::uint32_t kStoreRows = 16;
  using StoreTiles = SMemTileArray2D<float, TileShape{kStoreRows, 32}, config.store_tiles>;
  using Stores = StoreTilePipeline<StoreTiles, 1>;

  struct Shared {
    typename Input::Storage input;
    StoreTiles output[Math::warps];
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());

  // Rows of a tile that one CTA copies, of those that share it.
  static constexpr std::uint32_t kRowsOfA = config.tile_m / config.cluster_n;
  static constexpr std::uint32_t kRowsOfB = config.tile_n / config.cluster_m;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const Context ctx;
    const KernelScope<kCluster, AtExit::kNothing> scope(
        [&] { Input::init_barriers(shared.input.barriers.ptr(), 1, kReadersOfStage); },
        [&] {
          if (Roles::template is<Load>() && ctx.elect_one_thread()) prefetch(params);
        });
    // The numbers of rows may be what the kernel ahead has computed.
    scope.wait_for_kernel_ahead();
    const Tiles tiles(params.tiles);
    if (Roles::template enter<Math>()) {
      if constexpr (kMovesRegisters) isa::setmaxnreg_inc<kMathRegisters>();
      multiply(params, shared, ctx, tiles);
    } else {
      if constexpr (kMovesRegisters) isa::setmaxnreg_dec<kLoadRegisters>();
      if (Roles::template enter<Load>() && ctx.elect_one_thread()) load(params, shared, ctx, tiles);
    }
  }

 private:
  static constexpr std::uint32_t kRows = config.tile_m / config.warpgroups;  // of a warpgroup
  static constexpr std::uint32_t kRowBlocks = config.row_blocks();
  static constexpr WgmmaShape kWgmma{.n = config.tile_n, .a = operand_type<A>(), .b = operand_type<B>()};
  using Sums = WgmmaSums<kWgmma, kIsPromoted ? 1 : kRowBlocks>;
  using Totals = PromotedSums<kWgmma, kRowBlocks>;

  static constexpr std::uint32_t kStageBytesOfA = Payload::template Storage<1>::ATileArray::tile_stride_bytes;
  static constexpr std::uint32_t kBlockBytesOfA = kWgmmaM * config.tile_k * sizeof(A);  // one panel of 128 bytes
  static constexpr std::uint32_t kStageBytesOfB = Payload::template Storage<1>::BTileArray::tile_stride_bytes;

  static constexpr bool kIsCrowded = config.sum_registers() > 168;
  static constexpr std::uint32_t kPanels = (config.tile_n + 63) / 64;  // of 128 bytes, as 16-bit numbers
  static constexpr std::uint32_t kKept = kRowBlocks * kPanels;         // pieces that are stored later
  static constexpr bool kStoresLater = config.stores_later();
  using Factors = std::conditional_t<kIsBlockwise, BlockFactors<config.tile_n, kRowBlocks>, NoFactors>;
  static constexpr std::uint32_t kLoadRegisters = kIsCrowded ? 24 : 40;
  static constexpr std::uint32_t kMathRegisters = kIsCrowded ? 240 : 232;

  // A stage is empty when every warp that reads it has said so, in every CTA that this one sends a part to.
  static constexpr std::uint32_t kReadersOfStage = Math::warps * ArrivalCounts<kCluster, Roles>::input_empty;

  static_assert(kRows % kWgmmaM == 0, "a math warpgroup multiplies 64 rows at a time");
  static_assert(config.tile_k * sizeof(A) % 128 == 0, "a stage holds whole rows of the 128-byte swizzle");
  static_assert(!kIsPromoted || (sizeof(A) == 1 && config.tile_k == 128), "FP8 is promoted every 128 of K");
  static_assert(config.tile_m % config.cluster_n == 0 && config.tile_n % config.cluster_m == 0,
                "the CTAs that share a tile load equal parts of it");

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

  struct Work {
    GroupedTile tile;
    std::uint32_t warpgroup;
  };

  // What is kept of the tile before, for whoever has time to store it.
  struct Kept {
    const Params& params;
    Stores& stores;
    Later& later;

    HEDDLE_DEVICE void store_piece() const {
      if constexpr (kStoresLater) MatmulSm90Grouped::store_piece(params, stores, later);
    }
    HEDDLE_DEVICE void store() const {
      if constexpr (kStoresLater) store_kept(params, stores, later);
    }
  };

  HEDDLE_DEVICE static void prefetch(const Params& params) {
    isa::prefetch_tensormap(&params.a);
    isa::prefetch_tensormap(&params.b);
    isa::prefetch_tensormap(&params.c);
  }

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, const Context& ctx, const Tiles& tiles) {
    constexpr TileSharing a_sharing{.sharers = config.cluster_n};
    constexpr TileSharing b_sharing{.sharers = config.cluster_m};
    Input input(shared.input);
    for (const GroupedTile tile : tiles) {
      const auto row = static_cast<std::int32_t>(tile.row);
      const auto col = static_cast<std::int32_t>(tile.n * config.tile_n);
      const auto group = static_cast<std::int32_t>(tile.group);
      for (std::uint32_t i = 0; i < params.k_blocks; ++i) {
        const auto k = static_cast<std::int32_t>(i * config.tile_k);
        const auto stage = input.produce();
        load_tile_part<a_sharing>(stage.a_tile(), &params.a, {k, row}, stage.barrier(), ctx.cluster_n(),
                                  ctx.a_multicast_mask());
        load_tile_part<b_sharing>(stage.b_tile(), &params.b, {k, col, group}, stage.barrier(), ctx.cluster_m(),
                                  ctx.b_multicast_mask());
        if constexpr (kIsBlockwise) {
          load_tile(stage.a_scales_tile(), &params.a_scales, {row, static_cast<std::int32_t>(i)},
                    stage.barrier());
        }
      }
    }
    // Peers signal the barriers of this CTA until they have read all that it sent them.
    if constexpr (config.cluster() > 1) input.drain_producer();
  }

  HEDDLE_DEVICE static void multiply(const Params& params, Shared& shared, const Context& ctx,
                                     const Tiles& tiles) {
    const std::uint32_t warp = isa::warp_idx();
    const std::uint32_t warpgroup = warp / 4;
    Input input(Backend(shared.input.barriers.ptr(), ctx.input_release_mask()), shared.input.payload());
    Stores stores(shared.output[warp]);
    Sums sums;
    Later later;
    const Kept kept{params, stores, later};
    for (const GroupedTile tile : tiles) {
      const bool has_rows = tile.rows > warpgroup * kRows;
      const Corner corner{.row = tile.row + warpgroup * kRows + warp % 4 * kStoreRows,
                          .begin = tile.begin,
                          .end = tile.row + tile.rows,
                          .col = tile.n * config.tile_n,
                          .group = tile.group};
      if (!has_rows) {
        pass_stages(input, params.k_blocks);
      } else if constexpr (kIsPromoted) {
        Totals totals;
        totals.clear();
        promote(params, input, sums, totals, {.tile = tile, .warpgroup = warpgroup}, kept);
        finish(params, stores, totals, corner, later);
      } else {
        finish(params, stores, sum(params, input, sums, warpgroup, kept), corner, later);
      }
    }
    kept.store();
    stores.drain();
  }

  // All of K in the tensor cores. What is kept of the tile before is stored while they begin.
  HEDDLE_DEVICE static auto& sum(const Params& params, Input& input, Sums& sums, std::uint32_t warpgroup,
                                 const Kept& kept) {
    // Of the first stage; those of the others are so many bytes behind.
    const auto first_a = input.payload().get_a_tile(0).template slice<kRows, config.tile_k>(warpgroup).operand();
    const auto first_b = input.payload().get_b_tile(0).operand();
    const auto a_of = [&](const auto& stage) { return first_a.later(stage.stage() * kStageBytesOfA); };
    const auto b_of = [&](const auto& stage) { return first_b.later(stage.stage() * kStageBytesOfB); };
    auto stage = input.acquire_consumer();
    auto pending = sums.multiply(a_of(stage), b_of(stage));
    for (std::uint32_t i = 1; i < params.k_blocks; ++i) {
      // A stage goes back while the multiplication of the next one is under way.
      auto next = input.acquire_consumer();
      pending.add(a_of(next), b_of(next));
      kept.store_piece();
      pending.template wait_all_but<1>();
      std::move(stage).release();
      stage = std::move(next);
    }
    kept.store();
    auto& values = std::move(pending).wait();
    std::move(stage).release();
    return values;
  }

  // Stage by stage into the totals: one warpgroup adds while the other multiplies.
  HEDDLE_DEVICE static void promote(const Params& params, Input& input, Sums& sums, Totals& totals,
                                    const Work& work, const Kept& kept) {
    const auto first_a = input.payload().get_a_tile(0).template slice<kWgmmaM, config.tile_k>().operand();
    const auto first_b = input.payload().get_b_tile(0).operand();
    const auto multiplied = [&](std::uint32_t stage, std::uint32_t row_block) -> auto& {
      const std::uint32_t block = work.warpgroup * kRowBlocks + row_block;
      auto pending = sums.multiply(first_a.later(stage * kStageBytesOfA + block * kBlockBytesOfA),
                                   first_b.later(stage * kStageBytesOfB));
      kept.store_piece();
      return std::move(pending).wait();
    };
    Factors factors = factors_of(params, work);
    const auto add_stage = [&](std::uint32_t k) {
      auto stage = input.acquire_consumer();
      factors.take(stage, k);
      HEDDLE_UNROLL
      for (std::uint32_t block = 0; block + 1 < kRowBlocks; ++block) {
        factors.add(totals, block, multiplied(stage.stage(), block));
      }
      auto& values = multiplied(stage.stage(), kRowBlocks - 1);
      std::move(stage).release();
      factors.add(totals, kRowBlocks - 1, values);
    };
    // Without a branch between stages the wait for the next one begins while the sums of the last are added.
    constexpr std::uint32_t together = 4;
    std::uint32_t k = 0;
    for (; k + together <= params.k_blocks; k += together) {
      factors.fetch_if_due(k);
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < together; ++i) add_stage(k + i);
    }
    factors.fetch_if_due(k);
    for (; k < params.k_blocks; ++k) add_stage(k);
    kept.store();
  }

  HEDDLE_DEVICE static Factors factors_of([[maybe_unused]] const Params& params,
                                          [[maybe_unused]] const Work& work) {
    if constexpr (kIsBlockwise) {
      const std::uint32_t warp_row = isa::tid_x() / isa::kWarpThreads % 4 * 16;
      return Factors(params.b_scales, work.tile.group, work.tile.n * config.tile_n, params.n, params.k_blocks,
                     work.warpgroup * kRows + warp_row + isa::laneid() / 4);
    } else {
      return {};
    }
  }

  // The stages of a tile that this warpgroup has no rows of.
  HEDDLE_DEVICE static void pass_stages(Input& input, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      auto stage = input.acquire_consumer();
      std::move(stage).release();
    }
  }

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
    if (!is_whole) store_rows(params, tile.tile(), row, col, at);
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
    if (!is_whole) store_rows(params, tile.tile(), row, col, at);
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

  // By threads: the copy engine would store all 16 rows, and some are another group's.
  // Orders: what the warp has written into the tile, ahead of its reads; they end before the tile is released.
  template <class Out, Layout layout>
  HEDDLE_DEVICE static void store_rows(const Params& params, const TileTensor<Out, layout>& tile,
                                       std::uint32_t row, std::uint32_t col, const Corner& at) {
    constexpr std::uint32_t per_16_bytes = 16 / sizeof(Out);
    constexpr std::uint32_t pieces = layout.shape[1] / per_16_bytes;
    isa::syncwarp();
    Out* const out = static_cast<Out*>(params.out) + row * params.out_pitch + col;
    for (std::uint32_t i = isa::laneid(); i < kStoreRows * pieces; i += isa::kWarpThreads) {
      const std::uint32_t at_row = i / pieces;
      const std::uint32_t at_col = i % pieces * per_16_bytes;
      if (row + at_row < at.begin || row + at_row >= at.end || col + at_col >= params.n) continue;
      isa::st_global(reinterpret_cast<isa::Bytes16*>(out + at_row * params.out_pitch + at_col),
                     tile.load_bytes16(at_row, at_col));
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
