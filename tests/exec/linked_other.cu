// SPDX-License-Identifier: Apache-2.0
//
// The other file of linked.cu.
#include <cstdio>

__device__ int table[4] = {10, 20, 30, 40};
__constant__ int constant[2];

static __device__ int kept = 2000;

template <class T>
__device__ __noinline__ T twice(T value) {
  return value * 2;
}

__device__ int add(int a, int b) { return a + b; }

__global__ void other(int* out) {
  if (threadIdx.x == 0) printf("second of two files\n");
  out[threadIdx.x] = twice(static_cast<int>(threadIdx.x)) + kept + constant[0];
}
