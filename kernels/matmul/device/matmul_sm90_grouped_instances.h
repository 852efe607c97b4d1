// SPDX-License-Identifier: Apache-2.0
//
// The configurations of the grouped Hopper matmul that the library holds, for bf16 and for FP8.
#pragma once

#include "matmul_sm90_grouped.h"

namespace heddle::inline HEDDLE_TARGET {

struct MatmulGroupedInstance {
  MatmulGroupedConfig config;
  MatmulElement a_type = MatmulElement::kBf16;
  MatmulElement b_type = MatmulElement::kBf16;
  bool is_simulated_only = false;  // small tiles, for many of them in little time
  // The two math warpgroups have a tile each, and one stores while the other multiplies: MatmulSm90, for problems
  // of one group of all rows with scales of whole operands.
  bool takes_turns = false;
};

#define HEDDLE_TILE(m, n, k, s, cm, cn, ...) \
  { .tile_m = m, .tile_n = n, .tile_k = k, .stages = s, .cluster_m = cm, .cluster_n = cn, __VA_ARGS__ }
#define HEDDLE_BF16 MatmulElement::kBf16, MatmulElement::kBf16
#define HEDDLE_E4M3 MatmulElement::kE4m3, MatmulElement::kE4m3
#define HEDDLE_E5M2 MatmulElement::kE5m2, MatmulElement::kE4m3
#define HEDDLE_PROMOTED .accumulation = Accumulation::kPromoted
#define HEDDLE_BLOCKWISE .accumulation = Accumulation::kBlockwise

inline constexpr MatmulGroupedInstance kMatmulGroupedInstances[] = {
    {HEDDLE_TILE(256, 176, 64, 3, 1, 2, ), HEDDLE_BF16},
    {HEDDLE_TILE(128, 256, 64, 4, 2, 1, ), HEDDLE_BF16},
    {HEDDLE_TILE(64, 256, 64, 5, 1, 1, .warpgroups = 1), HEDDLE_BF16},
    {HEDDLE_TILE(256, 24, 64, 3, 1, 2, ), HEDDLE_BF16, true},
    {HEDDLE_TILE(128, 40, 64, 2, 2, 1, .store_tiles = 1), HEDDLE_BF16, true},
    {HEDDLE_TILE(64, 16, 64, 3, 1, 1, .warpgroups = 1), HEDDLE_BF16, true},

    {HEDDLE_TILE(128, 256, 128, 4, 2, 1, ), HEDDLE_E4M3},
    {HEDDLE_TILE(128, 64, 128, 8, 1, 4, .store_tiles = 1), HEDDLE_E4M3},
    {HEDDLE_TILE(128, 192, 128, 5, 2, 1, .store_tiles = 1), HEDDLE_E4M3, false, true},
    {HEDDLE_TILE(128, 160, 128, 5, 1, 1, ), HEDDLE_E4M3, false, true},
    {HEDDLE_TILE(128, 176, 128, 5, 2, 1, ), HEDDLE_E4M3, false, true},
    {HEDDLE_TILE(128, 128, 128, 6, 1, 1, ), HEDDLE_E4M3, false, true},
    {HEDDLE_TILE(128, 256, 128, 4, 2, 1, ), HEDDLE_E5M2},
    {HEDDLE_TILE(64, 24, 128, 2, 1, 2, ), HEDDLE_E4M3, true, true},
    {HEDDLE_TILE(128, 24, 128, 2, 1, 2, ), HEDDLE_E4M3, true},
    {HEDDLE_TILE(64, 16, 128, 3, 1, 1, .warpgroups = 1), HEDDLE_E5M2, true},

    {HEDDLE_TILE(128, 192, 128, 4, 2, 1, .store_tiles = 3, HEDDLE_PROMOTED), HEDDLE_E4M3},
    {HEDDLE_TILE(256, 128, 128, 3, 1, 2, .store_tiles = 4, HEDDLE_PROMOTED), HEDDLE_E4M3},
    {HEDDLE_TILE(128, 64, 128, 8, 1, 4, .store_tiles = 1, HEDDLE_PROMOTED), HEDDLE_E4M3},
    {HEDDLE_TILE(256, 24, 128, 2, 1, 2, .store_tiles = 1, HEDDLE_PROMOTED), HEDDLE_E4M3, true},

    {HEDDLE_TILE(128, 192, 128, 4, 2, 1, .store_tiles = 3, HEDDLE_BLOCKWISE), HEDDLE_E4M3},
    {HEDDLE_TILE(256, 128, 128, 3, 1, 2, .store_tiles = 4, HEDDLE_BLOCKWISE), HEDDLE_E4M3},
    {HEDDLE_TILE(128, 64, 128, 8, 1, 4, .store_tiles = 1, HEDDLE_BLOCKWISE), HEDDLE_E4M3},
    {HEDDLE_TILE(64, 16, 128, 16, 1, 1, .warpgroups = 1, HEDDLE_BLOCKWISE), HEDDLE_E4M3},
    {HEDDLE_TILE(256, 32, 128, 2, 1, 2, .store_tiles = 1, HEDDLE_BLOCKWISE), HEDDLE_E4M3, true},
    {HEDDLE_TILE(128, 96, 128, 3, 2, 1, .store_tiles = 1, HEDDLE_BLOCKWISE), HEDDLE_E4M3, true},
};

#undef HEDDLE_TILE
#undef HEDDLE_BF16
#undef HEDDLE_E4M3
#undef HEDDLE_E5M2
#undef HEDDLE_PROMOTED
#undef HEDDLE_BLOCKWISE

inline constexpr std::uint32_t kMatmulGroupedInstanceCount =
    sizeof(kMatmulGroupedInstances) / sizeof(kMatmulGroupedInstances[0]);

constexpr bool is_compiled(const MatmulGroupedInstance& instance, bool is_simulated) {
  return is_simulated || !instance.is_simulated_only;
}

}  // namespace heddle::inline HEDDLE_TARGET
