// SPDX-License-Identifier: Apache-2.0
//
// C = A * B for Hopper where every group of rows has a B of its own, as in a mixture of experts: A is [M, K], B
// is [groups, N, K], C is [M, N]; which rows are whose lies in the memory of the device (grouped_tiles.h).
//
// Persistent, with one warp that loads and one or two warpgroups that multiply; CTAs of a cluster that need the
// same rows of A or B load a part each and multicast it. A tile reads rows of the next group where its own group
// ends, and stores none of them (grouped_output.h). A warpgroup whose rows are all outside of the group
// multiplies nothing, so that a tile of 256 rows with 100 costs half of a full one.
//
// FP8 has scales: of whole operands or of their rows, which the sums are multiplied by at the end, or blockwise,
// for each row of A and 128 numbers along K and for each 128 x 128 numbers of B. Those of A come with the stage,
// those of B from global memory. One group of all rows is an ordinary matmul.
#pragma once

#include "grouped_output.h"
#include "grouped_scales.h"
#include "grouped_tiles.h"
#include "matmul_sm90_grouped_params.h"

#include <heddle/isa/entry.h>
#include <heddle/isa/registers.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/isa/wgmma.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/pipeline/wgmma_backend.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

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
  using Output = GroupedOutput<config, A, B>;

  struct Shared {
    typename Input::Storage input;
    typename Output::StoreTiles output[Math::warps];
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());

  // Rows of a tile that one CTA copies, of those that share it.
  static constexpr std::uint32_t kRowsOfA = config.tile_m / config.cluster_n;
  static constexpr std::uint32_t kRowsOfB = config.tile_n / config.cluster_m;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const Context ctx;
    const KernelScope<kCluster, AtExit::kNothing> scope(
        [&] { Input::template init_barriers<StageCounts>(shared.input.barriers.ptr()); },
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
  using Kept = typename Output::Kept;

  static constexpr std::uint32_t kStageBytesOfA = Payload::template Storage<1>::ATileArray::tile_stride_bytes;
  static constexpr std::uint32_t kBlockBytesOfA = kWgmmaM * config.tile_k * sizeof(A);  // one panel of 128 bytes
  static constexpr std::uint32_t kStageBytesOfB = Payload::template Storage<1>::BTileArray::tile_stride_bytes;

  static constexpr bool kIsCrowded = config.sum_registers() > 168;
  using Factors = std::conditional_t<kIsBlockwise, BlockFactors<config.tile_n, kRowBlocks>, NoFactors>;
  static constexpr std::uint32_t kLoadRegisters = kIsCrowded ? 24 : 40;
  static constexpr std::uint32_t kMathRegisters = kIsCrowded ? 240 : 232;

  // A stage is empty when every warp that reads it has said so, in every CTA that this one sends a part to.
  using StageCounts = RingCounts<Roles, OneThread<Load>, EachWarp<Math>, kCluster>;

  static_assert(kRows % kWgmmaM == 0, "a math warpgroup multiplies 64 rows at a time");
  static_assert(config.tile_k * sizeof(A) % 128 == 0, "a stage holds whole rows of the 128-byte swizzle");
  static_assert(!kIsPromoted || (sizeof(A) == 1 && config.tile_k == 128), "FP8 is promoted every 128 of K");
  static_assert(config.tile_m % config.cluster_n == 0 && config.tile_n % config.cluster_m == 0,
                "the CTAs that share a tile load equal parts of it");

  struct Work {
    GroupedTile tile;
    std::uint32_t warpgroup;
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
    typename Output::Stores stores(shared.output[warp]);
    Sums sums[config.sums_of_stages()];
    typename Output::Later later;
    const Kept kept{params, stores, later};
    for (const GroupedTile tile : tiles) {
      const bool has_rows = tile.rows > warpgroup * kRows;
      const typename Output::Corner corner{.row = tile.row + warpgroup * kRows + warp % 4 * Output::kStoreRows,
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
        Output::finish(params, stores, totals, corner, later);
      } else {
        Output::finish(params, stores, sum(params, input, sums[0], warpgroup, kept), corner, later);
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
  HEDDLE_DEVICE static void promote(const Params& params, Input& input, Sums (&sums)[1], Totals& totals,
                                    const Work& work, const Kept& kept) {
    const auto multiplied = [&](const auto& stage, std::uint32_t row_block) -> auto& {
      auto pending = start_stage(input, sums[0], stage, work.warpgroup * kRowBlocks + row_block);
      kept.store_piece();
      return std::move(pending).wait();
    };
    Factors factors = factors_of(params, work);
    const auto add_stage = [&](std::uint32_t k) {
      auto stage = input.acquire_consumer();
      factors.take(stage, k);
      HEDDLE_UNROLL
      for (std::uint32_t block = 0; block + 1 < kRowBlocks; ++block) {
        auto& values = multiplied(stage, block);
        factors.products(block).add(totals, block, values);
      }
      auto& values = multiplied(stage, kRowBlocks - 1);
      std::move(stage).release();
      factors.products(kRowBlocks - 1).add(totals, kRowBlocks - 1, values);
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

  // The same, and each warpgroup adds the sums of one stage while it multiplies the next. At the end of each four
  // nothing is under way: ptxas takes multiplications that it meets in another round of a loop one at a time
  // (C7514).
  HEDDLE_DEVICE static void promote(const Params& params, Input& input, Sums (&sums)[2], Totals& totals,
                                    const Work& work, const Kept& kept) {
    Factors factors = factors_of(params, work);
    std::uint32_t k = 0;
    for (; k + 4 <= params.k_blocks; k += 4) {
      factors.fetch_if_due(k);
      auto first = input.acquire_consumer();
      auto first_sums = start_stage(input, sums[0], first, work.warpgroup);
      auto second = input.acquire_consumer();
      auto second_sums = start_stage(input, sums[1], second, work.warpgroup);
      // The factors come ahead of the release: behind it ptxas puts them into the register of its address, where
      // they wait until a peer was told.
      const auto of_first = factors_at(factors, first, k);
      auto& first_values = std::move(first_sums).template wait<1>();
      std::move(first).release();
      of_first.add(totals, 0, first_values);
      auto third = input.acquire_consumer();
      auto third_sums = start_stage(input, sums[0], third, work.warpgroup);
      const auto of_second = factors_at(factors, second, k + 1);
      auto& second_values = std::move(second_sums).template wait<1>();
      std::move(second).release();
      of_second.add(totals, 0, second_values);
      auto fourth = input.acquire_consumer();
      auto fourth_sums = start_stage(input, sums[1], fourth, work.warpgroup);
      const auto of_third = factors_at(factors, third, k + 2);
      auto& third_values = std::move(third_sums).template wait<1>();
      std::move(third).release();
      of_third.add(totals, 0, third_values);
      const auto of_fourth = factors_at(factors, fourth, k + 3);
      auto& fourth_values = std::move(fourth_sums).wait();
      std::move(fourth).release();
      of_fourth.add(totals, 0, fourth_values);
      kept.store_piece();
    }
    factors.fetch_if_due(k);
    for (; k < params.k_blocks; ++k) {
      auto stage = input.acquire_consumer();
      auto pending = start_stage(input, sums[0], stage, work.warpgroup);
      const auto of_stage = factors_at(factors, stage, k);
      auto& values = std::move(pending).wait();
      std::move(stage).release();
      of_stage.add(totals, 0, values);
    }
    kept.store();
  }

  template <class Stage>
  HEDDLE_DEVICE static auto factors_at(Factors& factors, const Stage& stage, std::uint32_t k) {
    factors.take(stage, k);
    return factors.products(0);
  }

  // Sums of 64 rows, those of block number `block` of the tile.
  template <class Stage>
  HEDDLE_DEVICE static auto start_stage(const Input& input, Sums& sums, const Stage& stage, std::uint32_t block) {
    const auto first_a = input.payload().get_a_tile(0).template slice<kWgmmaM, config.tile_k>().operand();
    const auto first_b = input.payload().get_b_tile(0).operand();
    return sums.multiply(first_a.later(stage.stage() * kStageBytesOfA + block * kBlockBytesOfA),
                         first_b.later(stage.stage() * kStageBytesOfB));
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
};

}  // namespace heddle::inline HEDDLE_TARGET
