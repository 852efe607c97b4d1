// SPDX-License-Identifier: Apache-2.0
//
// mistakes WHICH: makes one, and prints what the program sees of it: the codes of the launch, of the wait that
// follows, and of a call after that.
#include <cuda_runtime.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void store(int* to, int offset) { to[offset] = 1; }

__global__ void misaligned(char* to) { *reinterpret_cast<int*>(to + 1) = 1; }

__global__ void check(int value) { assert(value == 3); }

__global__ void trap() { __trap(); }

__global__ void endless(volatile int* flag) {
  while (*flag == 0) {
  }
}

// Every thread but the last comes to the barrier.
__global__ void hang(unsigned long long* barriers) {
  __shared__ unsigned long long barrier;
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(address) : "memory");
  __syncthreads();
  if (threadIdx.x != 63)
    asm volatile("{.reg .b64 t; mbarrier.arrive.shared::cta.b64 t, [%0];}" ::"r"(address) : "memory");
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(address)
                 : "memory");
  }
  barriers[threadIdx.x] = barrier;
}

__global__ void race(int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = 1;
  out[threadIdx.x] = values[threadIdx.x ^ 32];
}

__global__ void __launch_bounds__(64) bounded() {}

__global__ void empty() {}

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* name) { return std::strcmp(which, name) == 0; };
  int* data;
  cudaMalloc(&data, 64 * sizeof(long long));
  cudaMemset(data, 0, 64 * sizeof(long long));
  if (is("out_of_bounds")) store<<<1, 1>>>(data, 1000);
  if (is("null")) store<<<1, 1>>>(nullptr, 0);
  if (is("misaligned")) misaligned<<<1, 1>>>(reinterpret_cast<char*>(data));
  if (is("assert")) check<<<1, 1>>>(4);
  if (is("trap")) trap<<<1, 1>>>();
  if (is("endless")) endless<<<1, 32>>>(data);
  if (is("hang")) hang<<<1, 64>>>(reinterpret_cast<unsigned long long*>(data));
  if (is("race")) race<<<1, 64>>>(data);
  if (is("bounds")) bounded<<<1, 128>>>();
  if (is("block")) empty<<<1, 2048>>>();
  if (is("grid")) empty<<<dim3(1, 70000), 32>>>();
  if (is("no_threads")) empty<<<1, 0>>>();
  if (is("none")) store<<<1, 1>>>(data, 0);
  if (is("child")) {  // two launches of its own, and one of its child
    store<<<1, 1>>>(data, 0);
    cudaDeviceSynchronize();
    if (fork() != 0) wait(nullptr);
    store<<<1, 1>>>(data, 1);
  }
  if (is("graph")) {
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandle handle;
    std::printf("graph %s\n", cudaGetErrorName(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0)));
  }
  std::printf("launch %s\n", cudaGetErrorName(cudaPeekAtLastError()));
  std::printf("wait %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaGetLastError();
  std::printf("later %s\n", cudaGetErrorName(cudaMemset(data, 0, 4)));
  return 7;
}
