// SPDX-License-Identifier: Apache-2.0
//
// The parameters of the grouped Blackwell matmuls, of every family.
#pragma once

#include "matmul/host/matmul_sm100_grouped_configs.h"
#include "matmul_grouped_launch.h"
#include "matmul_sm100_grouped.h"

namespace heddle::inline HEDDLE_TARGET {

// What all of them have. The maps read bytes of any type as those of the family: the instruction, which is left
// out, says what they are.
template <class Kernel>
typename Kernel::Params sm100_grouped_params(const MatmulGroupedCall& call) {
  using Family = typename Kernel::FamilyType;
  using In = typename Family::In;
  constexpr MatmulSm100Config config = Kernel::config;
  const MatmulGroupedProblem& p = call.problem;
  const std::uint32_t out_bytes = p.out_type == MatmulElement::kFp32 ? 4 : 2;
  typename Kernel::Params params{};
  params.operands.a = grouped_map_of_a<In>(call, Family::Loads::kRowsOfA);
  params.operands.b = grouped_map_of_b<In>(call, Family::Loads::kRowsOfB);
  params.c = grouped_map_of_out(
      call, config.tile_m / 4,
      out_bytes == 4 ? row_chunk_cols<float, config.tile_n>() : row_chunk_cols<bf16, config.tile_n>());
  params.target = {
      .out = call.tensors.out, .out_pitch = call.plan.out_pitch, .n = static_cast<std::uint32_t>(p.n)};
  params.output = p.out_type;
  params.k_blocks.all = (static_cast<std::uint32_t>(p.k) + Family::kTileK - 1) / Family::kTileK;
  params.k_blocks.share = params.k_blocks.all;
  params.tiles = grouped_tiles_of(call, config.tile_n * config.cluster.n);
  return params;
}

}  // namespace heddle::inline HEDDLE_TARGET
