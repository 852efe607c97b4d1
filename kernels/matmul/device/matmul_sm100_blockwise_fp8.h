// SPDX-License-Identifier: Apache-2.0
//
// C = A * B^T for Blackwell in FP8 with float scales: one for each row of A and 128 numbers along K, and one for
// each 128 columns of B and 128 numbers along K. The tensor cores know no such scales: every step of K is an
// accumulator of its own, which the epilogue multiplies by its scales and adds up in registers. A's scales come
// with the stage, B's from global memory. Set-up, schedule and load are those of matmul_sm100_frame.h.
//
// In a pair of CTAs the copies of both count on the leader's barriers, where the peer's epilogue cannot wait:
// there A's scales have a ring of their own in each CTA.
#pragma once

#include "matmul_sm100_frame.h"

#include <heddle/isa/fence.h>
#include <heddle/tile/tcgen05_mma.h>

namespace heddle::inline HEDDLE_TARGET {

// e4m3 and e5m2 in any mix, which share a kernel.
template <MatmulSm100Config matmul_config>
struct BlockwiseFp8Family {
  using In = e4m3;
  static constexpr MatmulSm100Config config = matmul_config;
  static constexpr std::uint32_t kTileK = BlockwiseFP8TileConfig::scale_block_k;
  static constexpr bool is_pair = config.cta_group == 2;
  static constexpr TileShape kTileOfA{kSm100TileM, kTileK};
  static constexpr TileShape kTileOfB{config.tile_n / config.cta_group, kTileK};
  using Payload =
      std::conditional_t<is_pair, StandardTilePayload<In, In, StandardTileConfig{.a = kTileOfA, .b = kTileOfB}>,
                         BlockwiseFP8TilePayload<In, In, BlockwiseFP8TileConfig{.a = kTileOfA, .b = kTileOfB}>>;
  using Loads = OperandLoads<config, Payload>;
  using Accumulator = TmemTensor<float, config.accumulator()>;
  static constexpr std::uint32_t tmem_cols = 0;
  static constexpr bool has_sums_of_steps = true;
  struct ScalesRing {
    SMemTileArray2DRowMajor<float, TileShape{1, kSm100TileM}, config.stages> tiles;
    BarrierPair<config.stages> barriers;
  };
  using OwnShared = std::conditional_t<is_pair, ScalesRing, NothingShared>;
  struct Operands {
    EdgeMaps a;  // {k, row, batch}
    EdgeMaps b;
    isa::TensorMap a_scales;  // {row, block along K}
    const float* b_scales;    // [block of columns][block along K]
    std::uint32_t b_scales_pitch;
    std::uint32_t instruction;
  };

  template <class Context, class Tiles>
  HEDDLE_DEVICE static void load(const Operands& operands, const Loads& loads, const Context& ctx,
                                 const Tiles& tiles, const TileWork& work, std::uint32_t k_block) {
    loads.load(ctx, tiles, k_block * kTileK);
    if constexpr (!is_pair) load_scales(operands, tiles.a_scales_tile(), tiles.barrier(), work, k_block);
  }
  // Orders: what the epilogue has read of the stage before, ahead of the copy: the wait for its release stands
  // before this.
  template <class ScalesTile>
  HEDDLE_DEVICE static void load_scales(const Operands& operands, const ScalesTile& tile, MbarPtr barrier,
                                        const TileWork& work, std::uint32_t k_block) {
    isa::fence_proxy_async_shared_cta();
    isa::cp_async_bulk_tensor_load(
        tile.data(), &operands.a_scales,
        {static_cast<std::int32_t>(work.m * kSm100TileM), static_cast<std::int32_t>(k_block)}, barrier);
  }

  // The word that names these types.
  static constexpr std::uint32_t instruction(OperandType a_type, OperandType b_type) {
    return instruction_descriptor(InstructionDescriptor{.kind = MmaKind::kF8f6f4,
                                                        .m = config.cta_group * kSm100TileM,
                                                        .n = config.tile_n,
                                                        .a_type = a_type,
                                                        .b_type = b_type});
  }

  // `operands` names the instruction.
  template <class AnyOperands, class Tiles>
  HEDDLE_DEVICE static void multiply(const AnyOperands& operands, const Tiles& tiles, TmemAddress,
                                     std::uint32_t d, bool accumulate) {
    tcgen05_mma(Accumulator(TmemAddress(d)), tiles.a_tile().operand(), tiles.b_tile().operand(), accumulate,
                operands.instruction);
  }
};

// The family may have other operands and loads: those of groups.
template <MatmulSm100Config matmul_config, class BlockwiseFamily = BlockwiseFp8Family<matmul_config>>
struct MatmulSm100BlockwiseFp8 : MatmulSm100Frame<BlockwiseFamily, PlainEpilogue> {
  using Family = BlockwiseFamily;
  using Frame = MatmulSm100Frame<Family, PlainEpilogue>;
  using typename Frame::Context;
  using typename Frame::Params;
  using typename Frame::Roles;
  using typename Frame::Scheduler;
  using typename Frame::Shared;
  using typename Frame::Warps;
  static constexpr MatmulSm100Config config = matmul_config;
  static_assert(128 % config.tile_n == 0, "a tile has one scale of B: make tile_n 32, 64 or 128");

  // But for pairs, the epilogue reads scales out of the stages of the input.
  struct Counts : Frame::Counts {
    static constexpr std::uint32_t input_empty =
        Family::is_pair ? Frame::Counts::input_empty : Frame::Counts::input_empty_blockwise;
  };

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Frame::template run_as<MatmulSm100BlockwiseFp8>(params, shared);
  }

  HEDDLE_DEVICE static void init(Shared& shared) {
    shared.pipelines.template init_mbars<Counts>();
    if constexpr (Family::is_pair) scales_ring(shared).init_mbars(1, MatmulRoles::Epilogue::warps);
  }

  template <class AnyParams, class AnyScheduler>
  HEDDLE_DEVICE static void load(const AnyParams& params, Shared& shared, const Context& ctx,
                                 AnyScheduler& scheduler) {
    if constexpr (Family::is_pair) {
      auto ring = scales_ring(shared);
      Frame::load_by(params, shared, ctx, scheduler, [&](const TileWork& work, std::uint32_t k_block) {
        const auto stage = ring.produce();
        const auto tile = shared.own.tiles[stage.index()];
        stage.expect_bytes(tile.tx_bytes());
        Family::load_scales(params.operands, tile, stage.mbar(), work, k_block);
      });
    } else {
      Frame::load(params, shared, ctx, scheduler);
    }
  }

  HEDDLE_DEVICE static void finish(const Params& params, Shared& shared, const Context& ctx,
                                   Scheduler& scheduler) {
    typename Warps::EpilogueContext tmem(shared.pipelines.tmem, shared.pipelines.output, ctx.mma_complete_mask());
    auto scales = scales_ring(shared);
    typename Frame::Stores stores(shared.output_tiles[isa::warp_idx()]);
    const std::uint32_t row = Roles::template thread_in_role<MatmulRoles::Epilogue>();
    for (const TileWork work : scheduler.tiles()) {
      const float* const b_scales =
          params.operands.b_scales + work.n * config.tile_n / 128 * params.operands.b_scales_pitch;
      float sums[config.tile_n] = {};
      for (std::uint32_t k = 0; k < params.k_blocks.all; ++k) {
        const float b_scale = work.is_inside ? isa::ld_global(b_scales + k) : 0.0f;
        auto stage = tmem.output().per_k_epilogue(scales);
        const float scale = scales_of(shared, stage.input_stage()).load(0, row) * b_scale;
        add_scaled(stage.tmem().address().of_warp(isa::warp_idx()), scale, sums);
      }
      with_output_type(params.c.type, [&]<class Out>() { store<Out>(params, stores, work, sums); });
    }
    stores.drain();
  }

 protected:
  static constexpr PipelineScope kScalesScope =
      config.cluster.size() > 1 ? PipelineScope::kCluster : PipelineScope::kCta;
  static constexpr std::uint32_t kPart = 32;  // columns in registers at a time

  // The ring that tells when scales are there: a pair's own, or that of the input.
  HEDDLE_DEVICE static auto scales_ring(Shared& shared) {
    if constexpr (Family::is_pair) {
      return ProducerConsumerPipeline<config.stages>(shared.own.barriers.ptr(), "scales");
    } else {
      return shared.pipelines.input.template pipeline<kScalesScope>("input");
    }
  }
  HEDDLE_DEVICE static auto scales_of(Shared& shared, std::uint32_t stage) {
    if constexpr (Family::is_pair) {
      return shared.own.tiles[stage];
    } else {
      return shared.pipelines.input.payload().get_a_scales_tile(stage);
    }
  }

  HEDDLE_DEVICE static void add_scaled(TmemAddress from, float scale, float (&sums)[config.tile_n]) {
    HEDDLE_UNROLL
    for (std::uint32_t first = 0; first < config.tile_n; first += kPart) {
      std::uint32_t part[kPart];
      isa::tcgen05_ld_32x32b(part, from.plus_cols(first).bits());
      isa::tcgen05_wait_ld();
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < kPart; ++i) sums[first + i] += scale * __builtin_bit_cast(float, part[i]);
    }
  }

 private:
  template <Element Out>
  HEDDLE_DEVICE static void store(const Params& params, typename Frame::Stores& stores, const TileWork& work,
                                  const float (&sums)[config.tile_n]) {
    using Writer = typename Frame::template Writer<Out>;
    Writer writer(stores, params.c);
    writer.start_tile(work.m * kSm100TileM, work.n * config.tile_n, work.batch);
    HEDDLE_UNROLL
    for (std::uint32_t chunk = 0; chunk < Writer::chunks; ++chunk) {
      float values[Writer::chunk_cols];
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < Writer::chunk_cols; ++i) values[i] = sums[chunk * Writer::chunk_cols + i];
      writer.store(chunk, values);
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
