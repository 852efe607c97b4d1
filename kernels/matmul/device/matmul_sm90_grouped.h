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
#pragma once

#include "grouped_tiles.h"
#include "matmul_epilogue.h"

#include "matmul/api/matmul_element.h"

#include <heddle/isa/entry.h>
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
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

struct MatmulGroupedConfig {
  std::uint32_t tile_m = 128;
  std::uint32_t tile_n = 128;
  std::uint32_t tile_k = 64;
  std::uint32_t stages = 4;
  std::uint32_t cluster_m = 1;    // CTAs along M that share rows of B
  std::uint32_t cluster_n = 1;    // CTAs along N that share rows of A
  std::uint32_t warpgroups = 2;   // that multiply equal shares of a tile's rows
  std::uint32_t store_tiles = 2;  // of 16 rows x 128 bytes, for each warp

  bool operator==(const MatmulGroupedConfig&) const = default;

  HEDDLE_HOST_DEVICE constexpr std::uint32_t cluster() const { return cluster_m * cluster_n; }
};

struct MatmulGroupedParams {
  isa::TensorMap a;       // {k, row}
  isa::TensorMap b;       // {k, column, group}
  isa::TensorMap c;       // {column, row}, boxes of 16 rows x 128 bytes
  isa::TensorMap c_tail;  // boxes for what is left of a tile's columns
  GroupedTilesParams tiles;
  std::uint32_t k_blocks;
  std::uint32_t n;
  void* out;  // what c is a map of
  std::uint64_t out_pitch;
  MatmulElement output;
};

// The backend is a parameter so that mistakes can be planted.
template <MatmulGroupedConfig config, Element In,
          class Backend = WgmmaInputBackend<config.stages, (config.cluster() > 1)>>
struct MatmulSm90Grouped {
  static constexpr ClusterConfig kCluster{.cluster = {config.cluster_m, config.cluster_n}};
  using Params = MatmulGroupedParams;
  using Context = KernelContext<kCluster>;
  using Tiles = GroupedTiles<GroupedTilesConfig{.cluster = kCluster.cluster, .tile_m = config.tile_m}>;

  // With two math warpgroups the loading warp has a warpgroup of its own, which hands its registers over.
  static constexpr bool kMovesRegisters = config.warpgroups == 2;
  using Math = Role<"math", 4 * config.warpgroups>;
  using Load = Role<"load", 1>;
  using Roles =
      std::conditional_t<kMovesRegisters, WarpRoles<Math, Load, Role<"idle", 3>>, WarpRoles<Math, Load>>;
  static constexpr std::uint32_t kThreads = Roles::kThreads;
  static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);

  using Payload = StandardTilePayload<
      In, In, StandardTileConfig{.a = {config.tile_m, config.tile_k}, .b = {config.tile_n, config.tile_k}}>;
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
  static constexpr std::uint32_t kRowBlocks = kRows / kWgmmaM;
  static constexpr WgmmaShape kWgmma{.n = config.tile_n, .a = operand_type<In>(), .b = operand_type<In>()};
  using Sums = WgmmaSums<kWgmma, kRowBlocks>;
  using Values = WgmmaValues<kWgmma, kRowBlocks>;

  static constexpr std::uint32_t kStageBytesOfA = Payload::template Storage<1>::ATileArray::tile_stride_bytes;
  static constexpr std::uint32_t kStageBytesOfB = Payload::template Storage<1>::BTileArray::tile_stride_bytes;

  static constexpr bool kIsCrowded = Values::count > 168;
  static constexpr std::uint32_t kLoadRegisters = kIsCrowded ? 24 : 40;
  static constexpr std::uint32_t kMathRegisters = kIsCrowded ? 240 : 232;

  // A stage is empty when every warp that reads it has said so, in every CTA that this one sends a part to.
  static constexpr std::uint32_t kReadersOfStage = Math::warps * ArrivalCounts<kCluster, Roles>::input_empty;

  static_assert(kRows % kWgmmaM == 0, "a math warpgroup multiplies 64 rows at a time");
  static_assert(config.tile_k * sizeof(In) % 128 == 0, "a stage holds whole rows of the 128-byte swizzle");
  static_assert(config.tile_m % config.cluster_n == 0 && config.tile_n % config.cluster_m == 0,
                "the CTAs that share a tile load equal parts of it");

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
      }
    }
    // Peers signal the barriers of this CTA until they have read all that it sent them.
    if constexpr (config.cluster() > 1) input.drain_producer();
  }

  HEDDLE_DEVICE static void multiply(const Params& params, Shared& shared, const Context& ctx,
                                     const Tiles& tiles) {
    const std::uint32_t warp = isa::warp_idx();
    const std::uint32_t warpgroup = warp / 4;
    const Payload payload = shared.input.payload();
    Input input(Backend(shared.input.barriers.ptr(), ctx.input_release_mask()), payload);
    Stores stores(shared.output[warp]);
    Sums sums;
    // Of the first stage; those of the others are so many bytes behind.
    const auto first_a = payload.get_a_tile(0).template slice<kRows, config.tile_k>(warpgroup).operand();
    const auto first_b = payload.get_b_tile(0).operand();
    const auto a_of = [&](const auto& stage) { return first_a.later(stage.stage() * kStageBytesOfA); };
    const auto b_of = [&](const auto& stage) { return first_b.later(stage.stage() * kStageBytesOfB); };
    for (const GroupedTile tile : tiles) {
      if (tile.rows <= warpgroup * kRows) {
        pass_stages(input, params.k_blocks);
        continue;
      }
      auto stage = input.acquire_consumer();
      auto pending = sums.multiply(a_of(stage), b_of(stage));
      for (std::uint32_t i = 1; i < params.k_blocks; ++i) {
        // A stage goes back while the multiplication of the next one is under way.
        auto next = input.acquire_consumer();
        pending.add(a_of(next), b_of(next));
        pending.template wait_all_but<1>();
        std::move(stage).release();
        stage = std::move(next);
      }
      auto& values = std::move(pending).wait();
      std::move(stage).release();
      const std::uint32_t first_row = warpgroup * kRows + warp % 4 * kStoreRows;
      with_output_type(params.output, [&]<class Out>() {
        store<Out>(params, stores, values,
                   {.row = tile.row + first_row, .end = tile.row + tile.rows, .col = tile.n * config.tile_n});
      });
    }
    stores.drain();
  }

  // Those of a tile that this warpgroup has no rows of.
  HEDDLE_DEVICE static void pass_stages(Input& input, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      auto stage = input.acquire_consumer();
      std::move(stage).release();
    }
  }

  // Where the sums of one warp go: 16 rows of each block of 64, from `row` and `col` on, up to row `end`.
  struct Corner {
    std::uint32_t row;
    std::uint32_t end;
    std::uint32_t col;
  };

  // Panel by panel: 128 bytes of each of the warp's rows. Their numbers are template arguments, because registers
  // can only be indexed by constants.
  template <class Out>
  HEDDLE_DEVICE static void store(const Params& params, Stores& stores, Values& sums, const Corner& at) {
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
    fill_from_wgmma<from>(tile.tile(), sums);
    const bool is_whole = row + kStoreRows <= at.end;
    if (!is_whole) store_rows(params, tile.tile(), row, at.end - row, col);
    std::move(tile).release_if(is_whole, is_tail ? &params.c_tail : &params.c,
                               {static_cast<std::int32_t>(col), static_cast<std::int32_t>(row)});
  }

  // By threads: the copy engine would store all 16 rows, and those from number `rows` on are another group's.
  // Orders: what the warp has written into the tile, ahead of its reads; they end before the tile is released.
  template <class Out, Layout layout>
  HEDDLE_DEVICE static void store_rows(const Params& params, const TileTensor<Out, layout>& tile,
                                       std::uint32_t row, std::uint32_t rows, std::uint32_t col) {
    constexpr std::uint32_t per_16_bytes = 16 / sizeof(Out);
    constexpr std::uint32_t pieces = layout.shape[1] / per_16_bytes;
    isa::syncwarp();
    Out* const out = static_cast<Out*>(params.out) + row * params.out_pitch + col;
    for (std::uint32_t i = isa::laneid(); i < rows * pieces; i += isa::kWarpThreads) {
      const std::uint32_t at_row = i / pieces;
      const std::uint32_t at_col = i % pieces * per_16_bytes;
      if (col + at_col >= params.n) continue;
      isa::st_global(reinterpret_cast<isa::Bytes16*>(out + at_row * params.out_pitch + at_col),
                     tile.load_bytes16(at_row, at_col));
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
