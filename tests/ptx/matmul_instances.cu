// SPDX-License-Identifier: Apache-2.0
//
// The small instances of the Hopper matmul, which the library compiles for the simulated SM only, as nvcc makes
// them: one of each form.
#include "matmul/device/matmul_sm90_launch.h"

namespace heddle::inline HEDDLE_TARGET {

constexpr MatmulSm90Config config_of(std::uint32_t tile_m, std::uint32_t tile_n) {
  for (const MatmulSm90Instance& instance : kMatmulSm90Instances) {
    if (instance.group == MatmulGroup::kSimulated && instance.config.tile_m == tile_m &&
        instance.config.tile_n == tile_n && instance.config.b_major == Major::kK) {
      return instance.config;
    }
  }
  return {};
}

template <std::uint32_t tile_m, std::uint32_t tile_n>
using Instance = MatmulSm90<config_of(tile_m, tile_n), bf16, FusedEpilogue>;

template __global__ void isa::kernel_entry<Instance<128, 24>>(const __grid_constant__ Instance<128, 24>::Params);
template __global__ void isa::kernel_entry<Instance<64, 40>>(const __grid_constant__ Instance<64, 40>::Params);
template __global__ void isa::kernel_entry<Instance<64, 16>>(const __grid_constant__ Instance<64, 16>::Params);

}  // namespace heddle::inline HEDDLE_TARGET
