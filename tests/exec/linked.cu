// SPDX-License-Identifier: Apache-2.0
//
// Relocatable device code (-rdc=true): what this file calls and reads is in linked_other.cu. Both have templates,
// strings and static variables of the same names.
#include "expect.h"

#include <cstdio>

extern __device__ int table[4];
extern __constant__ int constant[2];
extern __device__ int add(int a, int b);
extern __global__ void other(int* out);

static __device__ int kept = 1000;

template <class T>
__device__ __noinline__ T twice(T value) {
  return value * 2;
}

__device__ int (*functions[2])(int, int) = {add, add};

__global__ void first(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  if (i == 0) printf("first of two files\n");
  out[i] = functions[i % 2](twice(i), table[i % 4]) + kept + constant[1];
}

int main() {
  int* out;
  EXPECT_OK(cudaMalloc(&out, 256));
  const int values[2] = {5, 70000};
  EXPECT_OK(cudaMemcpyToSymbol(constant, values, sizeof(values)));
  first<<<1, 32>>>(out);
  other<<<1, 32>>>(out + 32);
  int host[64] = {};
  EXPECT_OK(cudaMemcpy(host, out, 256, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) {
    EXPECT(host[i] == 2 * i + 10 * (i % 4 + 1) + 1000 + 70000);
    EXPECT(host[32 + i] == 2 * i + 2000 + 5);
  }
  return result();
}
