// SPDX-License-Identifier: Apache-2.0
//
// The configurations of the Blackwell matmul that the library holds.
#pragma once

#include "matmul/device/matmul_sm100.h"

namespace heddle::inline HEDDLE_TARGET {

struct MatmulSm100Named {
  const char* name;
  MatmulSm100Config config;
  bool is_fused = false;
  bool has_layouts = false;  // takes operands in every layout; otherwise K-major ones only
};

inline constexpr MatmulSm100Named kMatmulSm100Configs[] = {
    {.name = "1sm_128x64_1x1", .config = {.tile_n = 64, .stages = 6}, .has_layouts = true},
    {"1sm_64x64_1x1", {.tile_m = 64, .tile_n = 64, .stages = 8}},
    {"1sm_128x32_2x2_static", {.tile_n = 32, .stages = 3, .cluster = {2, 2}, .clc_stages = 0}},
    {.name = "2sm_256x256_2x1",
     .config = {.tile_n = 256, .stages = 5, .cluster = {2, 1}, .cta_group = 2, .clc_stages = 3},
     .has_layouts = true},
    {"2sm_256x64_4x2", {.tile_n = 64, .stages = 4, .cluster = {4, 2}, .cta_group = 2}},
    {"1sm_128x64_1x1_fused", {.tile_n = 64, .stages = 5}, true},
    {"2sm_256x128_2x1_fused", {.tile_n = 128, .stages = 5, .cluster = {2, 1}, .cta_group = 2}, true, true},
};

inline constexpr std::uint32_t kMatmulSm100ConfigCount =
    sizeof(kMatmulSm100Configs) / sizeof(kMatmulSm100Configs[0]);

}  // namespace heddle::inline HEDDLE_TARGET
