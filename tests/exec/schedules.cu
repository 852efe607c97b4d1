// SPDX-License-Identifier: Apache-2.0
//
// schedules WHICH: a kernel that breaks no rule of memory, and whose output depends on the order of its blocks or
// not.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

__device__ int winner;

// The last block wins.
__global__ void last(int* out) {
  if (threadIdx.x == 0) atomicExch(out + 3, static_cast<int>(blockIdx.x));
}

__global__ void last_in_a_variable() {
  if (threadIdx.x == 0) atomicExch(&winner, static_cast<int>(blockIdx.x));
}

// A sum of numbers of different size.
__global__ void sum_floats(float* out) {
  if (threadIdx.x == 0) atomicAdd(out, 1.0f / static_cast<float>(3 + blockIdx.x * blockIdx.x * blockIdx.x));
}

__global__ void sum_integers(int* out) { atomicAdd(out + threadIdx.x % 4, static_cast<int>(blockIdx.x)); }

// Stores past the end if the second block was first. No rule but the bounds: the flag is read and set by atomics.
__global__ void late(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 1) {
    atomicExch(out, 1);
  } else {
    for (int i = 1; i < 5; ++i) atomicAdd(out + i, 1);
    if (atomicAdd(out, 0) != 0) out[1 << 20] = 1;
    atomicExch(out, 1);
  }
}

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* name) { return std::strcmp(which, name) == 0; };
  int* data;
  cudaMalloc(&data, 64 * sizeof(int));
  cudaMemset(data, 0, 64 * sizeof(int));
  for (int turn = 0; turn < 2; ++turn) {
    if (is("last")) last<<<8, 32>>>(data);
    if (is("last_of_two")) last<<<2, 32>>>(data);
    if (is("last_in_a_variable")) last_in_a_variable<<<8, 32>>>();
    if (is("floats")) sum_floats<<<12, 32>>>(reinterpret_cast<float*>(data));
    if (is("late")) {
      late<<<2, 32>>>(data);
      cudaMemset(data, 0, 64 * sizeof(int));
    }
    if (is("integers")) sum_integers<<<8, 32>>>(data);
    if (is("few_integers")) sum_integers<<<3, 32>>>(data);
  }
  int sums[4] = {};
  const bool failed = cudaMemcpy(sums, data, sizeof(sums), cudaMemcpyDeviceToHost) != cudaSuccess;
  // Each launch has happened once, whatever the number of schedules.
  if (is("integers") || is("few_integers")) std::printf("sums %d %d\n", sums[0], sums[3]);
  return failed ? 1 : 0;
}
