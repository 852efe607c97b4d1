// SPDX-License-Identifier: Apache-2.0
//
// One instance of the matmul with scales of blocks.
#include "matmul/device/matmul_sm100_blockwise_fp8.h"
#include "matmul/host/matmul_sm100_scaled_configs.h"

namespace heddle::inline HEDDLE_TARGET {

using Instance = MatmulSm100BlockwiseFp8<kBlockwiseConfigs[1].config>;
template __global__ void isa::kernel_entry<Instance>(const __grid_constant__ Instance::Params);

}  // namespace heddle::inline HEDDLE_TARGET
