// SPDX-License-Identifier: Apache-2.0
//
// What a grouped Hopper matmul is made from: its configuration, and its parameters.
#pragma once

#include "grouped_scales.h"
#include "grouped_tiles.h"

#include "matmul/api/matmul_element.h"

#include <heddle/isa/target.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/isa/wgmma.h>

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
  // Promoted: a small tile has registers for the sums of two stages, of which the tensor cores make one while the
  // other is added to the totals.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t sums_of_stages() const {
    return accumulation != Accumulation::kWhole && row_blocks() == 1 && tile_n <= 64 ? 2 : 1;
  }
  // Of a thread. Promoted, the tensor cores have one block at a time, beside the totals of all.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t sum_registers() const {
    return (row_blocks() + (accumulation == Accumulation::kWhole ? 0 : sums_of_stages())) * tile_n / 2;
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

}  // namespace heddle::inline HEDDLE_TARGET
