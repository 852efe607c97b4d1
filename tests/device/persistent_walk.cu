// SPDX-License-Identifier: Apache-2.0
#include "walk.h"

#include <heddle/host/device.h>

namespace heddle::inline HEDDLE_TARGET {

constexpr TileSchedulerConfig kPlain{.raster = Raster::kAlongM, .group = 8};
constexpr TileSchedulerConfig kClusters{.cluster = {2, 1}, .group = 4, .is_batched = true, .is_split = true};

RunOutcome walk_persistently(Device& device, const LaunchShape& shape, const WalkParams& params) {
  return device.launch<PersistentWalk<kPlain>>(shape, params);
}

RunOutcome walk_persistently_in_clusters(Device& device, const LaunchShape& shape, const WalkParams& params) {
  return device.launch<PersistentWalk<kClusters>>(shape, params);
}

}  // namespace heddle::inline HEDDLE_TARGET
