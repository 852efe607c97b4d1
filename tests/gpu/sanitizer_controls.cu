// SPDX-License-Identifier: Apache-2.0
//
// One mistake for each tool of compute-sanitizer, so that its silence elsewhere means something:
//
//   sanitizer_controls memcheck|racecheck|synccheck|initcheck
#include <cuda_runtime.h>

#include <cstdio>
#include <string_view>

namespace {

__global__ void write_past_the_end(int* data, int elements) {
  data[elements + static_cast<int>(threadIdx.x)] = 1;
}

__global__ void read_before_it_is_there(int* data) {
  __shared__ int values[64];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  data[threadIdx.x] = values[63 - threadIdx.x];  // two warps, no barrier
}

__global__ void meet_in_part(int* data) {
  if (threadIdx.x % 32 < 16) __syncthreads();  // half of each warp
  data[threadIdx.x] = 1;
}

__global__ void add_what_nobody_wrote(int* data) { data[threadIdx.x] += 1; }

}  // namespace

int main(int argc, char** argv) {
  const std::string_view tool = argc == 2 ? argv[1] : "";
  constexpr int kElements = 64;
  int* data = nullptr;
  if (const cudaError_t error = cudaMalloc(&data, kElements * sizeof(int)); error != cudaSuccess) {
    std::printf("skipped: %s\n", cudaGetErrorString(error));
    return 77;
  }
  if (tool == "memcheck") {
    write_past_the_end<<<1, kElements>>>(data, kElements);
  } else if (tool == "racecheck") {
    read_before_it_is_there<<<1, kElements>>>(data);
  } else if (tool == "synccheck") {
    meet_in_part<<<1, kElements>>>(data);
  } else if (tool == "initcheck") {
    add_what_nobody_wrote<<<1, kElements>>>(data);
  } else {
    std::printf("usage: sanitizer_controls memcheck|racecheck|synccheck|initcheck\n");
    return 2;
  }
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(data);
  return 0;
}
