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

#include <heddle/isa/cluster.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/trace.h>

#include <concepts>
#include <type_traits>

#if HEDDLE_ON_CUDA
#include <cuda_runtime_api.h>
#if HEDDLE_TRACE
#include <heddle/host/device_trace.h>
#endif
#endif

namespace heddle::inline HEDDLE_TARGET {

// How many CTAs, and how many of them form a cluster. `threads` 0 stands for the kernel's kThreads. A dependent
// kernel may start before the one ahead of it in the stream has ended, and must execute griddepcontrol_wait
// (isa/grid_dependency.h); the simulated SM runs kernels one after the other.
struct LaunchShape {
  isa::Dim3 grid = {};
  isa::Dim3 cluster = {};
  std::uint32_t threads = 0;
  bool is_dependent = false;
};

template <class K>
concept Kernel = requires {
  typename K::Params;
  typename K::Shared;
  { K::kThreads } -> std::convertible_to<std::uint32_t>;
}
&&std::is_trivially_copyable_v<typename K::Params>;

#if HEDDLE_ON_CUDA

namespace isa {

inline constexpr std::uint32_t kSharedAlignment = 1024;

template <Kernel K>
__global__ void __launch_bounds__(K::kThreads, 1)
    kernel_entry(const __grid_constant__ typename K::Params params) {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  static_assert(alignof(typename K::Shared) <= kSharedAlignment,
                "a kernel's shared memory is aligned to 1024 bytes; its struct asks for more");
  trace_begin();
  K::run(params, *reinterpret_cast<typename K::Shared*>(dynamic_shared));
  trace_end();
}

template <Kernel K>
constexpr std::size_t dynamic_shared_bytes() {
  return sizeof(typename K::Shared) + trace_shared_bytes(K::kThreads);
}

#if HEDDLE_TRACE

// Where the next launch of this stream leaves its records: with the DeviceTrace that there is, or nowhere.
inline cudaError_t aim_trace(const Dim3& grid, std::uint32_t threads, std::size_t shared_bytes,
                             cudaStream_t stream) {
  TraceTarget target{};
  if (DeviceTrace* const trace = DeviceTrace::current()) {
    const DeviceTrace::Memory memory = trace->add({grid.x, grid.y, grid.z}, threads / 32);
    target = {memory.records, memory.counts, memory.capacity, memory.ctas,
              static_cast<std::uint32_t>(shared_bytes) - trace_shared_bytes(threads)};
  }
  return cudaMemcpyToSymbolAsync(trace_target, &target, sizeof(target), 0, cudaMemcpyHostToDevice, stream);
}

#else

inline cudaError_t aim_trace(const Dim3&, std::uint32_t, std::size_t, cudaStream_t) { return cudaSuccess; }

#endif

// How many clusters of so many CTAs the current device can run at once; 0 if it can run none.
template <Kernel K>
std::uint32_t resident_clusters(std::uint32_t cluster) {
  constexpr auto shared_bytes = static_cast<int>(dynamic_shared_bytes<K>());
  auto* entry = kernel_entry<K>;
  if (cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes) != cudaSuccess)
    return 0;
  if (cluster > kMaxPortableCluster &&
      cudaFuncSetAttribute(entry, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess) {
    return 0;
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(cluster);
  config.blockDim = dim3(K::kThreads);
  config.dynamicSmemBytes = dynamic_shared_bytes<K>();
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  return cudaOccupancyMaxActiveClusters(&clusters, entry, &config) == cudaSuccess
             ? static_cast<std::uint32_t>(clusters)
             : 0;
}

}  // namespace isa

// Starts the kernel on the current device. Touches nothing and returns the error if it cannot.
template <Kernel K>
cudaError_t launch(const LaunchShape& shape, const typename K::Params& params, cudaStream_t stream = nullptr) {
  constexpr std::size_t shared_bytes = isa::dynamic_shared_bytes<K>();
  auto* entry = isa::kernel_entry<K>;
  if (cudaError_t error = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(shared_bytes));
      error != cudaSuccess) {
    return error;
  }
  cudaLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (shape.cluster != isa::Dim3{}) {
    cudaLaunchAttribute& cluster = attributes[count++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = shape.cluster.x;
    cluster.val.clusterDim.y = shape.cluster.y;
    cluster.val.clusterDim.z = shape.cluster.z;
  }
  if (shape.is_dependent) {
    cudaLaunchAttribute& dependent = attributes[count++];
    dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    dependent.val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.grid.x, shape.grid.y, shape.grid.z);
  config.blockDim = dim3(shape.threads == 0 ? K::kThreads : shape.threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  if (const cudaError_t error = isa::aim_trace(shape.grid, config.blockDim.x, shared_bytes, stream);
      error != cudaSuccess) {
    return error;
  }
  return cudaLaunchKernelEx(&config, entry, params);
}

#endif

}  // namespace heddle::inline HEDDLE_TARGET
