// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

__device__ int counter = 40;  // not the one of memory.cu

static __global__ void count(int by) { counter += by; }

int other_unit(int*) {
  count<<<1, 1>>>(2);
  int seen = 0;
  cudaMemcpyFromSymbol(&seen, counter, sizeof(seen));
  return seen;
}
