// SPDX-License-Identifier: Apache-2.0
//
// What the microbenchmarks of sm90_costs share: a clock, shared memory, and a way to start a kernel.
#pragma once

#include <heddle/isa/fence.h>
#include <heddle/isa/mbarrier.h>

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace heddle::costs {

inline constexpr std::uint32_t kSharedBytes = 200 * 1024;
inline constexpr std::uint32_t kBuffers = 128 * 1024;  // what copies and wgmma use of it

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "sm90_costs: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

struct Shared {
  unsigned char data[kBuffers];
  SharedMemBarrier barriers[64];
};

inline __device__ Shared& shared_memory() {
  extern __shared__ __align__(1024) unsigned char memory[];
  return *reinterpret_cast<Shared*>(memory);
}

inline __device__ std::uint64_t now() {
  std::uint64_t clock;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock)::"memory");
  return clock;
}

inline __device__ void init_barriers(std::uint32_t count) {
  if (threadIdx.x == 0) {
    for (auto& barrier : shared_memory().barriers) isa::mbarrier_init(&barrier, count);
    isa::fence_mbarrier_init();
  }
  __syncthreads();
}

template <class... P, class... A>
void start(void (*kernel)(P...), std::uint32_t grid, std::uint32_t threads, A... arguments) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  kernel<<<grid, threads, kSharedBytes>>>(static_cast<P>(arguments)...);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
}

template <class... P, class... A>
void start_clusters(void (*kernel)(P...), std::uint32_t grid, std::uint32_t threads, std::uint32_t cluster,
                    A... arguments) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = {grid, 1, 1};
  config.blockDim = {threads, 1, 1};
  config.dynamicSmemBytes = kSharedBytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<P>(arguments)...));
  check(cudaDeviceSynchronize());
}

struct Device {
  std::uint64_t* cycles = nullptr;
  float* sink = nullptr;
  unsigned char* memory = nullptr;
  static constexpr std::size_t kMemory = std::size_t{8} << 30;

  Device() {
    check(cudaMalloc(&cycles, 4096));
    check(cudaMalloc(&sink, 4));
    check(cudaMalloc(&memory, kMemory));
    check(cudaMemset(memory, 0, kMemory));
  }
  std::uint64_t get(std::uint32_t at = 0) const {
    std::uint64_t value = 0;
    check(cudaMemcpy(&value, cycles + at, sizeof(value), cudaMemcpyDeviceToHost));
    return value;
  }
};

// The rest of the report: copies to a cluster; then barriers, stores, clusters and launches.
void print_multicast_costs(const Device& device, std::uint32_t sms);
void print_sync_costs(const Device& device, std::uint32_t sms);

}  // namespace heddle::costs
