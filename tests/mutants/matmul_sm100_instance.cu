// SPDX-License-Identifier: Apache-2.0
//
// One instance of the Blackwell matmul: a pair of SMs with cluster launch control.
#include "matmul/host/matmul_sm100_configs.h"

#include <string_view>

namespace heddle::inline HEDDLE_TARGET {

constexpr MatmulSm100Config config() {
  for (const MatmulSm100Named& one : kMatmulSm100Configs) {
    if (std::string_view("2sm_256x256_2x1") == one.name) return one.config;
  }
  return {};
}

using Instance = MatmulSm100<config(), MmaKind::kF16>;
template __global__ void isa::kernel_entry<Instance>(const __grid_constant__ Instance::Params);

}  // namespace heddle::inline HEDDLE_TARGET
