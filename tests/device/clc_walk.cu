// SPDX-License-Identifier: Apache-2.0
#include "walk.h"

#include <heddle/host/device.h>

namespace heddle::inline HEDDLE_TARGET {

constexpr TileSchedulerConfig kOne{};
constexpr TileSchedulerConfig kFour{.cluster = {2, 2}};

RunOutcome walk_by_clc(Device& device, const LaunchShape& shape, const WalkParams& params) {
  return device.launch<ClcWalk<kOne, 2>>(shape, params);
}

RunOutcome walk_by_clc_in_clusters(Device& device, const LaunchShape& shape, const WalkParams& params) {
  return device.launch<ClcWalk<kFour, 3>>(shape, params);
}

}  // namespace heddle::inline HEDDLE_TARGET
