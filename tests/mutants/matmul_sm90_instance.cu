// SPDX-License-Identifier: Apache-2.0
//
// One instance of the Hopper matmul: two CTAs with multicast, warpgroups that share a tile.
#include "matmul/device/matmul_sm90_launch.h"

namespace heddle::inline HEDDLE_TARGET {

constexpr MatmulSm90Config config() {
  for (const MatmulSm90Instance& instance : kMatmulSm90Instances) {
    if (instance.group == MatmulGroup::kSimulated && instance.config.tile_m == 128 &&
        instance.config.tile_n == 24 && instance.config.b_major == Major::kK) {
      return instance.config;
    }
  }
  return {};
}

using Instance = MatmulSm90<config(), bf16, FusedEpilogue>;
template __global__ void isa::kernel_entry<Instance>(const __grid_constant__ Instance::Params);

}  // namespace heddle::inline HEDDLE_TARGET
