// SPDX-License-Identifier: Apache-2.0
//
// What kernels print comes when the host waits for them.
#include <cstdio>

__global__ void hello() { printf("kernel %u %.2f %s\n", threadIdx.x, 1.5, "text"); }

int main() {
  hello<<<1, 2>>>();
  std::printf("host first\n");
  cudaDeviceSynchronize();
  std::printf("host last\n");
}
