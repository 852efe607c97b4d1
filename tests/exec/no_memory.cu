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

// What the machine keeps for barriers, copies in flight, clusters, atomics, its heap and what is printed.
__global__ void __cluster_dims__(2, 1, 1) use_all(int* data) {
  __shared__ alignas(128) int tile[64];
  __shared__ alignas(8) unsigned long long barrier;
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(at) : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(to),
        "l"(data), "r"(at)
        : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(at)
                 : "memory");
  }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  atomicAdd(data + 128, tile[threadIdx.x % 64]);
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    // A heap without memory gives null, as on a card.
    if (int* mine = static_cast<int*>(malloc(64))) {
      mine[0] = 1;
      atomicAdd(data + 129, mine[0]);
      free(mine);
    }
    printf("%d", 0);
  }
}

constexpr char kModule[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 counter;\n"
    ".visible .entry none(.param .u32 value) { ret; }\n";

void host_function(void*) {}

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
  void* second = nullptr;
  size_t bytes = 0;
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  cudaGraph_t built = nullptr, clone = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaMemPool_t pool = nullptr;
  float time = 0;
  const std::vector<Call> calls = {
      {"cudaMalloc", [&] { return cudaMalloc(&data, 1024); }},
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
      {"cudaMallocAsync", [&] { return cudaMallocAsync(&second, 1024, stream); }},
      {"cudaMemcpyAsync between them",
       [&] { return cudaMemcpyAsync(second, data, 256, cudaMemcpyDefault, stream); }},
      {"cudaFreeAsync",
       [&] {
         const cudaError_t code = second == nullptr ? cudaSuccess : cudaFreeAsync(second, stream);
         if (code == cudaSuccess) second = nullptr;
         return code;
       }},
      {"cudaMallocManaged", [&] { return cudaMallocManaged(&second, 256); }},
      {"cudaHostAlloc", [&] { return cudaHostAlloc(&second, 256, 0); }},
      {"cudaMallocPitch", [&] { return cudaMallocPitch(&second, &bytes, 100, 3); }},
      {"cudaMemcpy2D", [&] { return cudaMemcpy2D(second, bytes, host, 16, 16, 3, cudaMemcpyHostToDevice); }},
      {"cudaMemset2D", [&] { return cudaMemset2D(second, bytes, 1, 16, 3); }},
      {"cudaHostRegister",
       [&] {
         const cudaError_t code = cudaHostRegister(host, sizeof(host), 0);
         allocations_left = -1;
         if (code == cudaSuccess) EXPECT_OK(cudaHostUnregister(host));
         return code;
       }},
      {"cudaGetSymbolAddress", [&] { return cudaGetSymbolAddress(&second, variable); }},
      {"cudaLibraryLoadData",
       [&] { return cudaLibraryLoadData(&library, kModule, nullptr, nullptr, 0, nullptr, nullptr, 0); }},
      {"cudaLibraryGetKernel", [&] { return cudaLibraryGetKernel(&kernel, library, "none"); }},
      {"launch of a loaded kernel",
       [&] {
         int value = 0;
         void* arguments[] = {&value};
         return cudaLaunchKernel(kernel, dim3(2), dim3(32), arguments, 0, stream);
       }},
      {"cudaLibraryUnload",
       [&] {
         const cudaError_t code = library == nullptr ? cudaSuccess : cudaLibraryUnload(library);
         if (code == cudaSuccess) library = nullptr;
         return code;
       }},
      {"cudaLaunchHostFunc", [&] { return cudaLaunchHostFunc(stream, host_function, nullptr); }},
      {"cudaEventElapsedTime", [&] { return cudaEventElapsedTime(&time, event, event); }},
      {"cudaGraphCreate", [&] { return cudaGraphCreate(&built, 0); }},
      {"cudaGraphAddMemsetNode",
       [&] {
         cudaMemsetParams fill = {};
         fill.dst = data;
         fill.elementSize = 4;
         fill.width = 16;
         fill.height = 1;
         return cudaGraphAddMemsetNode(&node, built, &node, node != nullptr, &fill);
       }},
      {"cudaGraphAddKernelNode",
       [&] {
         int value = 0;
         void* arguments[] = {&data, &value};
         cudaKernelNodeParams launch = {};
         launch.func = reinterpret_cast<void*>(add);
         launch.gridDim = dim3(1);
         launch.blockDim = dim3(64);
         launch.kernelParams = arguments;
         return cudaGraphAddKernelNode(&node, built, &node, 1, &launch);
       }},
      {"cudaGraphClone", [&] { return cudaGraphClone(&clone, built); }},
      {"cudaGraphInstantiate of the clone", [&] { return cudaGraphInstantiate(&exec, clone, 0); }},
      {"cudaGraphExecUpdate",
       [&] {
         cudaGraphExecUpdateResultInfo result = {};
         return cudaGraphExecUpdate(exec, built, &result);
       }},
      {"cudaGraphLaunch of the clone", [&] { return cudaGraphLaunch(exec, stream); }},
      {"cudaMemPoolCreate",
       [&] {
         cudaMemPoolProps about = {};
         about.allocType = cudaMemAllocationTypePinned;
         about.location = {cudaMemLocationTypeDevice, 0};
         return cudaMemPoolCreate(&pool, &about);
       }},
      {"cudaFuncSetAttribute",
       [&] { return cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024); }},
      {"launch of all units",
       [&] {
         use_all<<<2, 64>>>(data);
         return cudaGetLastError();
       }},
      {"cudaStreamSynchronize", [&] { return cudaStreamSynchronize(stream); }},
      {"cudaStreamCreateWithPriority", [&] { return cudaStreamCreateWithPriority(&stream, 1, 0); }},
  };
  long injected = 0;
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
      injected += has_failed ? 1 : 0;
      if (!has_failed || after == most) {
        EXPECT_OK(call.make());
        break;
      }
    }
  }
  EXPECT_OK(cudaMemset(data, 0, 256));
  add<<<1, 64>>>(data, 3);
  EXPECT_OK(cudaMemcpy(host, data, 256, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 3 && host[63] == 3);
  std::printf("\n%ld allocations of %zu calls failed\n", injected, calls.size());
  return result();
}
