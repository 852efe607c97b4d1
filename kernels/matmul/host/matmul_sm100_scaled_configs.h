// SPDX-License-Identifier: Apache-2.0
//
// The configurations of the Blackwell matmuls with scales that the library holds.
#pragma once

#include "matmul/device/matmul_sm100_parts.h"

namespace heddle::inline HEDDLE_TARGET {

struct MatmulScaledNamed {
  const char* name;
  MatmulSm100Config config;
};

inline constexpr MatmulScaledNamed kBlockScaledConfigs[] = {
    {"1sm_128x128_1x1", {.tile_n = 128, .stages = 4}},
    {"2sm_256x256_2x1", {.tile_n = 256, .stages = 3, .cluster = {2, 1}, .cta_group = 2, .output_stages = 1}},
    {"2sm_256x128_4x2_static", {.tile_n = 128, .stages = 2, .cluster = {4, 2}, .cta_group = 2, .clc_stages = 0}},
};
inline constexpr std::uint32_t kBlockScaledConfigCount =
    sizeof(kBlockScaledConfigs) / sizeof(kBlockScaledConfigs[0]);

inline constexpr MatmulScaledNamed kBlockwiseConfigs[] = {
    {"1sm_128x128_1x1", {.tile_n = 128, .stages = 4}},
    {"1sm_128x64_2x2", {.tile_n = 64, .stages = 3, .cluster = {2, 2}}},
    {"2sm_256x128_2x1", {.tile_n = 128, .stages = 4, .cluster = {2, 1}, .cta_group = 2}},
    {"2sm_256x64_4x2", {.tile_n = 64, .stages = 3, .cluster = {4, 2}, .cta_group = 2}},
};
inline constexpr std::uint32_t kBlockwiseConfigCount = sizeof(kBlockwiseConfigs) / sizeof(kBlockwiseConfigs[0]);

}  // namespace heddle::inline HEDDLE_TARGET
