// SPDX-License-Identifier: Apache-2.0
//
// The configurations of the grouped Hopper matmul that the library holds.
#pragma once

#include "matmul_sm90_grouped.h"

namespace heddle::inline HEDDLE_TARGET {

struct MatmulGroupedInstance {
  MatmulGroupedConfig config;
  bool is_simulated_only = false;  // small tiles, for many of them in little time
};

inline constexpr MatmulGroupedInstance kMatmulGroupedInstances[] = {
    {{.tile_m = 256, .tile_n = 176, .stages = 3, .cluster_n = 2}},
    {{.tile_m = 256, .tile_n = 128, .stages = 4, .cluster_n = 2, .store_tiles = 1}},
    {{.tile_m = 128, .tile_n = 256, .stages = 4, .cluster_m = 2}},
    {{.tile_m = 64, .tile_n = 256, .stages = 5, .warpgroups = 1}},
    {{.tile_m = 256, .tile_n = 24, .stages = 3, .cluster_n = 2}, true},
    {{.tile_m = 128, .tile_n = 40, .stages = 2, .cluster_m = 2, .store_tiles = 1}, true},
    {{.tile_m = 64, .tile_n = 16, .stages = 3, .warpgroups = 1}, true},
};

inline constexpr std::uint32_t kMatmulGroupedInstanceCount =
    sizeof(kMatmulGroupedInstances) / sizeof(kMatmulGroupedInstances[0]);

constexpr bool is_compiled(const MatmulGroupedInstance& instance, bool is_simulated) {
  return is_simulated || !instance.is_simulated_only;
}

}  // namespace heddle::inline HEDDLE_TARGET
