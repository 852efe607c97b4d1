// SPDX-License-Identifier: Apache-2.0
//
// C = A * B^T for Blackwell where every group of rows has a B of its own, as in a mixture of experts: A is [M,
// K], B is [groups, N, K], C is [M, N]; which rows are whose lies in the memory of the device (grouped_tiles.h).
// Loads, multiplication and the rings are those of matmul_sm100_frame.h; tiles are not asked for but found, by
// every role for itself, since nobody on the host knows how many there are. A tile reads rows of the next group
// where its own group ends, and stores none of them (group_rows.h).
//
// bf16; FP8 with scales of whole operands or of their rows, which the epilogue multiplies by; blockwise FP8,
// whose steps of K the epilogue adds up; and numbers with a scale for every 16 or 32 of them along K. Those
// scales lie in rows, as the numbers do, and a warp puts them into the blocks that the tensor cores take: groups
// begin anywhere, and blocks of 128 rows that were made beforehand would not begin with them.
#pragma once

#include "group_rows.h"
#include "matmul_sm100.h"
#include "matmul_sm100_block_scaled.h"
#include "matmul_sm100_blockwise_fp8.h"

#include <heddle/isa/fence.h>
#include <heddle/isa/tma.h>

namespace heddle::inline HEDDLE_TARGET {

// What a CTA copies of every stage of a tile: the rows of A from where the tile begins, whosever they are, and
// those of the group's B.
template <MatmulSm100Config config, class Payload, std::uint32_t copied_bytes = Payload::tx_bytes>
struct GroupedLoads {
  static constexpr TileSharing kSharingOfA{config.sharers_of_a(), config.cta_group};
  static constexpr TileSharing kSharingOfB{config.sharers_of_b(), config.cta_group};
  static constexpr std::uint32_t kTileN = config.tile_n / config.cta_group;  // of a CTA
  // Rows of the boxes.
  static constexpr std::uint32_t kRowsOfA = config.tile_m / config.sharers_of_a();
  static constexpr std::uint32_t kRowsOfB = kTileN / config.sharers_of_b();

  template <class Operands, class Context>
  HEDDLE_DEVICE GroupedLoads(const Operands& operands, const Context& ctx, const GroupedTile& tile)
      : a_(&operands.a),
        b_(&operands.b),
        row_(static_cast<std::int32_t>(tile.row)),
        col_(static_cast<std::int32_t>(tile.n * config.tile_n + ctx.cta_rank() % config.cta_group * kTileN)),
        group_(static_cast<std::int32_t>(tile.group)) {}

  HEDDLE_DEVICE static std::uint32_t tx_bytes() { return copied_bytes; }
  HEDDLE_DEVICE std::int32_t row() const { return row_; }

  template <class Context, class Tiles>
  HEDDLE_DEVICE void load(const Context& ctx, const Tiles& tiles, std::uint32_t k) const {
    const auto k_at = static_cast<std::int32_t>(k);
    load_tile_part<kSharingOfA>(tiles.a_tile(), a_, {k_at, row_}, tiles.barrier(), ctx.cluster_n(),
                                ctx.a_multicast_mask());
    load_tile_part<kSharingOfB>(tiles.b_tile(), b_, {k_at, col_, group_}, tiles.barrier(),
                                ctx.cluster_m() / config.cta_group, ctx.b_multicast_mask());
  }

 private:
  const isa::TensorMap* a_;
  const isa::TensorMap* b_;
  std::int32_t row_;
  std::int32_t col_;
  std::int32_t group_;
};

struct GroupedOperands {
  isa::TensorMap a;  // {k, row}
  isa::TensorMap b;  // {k, column, group}
  std::uint32_t instruction;
};

template <class Operands>
struct MatmulSm100GroupedParams {
  Operands operands;
  isa::TensorMap c;  // {column, row}
  GroupTarget target;
  MatmulElement output;
  KBlocks k_blocks;
  GroupedTilesParams tiles;
};

// A kernel of the frame, with tiles of groups.
template <class Base, std::uint32_t row_step>
struct GroupedOnSm100 : Base {
  using Base::config;
  using typename Base::Context;
  using typename Base::Shared;
  using Tiles =
      GroupedTiles<GroupedTilesConfig{.cluster = config.cluster, .tile_m = config.tile_m, .row_step = row_step}>;
  static_assert(config.clc_stages == 0, "nobody knows how many tiles there are: make clc_stages 0");

  // As the frame asks a scheduler.
  struct Walk {
    Tiles found;

    HEDDLE_DEVICE const Tiles& tiles() const { return found; }
    HEDDLE_DEVICE void throttle_signal(bool) const {}
  };

  template <class Kernel>
  HEDDLE_DEVICE static void run_grouped(const typename Kernel::Params& params, Shared& shared) {
    const Context ctx;
    const Walk walk{Tiles(params.tiles)};
    // The numbers of rows may be what the kernel ahead has computed: roles read them after the wait for it.
    Base::Life::run(
        [&] { Kernel::init(shared); },
        [&] { Base::Life::template prefetch<MatmulRoles::Load>(params.operands.a, params.operands.b, params.c); },
        as_role<MatmulRoles::Load>([&] { Kernel::load(params, shared, ctx, walk); }),
        as_role<MatmulRoles::Mma>([&] { Kernel::multiply(params, shared, ctx, walk); }),
        as_role<MatmulRoles::Epilogue>([&] {
          with_output_type(params.output,
                           [&]<class Out>() { Kernel::template finish<Out>(params, shared, ctx, walk); });
        }),
        as_role<MatmulRoles::Scales>([&] {
          if constexpr (Base::kHasScaleWarp) Kernel::load_scales(params, shared, ctx, walk);
        }));
  }
};

// Multiplies the sums of a row by its scale and those of its columns, before they are stored.
struct GroupScales {
  const float* a = nullptr;  // one, or one for each row of A
  const float* b = nullptr;  // for each group: one, or one for each row of B
  bool are_of_rows = false;

  // Columns from `col` on, of `n`; what is at or after n has no scale.
  template <std::uint32_t count>
  HEDDLE_DEVICE void apply(float (&values)[count], std::uint32_t group, std::uint32_t row, bool has_row,
                           std::uint32_t col, std::uint32_t n) const {
    const float of_row = has_row ? isa::ld_global(a + (are_of_rows ? row : 0)) : 0.0f;
    if (!are_of_rows) {
      const float factor = of_row * isa::ld_global(b + group);
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < count; ++i) values[i] *= factor;
      return;
    }
    const float* const of_cols = b + std::uint64_t{group} * n + col;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < count; i += 4) {
      if (col + i >= n) continue;  // n is in eights
      const isa::Bytes16 scales = isa::ld_global(reinterpret_cast<const isa::Bytes16*>(of_cols + i));
      HEDDLE_UNROLL
      for (std::uint32_t j = 0; j < 4; ++j) values[i + j] *= of_row * __builtin_bit_cast(float, scales.word[j]);
    }
  }
};

// bf16, and FP8 with scales.
template <MatmulSm100Config matmul_config, MmaKind kind>
struct GroupedFamily : StandardFamily<matmul_config, kind> {
  using Base = StandardFamily<matmul_config, kind>;
  using Loads = GroupedLoads<matmul_config, typename Base::Payload>;
  static constexpr bool has_scales = kind == MmaKind::kF8f6f4;
  struct Operands : GroupedOperands {
    GroupScales scales;
  };

  template <class Context, class Tiles>
  HEDDLE_DEVICE static void load(const Operands&, const Loads& loads, const Context& ctx, const Tiles& tiles,
                                 const GroupedTile&, std::uint32_t k_block) {
    loads.load(ctx, tiles, k_block * Base::kTileK);
  }
};

// With sums in tensor memory over all of K.
template <class Family>
struct MatmulSm100GroupedSums : GroupedOnSm100<MatmulSm100Frame<Family, PlainEpilogue>, 1> {
  using Base = GroupedOnSm100<MatmulSm100Frame<Family, PlainEpilogue>, 1>;
  using Base::config;
  using typename Base::Context;
  using typename Base::Shared;
  using typename Base::Walk;
  using Params = MatmulSm100GroupedParams<typename Family::Operands>;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Base::template run_grouped<MatmulSm100GroupedSums>(params, shared);
  }

  template <Element Out>
  HEDDLE_DEVICE static void finish(const Params& params, Shared& shared, const Context& ctx, const Walk& walk) {
    using Writer = GroupRowWriter<Out, config.tile_n, typename Base::Stores, config.tile_m>;
    typename Base::Warps::EpilogueContext tmem(shared.pipelines.tmem, shared.pipelines.output,
                                               ctx.mma_complete_mask());
    typename Base::Stores stores(shared.output_tiles[isa::warp_idx()]);
    Writer writer(stores, params.c, params.target);
    for (const GroupedTile tile : walk.tiles()) {
      writer.start_tile(tile);
      auto accumulator = tmem.output().acquire_epilogue_linear();
      const std::uint32_t from = accumulator.tmem().address().of_warp(isa::warp_idx()).bits();
      std::uint32_t sums[Writer::lane_cols];
      for (std::uint32_t chunk = 0; chunk + 1 < Writer::chunks; ++chunk) {
        load_sums<config.tile_m>(sums, from + chunk * Writer::chunk_cols);
        isa::tcgen05_wait_ld();
        finish_chunk(params, writer, tile, chunk, sums);
      }
      // The accumulator goes back as soon as its last columns are in registers.
      load_sums<config.tile_m>(sums, from + (Writer::chunks - 1) * Writer::chunk_cols);
      std::move(accumulator).release();
      finish_chunk(params, writer, tile, Writer::chunks - 1, sums);
    }
    stores.drain();
  }

 private:
  template <class Writer, std::uint32_t count>
  HEDDLE_DEVICE static void finish_chunk(const Params& params, Writer& writer, const GroupedTile& tile,
                                         std::uint32_t chunk, const std::uint32_t (&sums)[count]) {
    float values[count];
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < count; ++i) values[i] = __builtin_bit_cast(float, sums[i]);
    if constexpr (Family::has_scales) {
      params.operands.scales.apply(values, tile.group, writer.lane_row(), writer.has_lane_row(),
                                   writer.lane_column(chunk), params.target.n);
    }
    writer.store(chunk, values);
  }
};

template <MatmulSm100Config config, MmaKind kind>
using MatmulSm100Grouped = MatmulSm100GroupedSums<GroupedFamily<config, kind>>;

// Blockwise FP8: scales of A come with the stage, from multiples of 16 bytes on; those of B from global memory.
template <MatmulSm100Config matmul_config>
struct GroupedBlockwiseFamily : BlockwiseFp8Family<matmul_config> {
  using Base = BlockwiseFp8Family<matmul_config>;
  static_assert(!Base::is_pair, "a pair has scales in a ring of its own: make cta_group 1");
  using Loads = GroupedLoads<matmul_config, typename Base::Payload>;
  struct Operands : GroupedOperands {
    isa::TensorMap a_scales;  // {row, block along K}
    const float* b_scales;    // [group][block of columns][block along K]
  };

  template <class Context, class Tiles>
  HEDDLE_DEVICE static void load(const Operands& operands, const Loads& loads, const Context& ctx,
                                 const Tiles& tiles, const GroupedTile&, std::uint32_t k_block) {
    loads.load(ctx, tiles, k_block * Base::kTileK);
    // Orders: what the epilogue has read of the stage before, ahead of the copy.
    isa::fence_proxy_async_shared_cta();
    load_tile(tiles.a_scales_tile(), &operands.a_scales, {loads.row(), static_cast<std::int32_t>(k_block)},
              tiles.barrier());
  }
};

template <MatmulSm100Config matmul_config>
struct MatmulSm100GroupedBlockwise
    : GroupedOnSm100<MatmulSm100BlockwiseFp8<matmul_config, GroupedBlockwiseFamily<matmul_config>>, 4> {
  using Family = GroupedBlockwiseFamily<matmul_config>;
  using Base = GroupedOnSm100<MatmulSm100BlockwiseFp8<matmul_config, Family>, 4>;
  using Base::config;
  using typename Base::Context;
  using typename Base::Roles;
  using typename Base::Shared;
  using typename Base::Walk;
  using Params = MatmulSm100GroupedParams<typename Family::Operands>;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Base::template run_grouped<MatmulSm100GroupedBlockwise>(params, shared);
  }

  template <Element Out>
  HEDDLE_DEVICE static void finish(const Params& params, Shared& shared, const Context& ctx, const Walk& walk) {
    using Writer = GroupRowWriter<Out, config.tile_n, typename Base::Frame::Stores, config.tile_m>;
    typename Base::Warps::EpilogueContext tmem(shared.pipelines.tmem, shared.pipelines.output,
                                               ctx.mma_complete_mask());
    auto scales = Base::scales_ring(shared);
    typename Base::Frame::Stores stores(shared.output_tiles[isa::warp_idx()]);
    Writer writer(stores, params.c, params.target);
    const std::uint32_t row = Roles::template thread_in_role<MatmulRoles::Epilogue>();
    const std::uint32_t blocks_n = (params.target.n + 127) / 128;
    for (const GroupedTile tile : walk.tiles()) {
      writer.start_tile(tile);
      const std::uint32_t block = tile.n * config.tile_n / 128;
      const float* const b_scales =
          params.operands.b_scales + (std::uint64_t{tile.group} * blocks_n + block) * params.k_blocks.all;
      float sums[config.tile_n] = {};
      for (std::uint32_t k = 0; k < params.k_blocks.all; ++k) {
        const float b_scale = block < blocks_n ? isa::ld_global(b_scales + k) : 0.0f;
        auto stage = tmem.output().per_k_epilogue(scales);
        const float scale = Base::scales_of(shared, stage.input_stage()).load(0, row) * b_scale;
        Base::add_scaled(stage.tmem().address().of_warp(isa::warp_idx()), scale, sums);
      }
      HEDDLE_UNROLL
      for (std::uint32_t chunk = 0; chunk < Writer::chunks; ++chunk) {
        float values[Writer::lane_cols];
        HEDDLE_UNROLL
        for (std::uint32_t i = 0; i < Writer::lane_cols; ++i) values[i] = sums[chunk * Writer::chunk_cols + i];
        writer.store(chunk, values);
      }
    }
    stores.drain();
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
