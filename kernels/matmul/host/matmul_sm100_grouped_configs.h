// SPDX-License-Identifier: Apache-2.0
//
// The configurations of the grouped Blackwell matmuls that the library holds.
#pragma once

#include "matmul/device/matmul_sm100_parts.h"

namespace heddle::inline HEDDLE_TARGET {

struct MatmulSm100GroupedNamed {
  const char* name;
  MatmulSm100Config config;
};

// Of bf16, and of FP8 with scales of tensors or rows.
inline constexpr MatmulSm100GroupedNamed kGroupedConfigs[] = {
    {"1sm_64x128_1x1", {.tile_m = 64, .tile_n = 128, .stages = 6, .clc_stages = 0}},
    {"1sm_128x128_1x1", {.tile_n = 128, .stages = 4, .clc_stages = 0}},
    {"2sm_256x256_2x1", {.tile_n = 256, .stages = 4, .cluster = {2, 1}, .cta_group = 2, .clc_stages = 0}},
};
inline constexpr std::uint32_t kGroupedConfigCount = sizeof(kGroupedConfigs) / sizeof(kGroupedConfigs[0]);

inline constexpr MatmulSm100GroupedNamed kGroupedBlockwiseConfigs[] = {
    {"1sm_128x128_1x1", {.tile_n = 128, .stages = 4, .clc_stages = 0}},
    {"1sm_128x64_1x2", {.tile_n = 64, .stages = 4, .cluster = {1, 2}, .clc_stages = 0}},
};
inline constexpr std::uint32_t kGroupedBlockwiseConfigCount =
    sizeof(kGroupedBlockwiseConfigs) / sizeof(kGroupedBlockwiseConfigs[0]);

inline constexpr MatmulSm100GroupedNamed kGroupedBlockScaledConfigs[] = {
    {"1sm_128x128_1x1", {.tile_n = 128, .stages = 4, .clc_stages = 0}},
};
inline constexpr std::uint32_t kGroupedBlockScaledConfigCount =
    sizeof(kGroupedBlockScaledConfigs) / sizeof(kGroupedBlockScaledConfigs[0]);

}  // namespace heddle::inline HEDDLE_TARGET
