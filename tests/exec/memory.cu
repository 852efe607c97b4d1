// SPDX-License-Identifier: Apache-2.0
//
// Memory, copies, fills, and variables of modules, from two translation units.
#include "expect.h"
#include "memory.h"

#include <cstring>
#include <vector>

__constant__ float scale[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__device__ int* pointer_to_counter = &counter;
__managed__ int managed = 11;

__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) c[i] = a[i] * scale[i % 4] + b[i];
  if (i == 0) {
    atomicAdd(&counter, 1);
    managed += 1;
  }
}

__global__ void write(int* to, int value) { *to = value; }

void vectors() {
  constexpr int kCount = 1000;
  std::vector<float> a(kCount), b(kCount), c(kCount);
  for (int i = 0; i < kCount; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(2 * i);
  }
  float *da, *db, *dc;
  EXPECT_OK(cudaMalloc(&da, kCount * sizeof(float)));
  EXPECT_OK(cudaMalloc(&db, kCount * sizeof(float)));
  EXPECT_OK(cudaMalloc(&dc, kCount * sizeof(float)));
  EXPECT_OK(cudaMemcpy(da, a.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  EXPECT_OK(cudaMemcpyAsync(db, b.data(), kCount * sizeof(float), cudaMemcpyDefault));
  add<<<(kCount + 127) / 128, 128>>>(da, db, dc, kCount);
  EXPECT_OK(cudaGetLastError());
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_OK(cudaMemcpy(c.data(), dc, kCount * sizeof(float), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += c[i] != a[i] * static_cast<float>(i % 4 + 1) + b[i];
  EXPECT(wrong == 0);
  EXPECT(managed == 12);
  EXPECT_OK(cudaFree(da));
  EXPECT_OK(cudaFree(db));
  EXPECT_OK(cudaFree(dc));
  EXPECT_OK(cudaFree(nullptr));
  EXPECT_CODE(cudaFree(dc), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_OK(cudaGetLastError());
}

void symbols() {
  int seen = 0;
  EXPECT_OK(cudaMemcpyFromSymbol(&seen, counter, sizeof(seen)));
  EXPECT(seen == 6);
  const float two[2] = {20, 30};
  EXPECT_OK(cudaMemcpyToSymbol(scale, two, sizeof(two), sizeof(float)));
  float all[4];
  EXPECT_OK(cudaMemcpyFromSymbol(all, scale, sizeof(all)));
  EXPECT(all[0] == 1 && all[1] == 20 && all[2] == 30 && all[3] == 4);
  EXPECT_CODE(cudaMemcpyToSymbol(scale, two, sizeof(two), 3 * sizeof(float)), cudaErrorInvalidValue);
  void* address = nullptr;
  std::size_t bytes = 0;
  EXPECT_OK(cudaGetSymbolAddress(&address, counter));
  EXPECT_OK(cudaGetSymbolSize(&bytes, counter));
  EXPECT(bytes == sizeof(int));
  write<<<1, 1>>>(static_cast<int*>(address), 77);
  int* stored = nullptr;
  EXPECT_OK(cudaMemcpyFromSymbol(&stored, pointer_to_counter, sizeof(stored)));
  EXPECT(stored == address);
  EXPECT_OK(cudaMemcpy(&seen, stored, sizeof(seen), cudaMemcpyDeviceToHost));
  EXPECT(seen == 77);
  int stranger = 0;
  EXPECT_CODE(cudaGetSymbolAddress(&address, stranger), cudaErrorInvalidSymbol);
  cudaGetLastError();
  EXPECT(other_unit(static_cast<int*>(nullptr)) == 42);
}

void rows() {
  constexpr std::size_t kWidth = 100, kHeight = 7;
  unsigned char* device;
  std::size_t pitch = 0;
  EXPECT_OK(cudaMallocPitch(&device, &pitch, kWidth, kHeight));
  EXPECT(pitch >= kWidth && pitch % 512 == 0);
  EXPECT_OK(cudaMemset2D(device, pitch, 9, kWidth, kHeight));
  unsigned char host[kHeight][kWidth + 3];
  std::memset(host, 1, sizeof(host));
  EXPECT_OK(cudaMemcpy2D(host, kWidth + 3, device, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost));
  EXPECT(host[0][0] == 9 && host[6][99] == 9 && host[3][100] == 1);
  EXPECT_CODE(cudaMemcpy2D(host, 10, device, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost),
              cudaErrorInvalidPitchValue);
  EXPECT_CODE(cudaMemcpy(device, host, pitch * kHeight + 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpy(host, host, 1, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpy(host, device, 1, static_cast<cudaMemcpyKind>(17)), cudaErrorInvalidMemcpyDirection);
  cudaGetLastError();
  cudaExtent extent = make_cudaExtent(16, 4, 3);
  cudaPitchedPtr cube;
  EXPECT_OK(cudaMalloc3D(&cube, extent));
  EXPECT_OK(cudaMemset3D(cube, 5, extent));
  unsigned char copy[3][4][16] = {};
  cudaMemcpy3DParms parms = {};
  parms.srcPtr = cube;
  parms.dstPtr = make_cudaPitchedPtr(copy, 16, 16, 4);
  parms.extent = extent;
  parms.kind = cudaMemcpyDeviceToHost;
  EXPECT_OK(cudaMemcpy3D(&parms));
  EXPECT(copy[2][3][15] == 5 && copy[0][0][0] == 5);
  EXPECT_OK(cudaFree(device));
  EXPECT_OK(cudaFree(cube.ptr));
}

void pointers() {
  std::size_t free = 0, less = 0, total = 0;
  EXPECT_OK(cudaMemGetInfo(&free, &total));
  void *device, *host, *both;
  EXPECT_OK(cudaMalloc(&device, 4096));
  EXPECT_OK(cudaMemGetInfo(&less, &total));
  EXPECT(free - less == 4096 && free <= total);
  EXPECT_OK(cudaMallocHost(&host, 64));
  EXPECT_OK(cudaMallocManaged(&both, 64));
  cudaPointerAttributes attributes;
  EXPECT_OK(cudaPointerGetAttributes(&attributes, device));
  EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == device);
  EXPECT_OK(cudaPointerGetAttributes(&attributes, host));
  EXPECT(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == host);
  EXPECT_OK(cudaPointerGetAttributes(&attributes, both));
  EXPECT(attributes.type == cudaMemoryTypeManaged);
  int local = 0;
  EXPECT_OK(cudaPointerGetAttributes(&attributes, &local));
  EXPECT(attributes.type == cudaMemoryTypeUnregistered);
  EXPECT_OK(cudaHostRegister(&local, sizeof(local), cudaHostRegisterDefault));
  EXPECT_CODE(cudaHostRegister(&local, sizeof(local), 0), cudaErrorHostMemoryAlreadyRegistered);
  write<<<1, 1>>>(&local, 3);
  write<<<1, 1>>>(static_cast<int*>(both), 4);
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT(local == 3 && *static_cast<int*>(both) == 4);
  EXPECT_OK(cudaHostUnregister(&local));
  EXPECT_CODE(cudaHostUnregister(&local), cudaErrorHostMemoryNotRegistered);
  void* large;
  EXPECT_CODE(cudaMalloc(&large, total + 1), cudaErrorMemoryAllocation);
  cudaGetLastError();
  unsigned char garbage = 0;
  EXPECT_OK(cudaMemcpy(&garbage, device, 1, cudaMemcpyDeviceToHost));
  EXPECT(garbage == 0xCB);  // not zero, which would hide a missing initialisation
  EXPECT_OK(cudaFreeHost(host));
  EXPECT_OK(cudaFree(both));
  EXPECT_OK(cudaFree(device));
  void* later;
  EXPECT_OK(cudaMallocAsync(&later, 128, nullptr));
  EXPECT_OK(cudaMemsetAsync(later, 1, 128, nullptr));
  EXPECT_OK(cudaFreeAsync(later, nullptr));
}

int main() {
  vectors();
  symbols();
  rows();
  pointers();
  return result();
}
