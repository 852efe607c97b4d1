// SPDX-License-Identifier: Apache-2.0
//
// Groups of rows for Blackwell with a scale for every 16 or 32 numbers along K: MXFP8, MXFP4 and NVFP4. Tiles and
// their output are those of matmul_sm100_grouped.h. Scales lie in rows, as the numbers do, and a warp puts those
// of a stage into the blocks of 512 bytes that the tensor cores take: groups begin anywhere, and blocks of 128
// rows that were made beforehand would not begin with them.
#pragma once

#include "matmul_sm100_block_scaled.h"
#include "matmul_sm100_grouped.h"

#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/warp.h>

namespace heddle::inline HEDDLE_TARGET {

// Rows of scales, four to a word: those of A, and of the groups' B one after the other.
struct ScaleRows {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  std::uint32_t words = 0;  // of a row
};

template <MatmulSm100Config matmul_config, BlockScaledFormat format>
struct GroupedBlockScaledFamily : BlockScaledFamily<matmul_config, format> {
  using Base = BlockScaledFamily<matmul_config, format>;
  using Payload = typename Base::Payload;
  static_assert(matmul_config.cta_group == 1 && matmul_config.cluster.size() == 1,
                "a warp brings the scales of its own CTA: make cluster {1, 1}");
  // The copies of a stage are those of the numbers.
  using Loads = GroupedLoads<matmul_config, Payload, Payload::ATile::tx_bytes() + Payload::BTile::tx_bytes()>;
  static constexpr bool has_scale_warp = true;
  static constexpr bool has_scales = true;
  // What the sums are multiplied by.
  struct Factor {
    float alpha = 1;

    template <std::uint32_t count>
    HEDDLE_DEVICE void apply(float (&values)[count], std::uint32_t, std::uint32_t, bool, std::uint32_t,
                             std::uint32_t) const {
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < count; ++i) values[i] *= alpha;
    }
  };
  struct Operands : GroupedOperands {
    Factor scales;
    ScaleRows rows;
  };

  template <class Context, class Tiles>
  HEDDLE_DEVICE static void load(const Operands&, const Loads& loads, const Context& ctx, const Tiles& tiles,
                                 const GroupedTile&, std::uint32_t k_block) {
    loads.load(ctx, tiles, k_block * Base::kTileK);
  }

  // By a warp: the scales of a block along K, of 128 rows of which `count` are there. Lane i has rows i, i + 32,
  // i
  // + 64 and i + 96, which lie side by side.
  class StageScales {
   public:
    HEDDLE_DEVICE void read(const std::uint32_t* rows, std::uint32_t count, std::uint32_t words,
                            std::uint32_t k_block) {
      HEDDLE_UNROLL
      for (std::uint32_t quarter = 0; quarter < 4; ++quarter) {
        const std::uint32_t row = isa::laneid() + 32 * quarter;
        const std::uint32_t* const from = rows + std::uint64_t{row} * words + k_block * Base::kScaleBlocks;
        HEDDLE_UNROLL
        for (std::uint32_t i = 0; i < Base::kScaleBlocks; ++i) {
          blocks_[i].word[quarter] = row < count ? isa::ld_global(from + i) : 0;
        }
      }
    }
    HEDDLE_DEVICE void write(void* to) const {
      auto* const bytes = static_cast<unsigned char*>(to);
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < Base::kScaleBlocks; ++i) {
        isa::st_shared(reinterpret_cast<isa::Bytes16*>(bytes + i * 512 + isa::laneid() * 16), blocks_[i]);
      }
    }

   private:
    isa::Bytes16 blocks_[Base::kScaleBlocks];
  };
};

template <MatmulSm100Config matmul_config, BlockScaledFormat format>
struct MatmulSm100GroupedBlockScaled : MatmulSm100GroupedSums<GroupedBlockScaledFamily<matmul_config, format>> {
  using Family = GroupedBlockScaledFamily<matmul_config, format>;
  using Base = MatmulSm100GroupedSums<Family>;
  using Base::config;
  using typename Base::Context;
  using typename Base::Params;
  using typename Base::Shared;
  using typename Base::Walk;

  // A stage is full when the copies have come, and the warp has written its scales.
  struct Counts : Base::Counts {
    static constexpr std::uint32_t input_full = Base::Counts::input_full + 1;
  };

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Base::template run_grouped<MatmulSm100GroupedBlockScaled>(params, shared);
  }
  HEDDLE_DEVICE static void init(Shared& shared) { shared.pipelines.template init_mbars<Counts>(); }

  // By the warp for scales. What is in flight for a stage is read ahead of the wait for it.
  // Orders: the scales, through the fence and the arrival, ahead of the tensor cores' copies.
  HEDDLE_DEVICE static void load_scales(const Params& params, Shared& shared, const Context&, const Walk& walk) {
    auto ring = shared.pipelines.input.pipeline("input");
    const auto payload = shared.pipelines.input.payload();
    const ScaleRows& rows = params.operands.rows;
    for (const GroupedTile tile : walk.tiles()) {
      const std::uint32_t col = tile.n * config.tile_n;
      const std::uint32_t cols = col < params.target.n ? params.target.n - col : 0;
      const std::uint32_t* const of_a = rows.a + std::uint64_t{tile.row} * rows.words;
      const std::uint32_t* const of_b = rows.b + (std::uint64_t{tile.group} * params.target.n + col) * rows.words;
      for (std::uint32_t k = 0; k < params.k_blocks.all; ++k) {
        typename Family::StageScales a;
        typename Family::StageScales b[Family::kColBlocks];
        a.read(of_a, tile.rows, rows.words, k);
        HEDDLE_UNROLL
        for (std::uint32_t i = 0; i < Family::kColBlocks; ++i) {
          const std::uint32_t first = i * 128;
          b[i].read(of_b + std::uint64_t{first} * rows.words, cols > first ? cols - first : 0, rows.words, k);
        }
        auto stage = ring.acquire_producer();
        a.write(payload.get_sfa_tile(stage.index()).data());
        HEDDLE_UNROLL
        for (std::uint32_t i = 0; i < Family::kColBlocks; ++i) {
          b[i].write(reinterpret_cast<unsigned char*>(payload.get_sfb_tile(stage.index()).data()) +
                     i * Family::kScaleBlocks * 512);
        }
        isa::fence_proxy_async_shared_cta();
        std::move(stage).release_elected();
      }
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
