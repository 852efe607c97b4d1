// SPDX-License-Identifier: Apache-2.0
// A band without a tile goes nowhere.
// expect: a band needs a tile
#include <heddle/kernel/scheduler.h>

using namespace heddle;

#ifdef MISUSE
constexpr TileSchedulerConfig kConfig{.group = 0};
#else
constexpr TileSchedulerConfig kConfig{.group = 1};
#endif
constexpr TileSchedulerParams kParams = make_tile_scheduler_params<kConfig>({.tiles_m = 3, .tiles_n = 2});
static_assert(kParams.cluster_tiles == 6);
