// SPDX-License-Identifier: Apache-2.0
//
// Instances of the Blackwell matmuls as nvcc makes them: each type of input in one of the configurations, one SM and
// pairs, static and from cluster launch control, with and without a fused epilogue; blockwise FP8; and the sum of a
// split K.
#include "matmul_sm100_blockwise_fp8.h"
#include "matmul_sm100_configs.h"
#include "matmul_sm100_scaled_configs.h"
#include "split_k_reduce.h"

namespace heddle::inline HEDDLE_TARGET {

template <std::uint32_t index, Element In>
using Instance = MatmulSm100<kMatmulSm100Configs[index].config, In,
                             std::conditional_t<kMatmulSm100Configs[index].is_fused, FuseSums, StoreSums>>;
template <std::uint32_t index>
using Blockwise = MatmulSm100BlockwiseFp8<kBlockwiseConfigs[index].config, e4m3>;

template __global__ void isa::kernel_entry<Instance<0, bf16>>(const __grid_constant__ Instance<0, bf16>::Params);
template __global__ void isa::kernel_entry<Instance<1, tf32>>(const __grid_constant__ Instance<1, tf32>::Params);
template __global__ void isa::kernel_entry<Instance<2, bf16>>(const __grid_constant__ Instance<2, bf16>::Params);
template __global__ void isa::kernel_entry<Instance<3, e4m3>>(const __grid_constant__ Instance<3, e4m3>::Params);
template __global__ void isa::kernel_entry<Instance<5, fp16>>(const __grid_constant__ Instance<5, fp16>::Params);
template __global__ void isa::kernel_entry<Blockwise<1>>(const __grid_constant__ Blockwise<1>::Params);
template __global__ void isa::kernel_entry<SplitKReduce>(const __grid_constant__ SplitKReduce::Params);

}  // namespace heddle::inline HEDDLE_TARGET
