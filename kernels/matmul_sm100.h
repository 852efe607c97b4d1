// SPDX-License-Identifier: Apache-2.0
//
// C = A * B^T for Blackwell: A is [M, K], B is [N, K], row-major, bf16, fp16, tf32 or fp8; sums are float, C is
// bf16, fp16 or float. One matrix or a batch of them; K in one go or split over several work items. The roles and
// their loops are those of matmul_sm100_frame.h.
#pragma once

#include "matmul_sm100_frame.h"

#include <heddle/isa/tcgen05.h>

namespace heddle::inline HEDDLE_TARGET {

template <MatmulSm100Config matmul_config, Element In>
struct StandardFamily {
  static constexpr MatmulSm100Config config = matmul_config;
  static constexpr std::uint32_t kTileK = 128 / sizeof(In);  // one swizzle span
  using Payload = StandardTilePayload<
      In, In, StandardTileConfig{.a = {kSm100TileM, kTileK}, .b = {config.tile_n / config.cta_group, kTileK}}>;
  static constexpr std::uint32_t tmem_cols = 0;
  struct Operands {
    isa::TensorMap a;  // {k, row, batch}
    isa::TensorMap b;
  };

  template <class Context, class Tiles>
  HEDDLE_DEVICE static void load(const Operands& operands, const Context& ctx, const Tiles& tiles,
                                 const TileWork& work, std::uint32_t k_block) {
    load_a<config>(tiles.a_tile(), &operands.a, ctx, work, k_block * kTileK, tiles.barrier());
    load_b<config>(tiles.b_tile(), &operands.b, ctx, work, k_block * kTileK, tiles.barrier());
  }

  template <class Tiles>
  HEDDLE_DEVICE static void multiply(const Tiles& tiles, TmemAddress, std::uint32_t d, bool accumulate) {
    const std::uint64_t a = tiles.a_tile().tcgen05_descriptor();
    const std::uint64_t b = tiles.b_tile().tcgen05_descriptor();
    HEDDLE_UNROLL
    for (std::uint32_t k_bytes = 0; k_bytes < 128; k_bytes += 32) {
      isa::tcgen05_mma<mma_kind<In>(), static_cast<int>(config.cta_group)>(
          d, advanced_descriptor(a, k_bytes), advanced_descriptor(b, k_bytes), kInstruction,
          accumulate || k_bytes != 0);
    }
  }

 private:
  static constexpr std::uint32_t kInstruction =
      instruction_descriptor(InstructionDescriptor{.kind = mma_kind<In>(),
                                                   .m = config.cta_group * kSm100TileM,
                                                   .n = config.tile_n,
                                                   .a_type = operand_type<In>(),
                                                   .b_type = operand_type<In>()});
};

template <MatmulSm100Config config, Element In, class Epilogue = StoreSums>
using MatmulSm100 = MatmulSm100Frame<StandardFamily<config, In>, Epilogue>;

}  // namespace heddle::inline HEDDLE_TARGET
