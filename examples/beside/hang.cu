// SPDX-License-Identifier: Apache-2.0
//
// A kernel that hangs: an mbarrier waits for four warps, and one forgets to arrive. What other tools say of it is
// in docs/beside.md.
//
//   nvcc -O1 -lineinfo -arch=sm_90 -o hang hang.cu
//   heddle exec ./hang
#include <cstdint>
#include <cstdio>

__global__ void hang(int* out) {
  __shared__ std::uint64_t barrier;
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 4;" ::"r"(address));
  __syncthreads();
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0 && warp != 3) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address));
  std::uint32_t is_over = 0;
  while (is_over == 0) {
    asm volatile(
        "{ .reg .pred over; mbarrier.try_wait.parity.shared.b64 over, [%1], 0; selp.u32 %0, 1, 0, over; }"
        : "=r"(is_over)
        : "r"(address));
  }
  out[threadIdx.x] = static_cast<int>(warp);
}

int main() {
  int* out = nullptr;
  cudaMalloc(&out, 128 * sizeof(int));
  hang<<<1, 128>>>(out);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
