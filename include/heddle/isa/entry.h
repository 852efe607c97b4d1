// SPDX-License-Identifier: Apache-2.0
//
// What a kernel is, and how it is entered. A kernel is a struct with its parameters, its shared memory and
// a static function that every thread runs:
//
//   struct Copy {
//     struct Params { isa::TensorMap source, destination; };
//     struct Shared { ... };
//     static constexpr std::uint32_t kThreads = 160;
//     HEDDLE_DEVICE static void run(const Params& params, Shared& shared);
//   };
//
// On the GPU, launch<Copy>() starts it; in the simulated SM, sim::launch<Copy>() of heddle/sim/launch.h.
#pragma once

#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>

#include <concepts>
#include <type_traits>

#if HEDDLE_ON_CUDA
#include <cuda_runtime_api.h>
#endif

namespace heddle::inline HEDDLE_TARGET {

// How many CTAs, and how many of them form a cluster. `threads` 0 stands for the kernel's kThreads.
struct LaunchShape {
  isa::Dim3 grid = {};
  isa::Dim3 cluster = {};
  std::uint32_t threads = 0;
};

template <class K>
concept Kernel = requires {
  typename K::Params;
  typename K::Shared;
  { K::kThreads } -> std::convertible_to<std::uint32_t>;
} && std::is_trivially_copyable_v<typename K::Params>;

#if HEDDLE_ON_CUDA

namespace isa {

inline constexpr std::uint32_t kSharedAlignment = 1024;

template <Kernel K>
__global__ void __launch_bounds__(K::kThreads, 1) kernel_entry(const __grid_constant__ typename K::Params params) {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  static_assert(alignof(typename K::Shared) <= kSharedAlignment,
                "a kernel's shared memory is aligned to 1024 bytes; its struct asks for more");
  K::run(params, *reinterpret_cast<typename K::Shared*>(dynamic_shared));
}

}  // namespace isa

// Starts the kernel on the current device. Touches nothing and returns the error if it cannot.
template <Kernel K>
cudaError_t launch(const LaunchShape& shape, const typename K::Params& params, cudaStream_t stream = nullptr) {
  constexpr std::size_t shared_bytes = sizeof(typename K::Shared);
  auto* entry = isa::kernel_entry<K>;
  if (cudaError_t error = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(shared_bytes));
      error != cudaSuccess) {
    return error;
  }
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = shape.cluster.x;
  cluster.val.clusterDim.y = shape.cluster.y;
  cluster.val.clusterDim.z = shape.cluster.z;
  const bool has_cluster = shape.cluster != isa::Dim3{};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.grid.x, shape.grid.y, shape.grid.z);
  config.blockDim = dim3(shape.threads == 0 ? K::kThreads : shape.threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = has_cluster ? 1 : 0;
  return cudaLaunchKernelEx(&config, entry, params);
}

#endif

}  // namespace heddle::inline HEDDLE_TARGET
