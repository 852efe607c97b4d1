// SPDX-License-Identifier: Apache-2.0
//
// The properties of the card, against its attributes: the structure that nvcc's headers describe is the one that
// the runtime fills.
#include "expect.h"

#include <cstring>

int attribute(cudaDeviceAttr which) {
  int value = -12345;
  EXPECT_OK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

int main(int argc, char** argv) {
  int count = 0, device = -1, runtime = 0, driver = 0;
  EXPECT_OK(cudaGetDeviceCount(&count));
  EXPECT(count == 1);
  EXPECT_OK(cudaSetDevice(0));
  EXPECT_CODE(cudaSetDevice(1), cudaErrorInvalidDevice);
  cudaGetLastError();
  EXPECT_OK(cudaGetDevice(&device));
  EXPECT(device == 0);
  EXPECT_OK(cudaRuntimeGetVersion(&runtime));
  EXPECT_OK(cudaDriverGetVersion(&driver));
  EXPECT(runtime / 1000 == CUDART_VERSION / 1000 && driver >= runtime);

  struct {
    cudaDeviceProp all;
    unsigned char behind[64];
  } guarded;
  std::memset(&guarded, 0x5A, sizeof(guarded));
  EXPECT_OK(cudaGetDeviceProperties(&guarded.all, 0));
  for (unsigned char byte : guarded.behind) EXPECT(byte == 0x5A);
  const cudaDeviceProp& all = guarded.all;
  const int major = argc > 1 ? 10 : 9;
  EXPECT(all.major == major && all.minor == 0);
  EXPECT(std::strstr(all.name, argc > 1 ? argv[1] : "sm_90") != nullptr);
  EXPECT(all.totalGlobalMem > 0);
  EXPECT(all.warpSize == 32);
  EXPECT(all.maxThreadsDim[2] == 64 && all.maxGridSize[1] == 65535);
  EXPECT(all.maxThreadsPerBlock == attribute(cudaDevAttrMaxThreadsPerBlock));
  EXPECT(static_cast<int>(all.sharedMemPerBlock) == attribute(cudaDevAttrMaxSharedMemoryPerBlock));
  EXPECT(static_cast<int>(all.sharedMemPerBlockOptin) == attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  EXPECT(all.sharedMemPerBlockOptin == 232448);
  EXPECT(static_cast<int>(all.sharedMemPerMultiprocessor) ==
         attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  EXPECT(static_cast<int>(all.reservedSharedMemPerBlock) == attribute(cudaDevAttrReservedSharedMemoryPerBlock));
  EXPECT(all.multiProcessorCount == attribute(cudaDevAttrMultiProcessorCount));
  EXPECT(all.regsPerBlock == attribute(cudaDevAttrMaxRegistersPerBlock));
  EXPECT(all.regsPerMultiprocessor == attribute(cudaDevAttrMaxRegistersPerMultiprocessor));
  EXPECT(all.l2CacheSize == attribute(cudaDevAttrL2CacheSize));
  EXPECT(all.memoryBusWidth == attribute(cudaDevAttrGlobalMemoryBusWidth));
  EXPECT(all.maxThreadsPerMultiProcessor == attribute(cudaDevAttrMaxThreadsPerMultiProcessor));
  EXPECT(all.maxBlocksPerMultiProcessor == attribute(cudaDevAttrMaxBlocksPerMultiprocessor));
  EXPECT(all.clusterLaunch == 1 && attribute(cudaDevAttrClusterLaunch) == 1);
  EXPECT(all.cooperativeLaunch == 1 && all.managedMemory == 1 && all.unifiedAddressing == 1);
  EXPECT(all.memoryPoolsSupported == attribute(cudaDevAttrMemoryPoolsSupported));
  EXPECT(static_cast<int>(all.totalConstMem) == attribute(cudaDevAttrTotalConstantMemory));
  EXPECT(all.hostNumaId == attribute(cudaDevAttrHostNumaId));
  int value = 0;
  EXPECT_CODE(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(4000), 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 3), cudaErrorInvalidDevice);
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidDevice);
  std::printf("%d SMs\n", all.multiProcessorCount);
  return result();
}
