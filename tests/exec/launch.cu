// SPDX-License-Identifier: Apache-2.0
//
// Launches: clusters, shared memory, cooperative groups, attributes, occupancy, streams and events.
#include "expect.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void ranks(unsigned* out) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ unsigned value;
  if (threadIdx.x == 0) value = 100 + cluster.block_rank();
  cluster.sync();
  const unsigned peer = (cluster.block_rank() + 1) % cluster.num_blocks();
  if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&value, peer) * 10 + cluster.num_blocks();
  cluster.sync();
}

__global__ void __cluster_dims__(2, 1, 1) pairs(unsigned* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = cg::this_cluster().block_rank();
}

__global__ void __launch_bounds__(128) reverse(unsigned* data) {
  extern __shared__ unsigned shared[];
  shared[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

__global__ void sum_of_blocks(unsigned* blocks, unsigned* sum) {
  if (threadIdx.x == 0) blocks[blockIdx.x] = blockIdx.x + 1;
  cg::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    for (unsigned b = 0; b < gridDim.x; ++b) *sum += blocks[b];
  }
}

cudaLaunchConfig_t config_of(unsigned grid, unsigned block, std::size_t shared, cudaLaunchAttribute* attributes,
                             unsigned count) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.attrs = attributes;
  config.numAttrs = count;
  return config;
}

void clusters(unsigned* out) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = 4;
  attributes[0].val.clusterDim.y = 1;
  attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = config_of(8, 32, 0, attributes, 2);
  EXPECT_OK(cudaLaunchKernelEx(&config, ranks, out));
  EXPECT_OK(cudaDeviceSynchronize());
  for (unsigned b = 0; b < 8; ++b) EXPECT(out[b] == (100 + (b + 1) % 4) * 10 + 4);
  int count = 0;
  EXPECT_OK(cudaOccupancyMaxActiveClusters(&count, ranks, &config));
  EXPECT(count > 0);
  EXPECT_OK(cudaOccupancyMaxPotentialClusterSize(&count, ranks, &config));
  EXPECT(count == 8);
  config.gridDim = 6;
  EXPECT_CODE(cudaLaunchKernelEx(&config, ranks, out), cudaErrorInvalidClusterSize);
  config.gridDim = 16;
  attributes[0].val.clusterDim.x = 16;
  EXPECT_CODE(cudaLaunchKernelEx(&config, ranks, out), cudaErrorInvalidClusterSize);
  EXPECT_OK(cudaFuncSetAttribute(ranks, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  EXPECT_OK(cudaLaunchKernelEx(&config, ranks, out));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT(out[15] == 1000 + 16);
  cudaGetLastError();
  pairs<<<4, 32>>>(out);
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT(out[0] == 0 && out[1] == 1 && out[2] == 0 && out[3] == 1);
}

void shared_memory(unsigned* data) {
  for (unsigned i = 0; i < 128; ++i) data[i] = i;
  reverse<<<1, 128, 512>>>(data);
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT(data[0] == 127 && data[127] == 0);
  reverse<<<1, 128, 100000>>>(data);
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000));
  reverse<<<1, 128, 100000>>>(data);
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT(data[0] == 0);
  EXPECT_CODE(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449),
              cudaErrorInvalidValue);
  cudaGetLastError();
  cudaFuncAttributes attributes;
  EXPECT_OK(cudaFuncGetAttributes(&attributes, reverse));
  EXPECT(attributes.maxDynamicSharedSizeBytes == 200000 && attributes.maxThreadsPerBlock == 128);
  EXPECT(attributes.sharedSizeBytes == 0);
  int blocks = 0;
  EXPECT_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 128, 100000));
  EXPECT(blocks == 2);
  EXPECT_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 128, 0));
  EXPECT(blocks == 16);
}

void cooperative(unsigned* data) {
  unsigned* sum = data + 100;
  *sum = 0;
  void* arguments[] = {&data, &sum};
  EXPECT_OK(
      cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&sum_of_blocks), 20, 32, arguments, 0, nullptr));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT(*sum == 210);
  EXPECT_CODE(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&sum_of_blocks), 100000, 32, arguments, 0,
                                          nullptr),
              cudaErrorCooperativeLaunchTooLarge);
  cudaGetLastError();
}

void count(void* number) { ++*static_cast<int*>(number); }

void streams(unsigned* data) {
  cudaStream_t one, two;
  EXPECT_OK(cudaStreamCreate(&one));
  EXPECT_OK(cudaStreamCreateWithPriority(&two, cudaStreamNonBlocking, -1));
  int priority = 0, device = -1;
  EXPECT_OK(cudaStreamGetPriority(two, &priority));
  EXPECT_OK(cudaStreamGetDevice(two, &device));
  EXPECT(priority == -1 && device == 0);
  cudaEvent_t begin, end;
  EXPECT_OK(cudaEventCreate(&begin));
  EXPECT_OK(cudaEventCreate(&end));
  float milliseconds = -1;
  EXPECT_CODE(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorInvalidResourceHandle);
  EXPECT_OK(cudaEventRecord(begin, one));
  for (unsigned i = 0; i < 128; ++i) data[i] = i;
  reverse<<<1, 128, 512, one>>>(data);
  EXPECT_OK(cudaEventRecord(end, one));
  EXPECT_OK(cudaStreamWaitEvent(two, end));
  int called = 0;
  EXPECT_OK(cudaLaunchHostFunc(two, count, &called));
  EXPECT_OK(cudaStreamSynchronize(two));
  EXPECT_OK(cudaEventSynchronize(end));
  EXPECT(called == 1 && data[0] == 127);
  EXPECT_OK(cudaEventElapsedTime(&milliseconds, begin, end));
  EXPECT(milliseconds >= 0);
  EXPECT_OK(cudaStreamQuery(one));
  EXPECT_OK(cudaEventQuery(end));
  EXPECT_OK(cudaEventDestroy(begin));
  EXPECT_OK(cudaEventDestroy(end));
  EXPECT_OK(cudaStreamDestroy(one));
  EXPECT_OK(cudaStreamDestroy(two));
  EXPECT_CODE(cudaStreamSynchronize(one), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

// A module that the program brings along.
void library(unsigned* data) {
  const char* const ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 value = 5;
.visible .entry give(.param .u64 to)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  ld.global.u32 %r1, [value];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";
  cudaLibrary_t loaded;
  EXPECT_OK(cudaLibraryLoadData(&loaded, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  cudaKernel_t kernel;
  EXPECT_CODE(cudaLibraryGetKernel(&kernel, loaded, "take"), cudaErrorSymbolNotFound);
  EXPECT_OK(cudaLibraryGetKernel(&kernel, loaded, "give"));
  void* arguments[] = {&data};
  EXPECT_OK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), 1, 1, arguments, 0, nullptr));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT(data[0] == 5);
  std::size_t offset = 1, bytes = 0;
  EXPECT_OK(cudaFuncGetParamInfo(reinterpret_cast<const void*>(kernel), 0, &offset, &bytes));
  EXPECT(offset == 0 && bytes == 8);
  EXPECT_OK(cudaLibraryUnload(loaded));
  EXPECT_CODE(cudaLibraryUnload(loaded), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

int main() {
  unsigned* data;
  EXPECT_OK(cudaMallocManaged(&data, 4096));
  clusters(data);
  shared_memory(data);
  cooperative(data);
  streams(data);
  library(data);
  return result();
}
