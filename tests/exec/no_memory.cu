// SPDX-License-Identifier: Apache-2.0
//
// no_memory: each call of a list again and again, and each time one more of the allocations that it makes fails.
// It must come back with cudaErrorMemoryAllocation, or do its work; and the card must work in the end. The
// program's operator new stands for that of all libraries.
#include "expect.h"

#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

namespace {

long allocations_left = -1;  // until one fails; -1: none does
bool has_failed = false;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations_left >= 0 && allocations_left-- == 0) {
    has_failed = true;
    return nullptr;
  }
  return alignment == 0 ? std::malloc(bytes + (bytes == 0))
                        : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 0); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t align) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t bytes, std::align_val_t align) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(align));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 0); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 0); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

__device__ int variable[4];

__global__ void add(int* data, int value) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = value;
  __syncthreads();
  data[threadIdx.x] += sum + variable[0];
}

struct Call {
  const char* name;
  std::function<cudaError_t()> make;
};

}  // namespace

int main(int argc, char** argv) {
  const long most = argc > 1 ? std::atol(argv[1]) : 1000;
  int* data = nullptr;
  int host[64] = {};
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  const std::vector<Call> calls = {
      {"cudaMalloc", [&] { return cudaMalloc(&data, 256); }},
      {"cudaStreamCreate", [&] { return cudaStreamCreate(&stream); }},
      {"cudaEventCreate", [&] { return cudaEventCreate(&event); }},
      {"cudaMemcpy", [&] { return cudaMemcpy(data, host, 256, cudaMemcpyHostToDevice); }},
      {"cudaMemcpyToSymbol", [&] { return cudaMemcpyToSymbol(variable, host, 16); }},
      {"launch",
       [&] {
         add<<<1, 64>>>(data, 0);
         return cudaGetLastError();
       }},
      {"launch in a stream",
       [&] {
         add<<<1, 64, 0, stream>>>(data, 0);
         return cudaGetLastError();
       }},
      {"cudaEventRecord", [&] { return cudaEventRecord(event, stream); }},
      {"cudaStreamWaitEvent", [&] { return cudaStreamWaitEvent(nullptr, event, 0); }},
      {"cudaMemsetAsync", [&] { return cudaMemsetAsync(data, 0, 256, stream); }},
      {"capture",
       [&] {
         cudaError_t code = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
         if (code != cudaSuccess) return code;
         add<<<1, 64, 0, stream>>>(data, 0);
         const cudaError_t launched = cudaGetLastError();
         code = cudaStreamEndCapture(stream, &graph);
         return launched != cudaSuccess ? launched : code;
       }},
      {"cudaGraphInstantiate", [&] { return cudaGraphInstantiate(&exec, graph, 0); }},
      {"cudaGraphLaunch", [&] { return cudaGraphLaunch(exec, stream); }},
      {"cudaDeviceSynchronize", [&] { return cudaDeviceSynchronize(); }},
  };
  for (const Call& call : calls) {
    for (long after = 0;; ++after) {
      has_failed = false;
      allocations_left = after;
      const cudaError_t code = call.make();
      allocations_left = -1;
      // A capture that lost its memory half way is none.
      cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
      if (stream != nullptr && cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
          status != cudaStreamCaptureStatusNone) {
        cudaStreamEndCapture(stream, &graph);
      }
      cudaGetLastError();
      if (code != cudaSuccess && code != cudaErrorMemoryAllocation) {
        std::printf("%s, allocation %ld: %s\n", call.name, after, cudaGetErrorName(code));
        ++failures;
        break;
      }
      if (!has_failed || after == most) {
        EXPECT_OK(call.make());
        break;
      }
    }
  }
  add<<<1, 64>>>(data, 3);
  EXPECT_OK(cudaMemcpy(host, data, 256, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 3 && host[63] == 3);
  return result();
}
