// SPDX-License-Identifier: Apache-2.0
//
// The configurations of the Hopper matmul that the library holds. Each line is compiled once for each type of
// input, by the unit of its group. CMake reads the groups here, and makes their units.
#pragma once

#include "matmul_sm90.h"

namespace heddle::inline HEDDLE_TARGET {

// Which unit compiles an instance.
enum class MatmulGroup : std::uint8_t { kLarge, kSmall, kSwapped, kFused, kFusedKn, kSimulated };

struct MatmulSm90Instance {
  MatmulSm90Config config;
  MatmulGroup group = MatmulGroup::kLarge;
  bool is_gpu_only = false;  // differs from another one in its numbers only: the simulated SM runs that
};

constexpr bool has_fused_epilogue(const MatmulSm90Instance& instance) {
  return instance.group >= MatmulGroup::kFused && !instance.config.is_swapped;
}

constexpr bool is_compiled(const MatmulSm90Instance& instance, bool is_simulated) {
  return is_simulated ? !instance.is_gpu_only : instance.group != MatmulGroup::kSimulated;
}

#define HEDDLE_MATMUL(m, n, k, s, cm, cn, f, ...)                                                                \
  {                                                                                                              \
    .tile_m = m, .tile_n = n, .tile_k = k, .stages = s, .cluster_m = cm, .cluster_n = cn, .form = MatmulForm::f, \
    __VA_ARGS__                                                                                                  \
  }

// The tile and the cluster of the transposed output: `cm` tiles along the output's columns share rows of A, `cn`
// along its rows those of B.
#define HEDDLE_SWAPPED(m, n, k, s, cm, cn, f, ...) \
  HEDDLE_MATMUL(m, n, k, s, cm, cn, f, .is_swapped = true, __VA_ARGS__)

inline constexpr MatmulSm90Instance kMatmulSm90Instances[] = {
    {HEDDLE_MATMUL(128, 256, 64, 4, 2, 1, kCooperative), MatmulGroup::kLarge},
    {HEDDLE_MATMUL(256, 192, 64, 3, 1, 2, kCooperative), MatmulGroup::kLarge},
    {HEDDLE_MATMUL(256, 176, 64, 3, 1, 2, kCooperative), MatmulGroup::kLarge, true},
    {HEDDLE_MATMUL(128, 192, 64, 5, 2, 1, kPingpong, .store_tiles = 1), MatmulGroup::kLarge, true},
    {HEDDLE_MATMUL(128, 176, 64, 5, 2, 1, kPingpong), MatmulGroup::kLarge},
    {HEDDLE_MATMUL(128, 160, 64, 5, 1, 1, kPingpong), MatmulGroup::kLarge, true},
    {HEDDLE_MATMUL(128, 128, 64, 6, 1, 1, kPingpong), MatmulGroup::kLarge},
    {HEDDLE_MATMUL(128, 224, 64, 4, 2, 1, kCooperative), MatmulGroup::kLarge, true},
    {HEDDLE_MATMUL(128, 112, 64, 6, 1, 2, kCooperative), MatmulGroup::kLarge, true},
    {HEDDLE_MATMUL(128, 96, 64, 7, 1, 2, kCooperative, .store_tiles = 1), MatmulGroup::kLarge, true},
    {HEDDLE_MATMUL(128, 144, 64, 6, 2, 1, kPingpong, .store_tiles = 1), MatmulGroup::kLarge, true},
    {HEDDLE_MATMUL(128, 144, 64, 6, 1, 2, kPingpong, .store_tiles = 1), MatmulGroup::kLarge, true},
    {HEDDLE_MATMUL(128, 160, 64, 5, 2, 1, kPingpong), MatmulGroup::kLarge, true},
    {HEDDLE_MATMUL(128, 96, 64, 7, 2, 1, kPingpong, .store_tiles = 1), MatmulGroup::kLarge, true},
    {HEDDLE_MATMUL(128, 256, 64, 4, 2, 1, kCooperative, .b_major = Major::kMN), MatmulGroup::kLarge},
    {HEDDLE_MATMUL(128, 128, 64, 6, 2, 1, kPingpong, .b_major = Major::kMN), MatmulGroup::kLarge, true},

    {HEDDLE_MATMUL(64, 128, 64, 8, 1, 1, kSingle), MatmulGroup::kSmall, true},
    {HEDDLE_MATMUL(64, 128, 64, 8, 2, 1, kSingle), MatmulGroup::kSmall, true},
    {HEDDLE_MATMUL(64, 112, 64, 9, 2, 1, kSingle), MatmulGroup::kSmall},
    {HEDDLE_MATMUL(64, 160, 64, 7, 2, 1, kSingle), MatmulGroup::kSmall, true},
    {HEDDLE_MATMUL(64, 96, 64, 10, 2, 1, kSingle), MatmulGroup::kSmall, true},
    {HEDDLE_MATMUL(64, 96, 64, 10, 1, 1, kSingle), MatmulGroup::kSmall, true},
    {HEDDLE_MATMUL(64, 48, 128, 7, 1, 1, kSingle, .store_tiles = 1), MatmulGroup::kSmall, true},
    {HEDDLE_MATMUL(64, 16, 128, 10, 1, 1, kSingle, .store_tiles = 1), MatmulGroup::kSmall, true},
    {HEDDLE_MATMUL(64, 64, 128, 6, 2, 1, kSingle), MatmulGroup::kSmall, true},
    {HEDDLE_MATMUL(64, 64, 64, 13, 1, 1, kSingle, .store_tiles = 1), MatmulGroup::kSmall},
    {HEDDLE_MATMUL(64, 32, 128, 9, 1, 1, kSingle, .store_tiles = 1), MatmulGroup::kSmall},
    {HEDDLE_MATMUL(64, 96, 64, 10, 2, 4, kSingle), MatmulGroup::kSmall, true},
    {HEDDLE_MATMUL(64, 128, 64, 8, 2, 1, kSingle, .b_major = Major::kMN), MatmulGroup::kSmall, true},

    {HEDDLE_SWAPPED(256, 112, 64, 4, 1, 1, kCooperative), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(256, 128, 64, 4, 1, 1, kCooperative), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(256, 136, 64, 4, 1, 1, kCooperative, .store_tiles = 1), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(256, 152, 64, 4, 1, 1, kCooperative, .store_tiles = 1), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(256, 184, 64, 3, 1, 1, kCooperative), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(128, 168, 64, 5, 1, 1, kPingpong), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(128, 200, 64, 5, 1, 1, kPingpong, .store_tiles = 1), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(192, 136, 64, 5, 1, 1, kSingle, .store_tiles = 1), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(192, 112, 64, 5, 1, 1, kSingle), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(128, 56, 64, 9, 1, 1, kSingle), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(128, 80, 64, 8, 1, 1, kSingle, .store_tiles = 1), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(64, 80, 64, 11, 1, 1, kSingle, .store_tiles = 1), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(128, 120, 64, 6, 1, 2, kPingpong, .store_tiles = 1), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(256, 152, 64, 4, 1, 2, kCooperative, .store_tiles = 1), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(128, 232, 64, 4, 2, 1, kCooperative), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(128, 232, 64, 4, 1, 2, kCooperative), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(128, 88, 64, 7, 1, 2, kPingpong), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(128, 104, 64, 7, 1, 2, kPingpong, .store_tiles = 1), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(192, 104, 64, 5, 1, 2, kSingle), MatmulGroup::kSwapped, true},
    {HEDDLE_SWAPPED(64, 104, 64, 10, 4, 1, kSingle, .store_tiles = 1), MatmulGroup::kSwapped, true},

    {HEDDLE_MATMUL(128, 256, 64, 4, 2, 1, kCooperative), MatmulGroup::kFused, true},
    {HEDDLE_MATMUL(128, 128, 64, 6, 1, 1, kPingpong), MatmulGroup::kFused},
    {HEDDLE_MATMUL(64, 128, 64, 8, 2, 1, kSingle), MatmulGroup::kFused, true},
    {HEDDLE_MATMUL(128, 128, 64, 6, 1, 1, kPingpong, .b_major = Major::kMN), MatmulGroup::kFusedKn},
    {HEDDLE_MATMUL(64, 128, 64, 8, 2, 1, kSingle, .b_major = Major::kMN), MatmulGroup::kFusedKn, true},

    {HEDDLE_MATMUL(128, 24, 64, 3, 2, 1, kCooperative), MatmulGroup::kSimulated},
    {HEDDLE_MATMUL(64, 40, 64, 2, 1, 2, kPingpong), MatmulGroup::kSimulated},
    {HEDDLE_MATMUL(64, 80, 64, 3, 2, 2, kPingpong, .store_tiles = 1), MatmulGroup::kSimulated},
    {HEDDLE_MATMUL(64, 16, 128, 2, 1, 1, kSingle), MatmulGroup::kSimulated},
    {HEDDLE_MATMUL(64, 64, 64, 3, 1, 1, kPingpong, .b_major = Major::kMN), MatmulGroup::kSimulated},
    {HEDDLE_SWAPPED(128, 24, 64, 3, 1, 1, kCooperative), MatmulGroup::kSimulated},
    {HEDDLE_SWAPPED(64, 72, 64, 3, 1, 1, kPingpong), MatmulGroup::kSimulated},
    {HEDDLE_SWAPPED(192, 40, 64, 2, 1, 1, kSingle, .store_tiles = 1), MatmulGroup::kSimulated},
    {HEDDLE_SWAPPED(64, 24, 64, 2, 1, 2, kSingle), MatmulGroup::kSimulated},
};

#undef HEDDLE_SWAPPED
#undef HEDDLE_MATMUL

// How many groups have instances here: the last one is the simulated SM's alone.
inline constexpr std::uint32_t kMatmulGroupCount =
    static_cast<std::uint32_t>(MatmulGroup::kSimulated) + (kIsSimulated ? 1 : 0);

inline constexpr std::uint32_t kMatmulSm90InstanceCount =
    sizeof(kMatmulSm90Instances) / sizeof(kMatmulSm90Instances[0]);

}  // namespace heddle::inline HEDDLE_TARGET
