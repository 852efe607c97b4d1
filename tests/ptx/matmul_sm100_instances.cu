// SPDX-License-Identifier: Apache-2.0
//
// Instances of the Blackwell matmuls as nvcc makes them: each kind of input in one of the configurations, one SM
// and pairs, static and from cluster launch control, with and without a fused epilogue, 64 rows; other layouts of
// the operands; blockwise FP8; and the sum of a split K.
#include "matmul/device/matmul_sm100_blockwise_fp8.h"
#include "matmul/device/split_k_reduce.h"
#include "matmul/host/matmul_sm100_configs.h"
#include "matmul/host/matmul_sm100_scaled_configs.h"

#include <string_view>

namespace heddle::inline HEDDLE_TARGET {

constexpr const MatmulSm100Named& named(std::string_view name) {
  for (const MatmulSm100Named& one : kMatmulSm100Configs) {
    if (name == one.name) return one;
  }
  return kMatmulSm100Configs[0];
}

constexpr MatmulSm100Config kOneSm = named("1sm_128x64_1x1").config;
constexpr MatmulSm100Config kStatic = named("1sm_128x32_2x2_static").config;
constexpr MatmulSm100Config kPair = named("2sm_256x256_2x1").config;
constexpr MatmulSm100Config kWide = named("2sm_256x64_4x2").config;
constexpr MatmulSm100Config kFused = named("2sm_256x128_2x1_fused").config;

using OneSm = MatmulSm100<kOneSm, MmaKind::kF16>;
using Static = MatmulSm100<kStatic, MmaKind::kTf32>;
using Pair = MatmulSm100<kPair, MmaKind::kF16>;
using Wide = MatmulSm100<kWide, MmaKind::kF8f6f4>;
using Fused = MatmulSm100<kFused, MmaKind::kF16, OperandMajors{}, FuseSums>;
using Rows64 = MatmulSm100<named("1sm_64x64_1x1").config, MmaKind::kF16>;
using BothMn = MatmulSm100<kOneSm, MmaKind::kF16, OperandMajors{Major::kMN, Major::kMN}>;
using MnB = MatmulSm100<kPair, MmaKind::kTf32, OperandMajors{Major::kK, Major::kMN}>;
using MnA = MatmulSm100<kFused, MmaKind::kF8f6f4, OperandMajors{Major::kMN, Major::kK}, FuseSums>;
using Blockwise = MatmulSm100BlockwiseFp8<kBlockwiseConfigs[1].config>;
using Reduce = SplitKReduce<Arch::kSm100>;

template __global__ void isa::kernel_entry<OneSm>(const __grid_constant__ OneSm::Params);
template __global__ void isa::kernel_entry<Static>(const __grid_constant__ Static::Params);
template __global__ void isa::kernel_entry<Pair>(const __grid_constant__ Pair::Params);
template __global__ void isa::kernel_entry<Wide>(const __grid_constant__ Wide::Params);
template __global__ void isa::kernel_entry<Fused>(const __grid_constant__ Fused::Params);
template __global__ void isa::kernel_entry<Rows64>(const __grid_constant__ Rows64::Params);
template __global__ void isa::kernel_entry<BothMn>(const __grid_constant__ BothMn::Params);
template __global__ void isa::kernel_entry<MnB>(const __grid_constant__ MnB::Params);
template __global__ void isa::kernel_entry<MnA>(const __grid_constant__ MnA::Params);
template __global__ void isa::kernel_entry<Blockwise>(const __grid_constant__ Blockwise::Params);
template __global__ void isa::kernel_entry<Reduce>(const __grid_constant__ Reduce::Params);

}  // namespace heddle::inline HEDDLE_TARGET
