// SPDX-License-Identifier: Apache-2.0
//
// Starting a kernel on the GPU. Device of heddle/host/device.h does so for both targets.
#pragma once

#include <heddle/isa/cluster.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/target.h>
#include <heddle/isa/trace.h>

#if HEDDLE_ON_CUDA
#include <cuda_runtime_api.h>
#if HEDDLE_TRACE
#include <heddle/host/device_trace.h>
#endif

namespace heddle::inline HEDDLE_TARGET {

namespace detail {

#if HEDDLE_TRACE

// Where the next launch of this stream leaves its records: with the DeviceTrace that there is, or nowhere.
inline cudaError_t aim_trace(const isa::Dim3& grid, std::uint32_t threads, std::size_t shared_bytes,
                             cudaStream_t stream) {
  isa::TraceTarget target{};
  if (DeviceTrace* const trace = DeviceTrace::current()) {
    const DeviceTrace::Memory memory = trace->add({grid.x, grid.y, grid.z}, threads / 32);
    target = {memory.records, memory.counts, memory.capacity, memory.ctas,
              static_cast<std::uint32_t>(shared_bytes) - isa::trace_shared_bytes(threads)};
  }
  return cudaMemcpyToSymbolAsync(isa::trace_target, &target, sizeof(target), 0, cudaMemcpyHostToDevice, stream);
}

#else

inline cudaError_t aim_trace(const isa::Dim3&, std::uint32_t, std::size_t, cudaStream_t) { return cudaSuccess; }

#endif

}  // namespace detail

// How many clusters of so many CTAs the current device can run at once; 0 if it can run none.
template <Kernel K>
std::uint32_t resident_clusters(std::uint32_t cluster) {
  constexpr auto shared_bytes = static_cast<int>(isa::dynamic_shared_bytes<K>());
  auto* entry = isa::kernel_entry<K>;
  if (cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes) != cudaSuccess)
    return 0;
  if (cluster > isa::kMaxPortableCluster &&
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
  config.dynamicSmemBytes = isa::dynamic_shared_bytes<K>();
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  return cudaOccupancyMaxActiveClusters(&clusters, entry, &config) == cudaSuccess
             ? static_cast<std::uint32_t>(clusters)
             : 0;
}

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
  if (const cudaError_t error = detail::aim_trace(shape.grid, config.blockDim.x, shared_bytes, stream);
      error != cudaSuccess) {
    return error;
  }
  return cudaLaunchKernelEx(&config, entry, params);
}

}  // namespace heddle::inline HEDDLE_TARGET

#endif
