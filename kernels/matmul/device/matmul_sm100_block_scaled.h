// SPDX-License-Identifier: Apache-2.0
//
// C = A * B^T for Blackwell with a scale for every 16 or 32 numbers along K: MXFP8, MXFP4 and NVFP4. The roles
// and their loops are those of matmul_sm100_frame.h. A stage carries the scales of its tiles too, in blocks of
// 512 bytes for 128 rows x 4 scales; the thread that multiplies copies them into tensor memory first.
#pragma once

#include "matmul_sm100_frame.h"

#include <heddle/tile/scale_factors.h>
#include <heddle/tile/tcgen05_mma.h>
#include <heddle/tile/tmem_plan.h>

namespace heddle::inline HEDDLE_TARGET {

struct BlockScaledFormat {
  MmaKind kind;
  int scales_per_mma;  // of a row
  ScaleFormat scale_format;
  std::uint32_t scale_vector_elems;

  bool operator==(const BlockScaledFormat&) const = default;
};

inline constexpr BlockScaledFormat kMxfp8{MmaKind::kMxf8f6f4, 1, ScaleFormat::kUe8m0, 32};
inline constexpr BlockScaledFormat kMxfp4{MmaKind::kMxf4, 2, ScaleFormat::kUe8m0, 32};
inline constexpr BlockScaledFormat kNvfp4{MmaKind::kMxf4nvf4, 4, ScaleFormat::kUe4m3, 16};

// Operands are bytes: e4m3 and e5m2 in any mix, which share a kernel, or pairs of e2m1.
template <MatmulSm100Config matmul_config, BlockScaledFormat format>
struct BlockScaledFamily {
  using In = std::conditional_t<format.kind == MmaKind::kMxf8f6f4, e4m3, e2m1x2>;
  static constexpr MatmulSm100Config config = matmul_config;
  static constexpr std::uint32_t kTileK = 128;  // bytes: one swizzle span
  static constexpr std::uint32_t kMmas = 4;     // of 32 bytes of K each
  static constexpr std::uint32_t kScaleBlocks =
      kMmas * static_cast<std::uint32_t>(format.scales_per_mma) / 4;  // along K
  static constexpr std::uint32_t kColBlocks = config.tile_n / 128;
  static_assert(sizeof(In) == 1 && config.tile_n % 128 == 0,
                "scales come in blocks of 128 rows: make tile_n 128 or 256");

  using Payload = BlockScaledTilePayload<In, In,
                                         BlockScaledTileConfig{.a = {kSm100TileM, kTileK},
                                                               .b = {config.tile_n / config.cta_group, kTileK},
                                                               .scale_format = format.scale_format,
                                                               .scale_vector_elems = format.scale_vector_elems,
                                                               .sfb_rows = config.tile_n}>;
  using Loads = OperandLoads<config, Payload>;
  using Accumulator = TmemTensor<float, config.accumulator()>;
  // Each stage of the input has columns for its scales, which stay until the commit that releases the stage.
  static constexpr ScaleFactorShape kSfa{.rows = kSm100TileM, .scales_per_row = 4 * kScaleBlocks};
  static constexpr ScaleFactorShape kSfb{.rows = config.tile_n, .scales_per_row = 4 * kScaleBlocks};
  using Plan = TmemPlan<TmemRegion<"accumulators", Accumulator, config.output_stages>,
                        TmemRegion<"sfa", TmemScales<kSfa>, config.stages>,
                        TmemRegion<"sfb", TmemScales<kSfb>, config.stages>>;
  static constexpr std::uint32_t tmem_cols = Plan::kAllocCols;
  static constexpr bool has_sums_of_steps = false;
  using OwnShared = NothingShared;
  struct Operands {
    EdgeMaps a;  // {k, row, batch}
    EdgeMaps b;
    isa::TensorMap sfa;  // {word of a block, block along K, block of rows, batch}
    isa::TensorMap sfb;
    std::uint32_t instruction;
  };

  template <class Context, class Tiles>
  HEDDLE_DEVICE static void load(const Operands& operands, const Loads& loads, const Context& ctx,
                                 const Tiles& tiles, const TileWork& work, std::uint32_t k_block) {
    loads.load(ctx, tiles, k_block * kTileK);
    load_scales(tiles.sfa_tile(), &operands.sfa, k_block, work.m, work.batch, tiles.barrier());
    load_scales(tiles.sfb_tile(), &operands.sfb, k_block, work.n * kColBlocks, work.batch, tiles.barrier());
  }

  // `operands` names the instruction.
  template <class AnyOperands, class Tiles>
  HEDDLE_DEVICE static void multiply(const AnyOperands& operands, const Tiles& tiles, TmemAddress tmem,
                                     std::uint32_t d, bool accumulate) {
    const Plan plan(tmem);
    const auto sfa = plan.template region<"sfa">(tiles.stage());
    const auto sfb = plan.template region<"sfb">(tiles.stage());
    sfa.template copy_from<kGroup>(tiles.sfa_tile().data());
    sfb.template copy_from<kGroup>(tiles.sfb_tile().data());
    tcgen05_mma_block_scale<format.kind, format.scales_per_mma>(
        Accumulator(TmemAddress(d)), tiles.a_tile().operand(), tiles.b_tile().operand(), sfa, sfb, accumulate,
        operands.instruction);
  }

  // The word that names these types.
  static constexpr std::uint32_t instruction(OperandType a_type, OperandType b_type) {
    return instruction_descriptor(BlockScaledInstructionDescriptor{
        .kind = format.kind,
        .m = config.cta_group * kSm100TileM,
        .n = config.tile_n,
        .a_type = a_type,
        .b_type = b_type,
        .scale_type = format.scale_format == ScaleFormat::kUe8m0 ? ScaleType::kUe8m0 : ScaleType::kUe4m3});
  }

 private:
  static constexpr int kGroup = static_cast<int>(config.cta_group);

  template <class Tile>
  HEDDLE_DEVICE static void load_scales(Tile tile, const isa::TensorMap* map, std::uint32_t k_block,
                                        std::uint32_t row_block, std::uint32_t batch, MbarPtr full) {
    const std::int32_t at[4] = {0, static_cast<std::int32_t>(k_block * kScaleBlocks),
                                static_cast<std::int32_t>(row_block), static_cast<std::int32_t>(batch)};
    if constexpr (config.cta_group == 2) {
      isa::cp_async_bulk_tensor_load_cta_group_2(tile.data(), map, at, full);
    } else {
      isa::cp_async_bulk_tensor_load(tile.data(), map, at, full);
    }
  }
};

template <MatmulSm100Config config, BlockScaledFormat format, class Epilogue = PlainEpilogue>
using MatmulSm100BlockScaled = MatmulSm100Frame<BlockScaledFamily<config, format>, Epilogue>;

}  // namespace heddle::inline HEDDLE_TARGET
