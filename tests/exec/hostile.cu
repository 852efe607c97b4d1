// SPDX-License-Identifier: Apache-2.0
//
// Calls that no correct program makes: each must come back with a code. hostile DIRECTORY: where files may be
// written.
#include "expect.h"

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

__global__ void empty() {}
__device__ int variable;

#define EXPECT_DRIVER(call, code) expect((call) == (code), #call " is " #code, __LINE__)

constexpr std::size_t kHuge = ~std::size_t{0} / 2 + 7;

void places_for_results() {
  const cudaError_t bad = cudaErrorInvalidValue;
  cudaStream_t stream;
  cudaEvent_t event;
  EXPECT_OK(cudaStreamCreate(&stream));
  EXPECT_OK(cudaEventCreate(&event));
  EXPECT_CODE(cudaMalloc(static_cast<void**>(nullptr), 8), bad);
  EXPECT_CODE(cudaMallocHost(static_cast<void**>(nullptr), 8), bad);
  EXPECT_CODE(cudaMallocManaged(static_cast<void**>(nullptr), 8), bad);
  EXPECT_CODE(cudaMallocPitch(static_cast<void**>(nullptr), nullptr, 8, 8), bad);
  EXPECT_CODE(cudaMalloc3D(nullptr, make_cudaExtent(1, 1, 1)), bad);
  EXPECT_CODE(cudaGetDeviceCount(nullptr), bad);
  EXPECT_CODE(cudaGetDevice(nullptr), bad);
  EXPECT_CODE(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0), bad);
  EXPECT_CODE(cudaGetDeviceProperties(nullptr, 0), bad);
  EXPECT_CODE(cudaRuntimeGetVersion(nullptr), bad);
  EXPECT_CODE(cudaDriverGetVersion(nullptr), bad);
  EXPECT_CODE(cudaDeviceGetLimit(nullptr, cudaLimitStackSize), bad);
  EXPECT_CODE(cudaStreamCreate(nullptr), bad);
  EXPECT_CODE(cudaEventCreate(nullptr), bad);
  EXPECT_CODE(cudaStreamGetFlags(stream, nullptr), bad);
  EXPECT_CODE(cudaStreamGetPriority(stream, nullptr), bad);
  EXPECT_CODE(cudaStreamIsCapturing(stream, nullptr), bad);
  EXPECT_CODE(cudaEventElapsedTime(nullptr, event, event), bad);
  EXPECT_CODE(cudaPointerGetAttributes(nullptr, &stream), bad);
  EXPECT_CODE(cudaHostGetFlags(nullptr, &stream), bad);
  EXPECT_CODE(cudaHostGetDevicePointer(nullptr, &stream, 0), bad);
  EXPECT_CODE(cudaGetSymbolAddress(nullptr, variable), bad);
  EXPECT_CODE(cudaGetSymbolSize(nullptr, variable), bad);
  EXPECT_CODE(cudaFuncGetAttributes(nullptr, empty), bad);
  EXPECT_CODE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, empty, 32, 0), bad);
  EXPECT_CODE(cudaMemcpy3D(nullptr), bad);
  EXPECT_DRIVER(cuDeviceGetCount(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuDeviceTotalMem(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuMemGetInfo(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuMemAlloc(nullptr, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuGetErrorName(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaEventDestroy(event));
  cudaGetLastError();
}

void sizes_that_wrap() {
  char *device, host[64];
  EXPECT_OK(cudaMalloc(&device, 4096));
  for (const auto kind : {cudaMemcpyHostToDevice, cudaMemcpyDefault}) {
    EXPECT_CODE(cudaMemcpy(device, host, kHuge, kind), cudaErrorInvalidValue);
    EXPECT_CODE(cudaMemcpy2D(device, kHuge, host, kHuge, 16, 3, kind), cudaErrorInvalidValue);
    EXPECT_CODE(cudaMemcpy2D(device, 16, host, 16, 16, kHuge, kind), cudaErrorInvalidValue);
  }
  EXPECT_CODE(cudaMemset(device, 0, kHuge), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemset2D(device, kHuge, 0, 16, 3), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemset2D(device, 16, 0, 16, kHuge), cudaErrorInvalidValue);
  EXPECT_DRIVER(cuMemsetD32(reinterpret_cast<CUdeviceptr>(device), 0, std::size_t{1} << 62),
                CUDA_ERROR_INVALID_VALUE);
  char* rows = nullptr;
  std::size_t pitch = 0;
  EXPECT_CODE(cudaMallocPitch(&rows, &pitch, kHuge, 4), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMallocPitch(&rows, &pitch, ~std::size_t{0}, 1), cudaErrorInvalidValue);
  cudaPitchedPtr cube;
  EXPECT_CODE(cudaMalloc3D(&cube, make_cudaExtent(16, kHuge, 8)), cudaErrorInvalidValue);
  cudaMemcpy3DParms parms = {};
  parms.dstPtr = make_cudaPitchedPtr(device, 64, 64, 8);
  parms.srcPtr = make_cudaPitchedPtr(host, 64, 64, 1);
  parms.dstPos = make_cudaPos(0, kHuge, kHuge);
  parms.extent = make_cudaExtent(8, 1, 1);
  parms.kind = cudaMemcpyHostToDevice;
  EXPECT_CODE(cudaMemcpy3D(&parms), cudaErrorInvalidValue);
  // The host's side is an allocation of the card, and shorter than the copy.
  char* small;
  EXPECT_OK(cudaMalloc(&small, 16));
  EXPECT_CODE(cudaMemcpy(device, small, 4096, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpy(small, device, 4096, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpy(small, host, 64, cudaMemcpyHostToHost), cudaErrorInvalidValue);
  EXPECT_OK(cudaFree(small));
  EXPECT_OK(cudaFree(device));
  cudaGetLastError();
}

void pages_that_are_not_there() {
  char own[64];
  EXPECT_CODE(cudaHostRegister(nullptr, 64, 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaHostRegister(own, kHuge, 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaHostRegister(reinterpret_cast<void*>(8), 64, 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaHostRegister(reinterpret_cast<void*>(~std::uintptr_t{0} - 8), 64, 0), cudaErrorInvalidValue);
  void* device;
  EXPECT_OK(cudaMalloc(&device, 64));
  EXPECT_CODE(cudaHostRegister(device, 64, 0), cudaErrorInvalidValue);
  EXPECT_OK(cudaFree(device));
  cudaGetLastError();
}

void images_that_are_none(const std::string& folder) {
  CUmodule module;
  EXPECT_DRIVER(cuModuleLoad(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuModuleLoad(&module, "/"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_DRIVER(cuModuleLoad(&module, "/dev/zero"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_DRIVER(cuModuleLoad(&module, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_DRIVER(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuModuleLoadData(&module, reinterpret_cast<void*>(8)), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_DRIVER(cuModuleLoadData(nullptr, "x"), CUDA_ERROR_INVALID_VALUE);
  // A fat binary whose header promises far more than there is, in a file and in memory.
  std::vector<unsigned char> image = {0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0, 0, 0, 0, 0, 0, 1, 0, 0};
  const std::string path = folder + "/hostile.fatbin";
  for (std::size_t length = 1; length <= image.size(); ++length) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    std::fwrite(image.data(), 1, length, file);
    std::fclose(file);
    EXPECT(cuModuleLoad(&module, path.c_str()) != CUDA_SUCCESS);
  }
  std::remove(path.c_str());
  image.resize(4096);
  EXPECT(cuModuleLoadData(&module, image.data()) != CUDA_SUCCESS);
}

void streams_that_are_gone() {
  cudaStream_t stream;
  EXPECT_OK(cudaStreamCreate(&stream));
  EXPECT_OK(cudaStreamDestroy(stream));
  cudaStream_t next;
  EXPECT_OK(cudaStreamCreate(&next));
  int value = 0;
  EXPECT_CODE(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_CODE(cudaMemcpyAsync(&value, &value, sizeof(value), cudaMemcpyDefault, stream),
              cudaErrorInvalidResourceHandle);
  empty<<<1, 1, 0, stream>>>();
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_OK(cudaStreamDestroy(next));
  EXPECT_OK(cudaDeviceSynchronize());
}

// A host function waits for a thread that itself calls the runtime.
void host_functions_hold_no_lock() {
  std::atomic<int> state = 0;
  std::thread other([&] {
    while (state == 0) std::this_thread::yield();
    int device = -1;
    cudaGetDevice(&device);
    state = 2;
  });
  EXPECT_OK(cudaLaunchHostFunc(
      nullptr,
      [](void* data) {
        auto& shared = *static_cast<std::atomic<int>*>(data);
        shared = 1;
        while (shared != 2) std::this_thread::yield();
      },
      &state));
  EXPECT_OK(cudaStreamSynchronize(nullptr));
  other.join();
}

// The driver has no last error, and a call that only asks leaves none behind.
void missing_calls_leave_no_error() {
  EXPECT_OK(cudaGetLastError());
  EXPECT_DRIVER(cuStreamWaitValue32(nullptr, 0, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_OK(cudaGetLastError());
  cudaTextureDesc texture;
  EXPECT_CODE(cudaGetTextureObjectTextureDesc(&texture, 0), cudaErrorNotSupported);
  EXPECT_OK(cudaGetLastError());
  cudaGraph_t graph;
  cudaGraphConditionalHandle handle;
  EXPECT_OK(cudaGraphCreate(&graph, 0));
  EXPECT_CODE(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0), cudaErrorNotSupported);
  EXPECT_CODE(cudaGetLastError(), cudaErrorNotSupported);
}

constexpr char kModule[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";

// What was asked of a library that is gone is gone with it.
void libraries_that_are_gone() {
  CUlibrary library;
  CUkernel kernel;
  CUfunction function;
  CUmodule module;
  EXPECT_DRIVER(cuLibraryLoadData(&library, kModule, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  EXPECT_DRIVER(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
  EXPECT_DRIVER(cuKernelGetFunction(&function, kernel), CUDA_SUCCESS);
  EXPECT_DRIVER(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
  EXPECT_DRIVER(cuLibraryUnload(library), CUDA_SUCCESS);
  EXPECT_DRIVER(cuKernelGetFunction(&function, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_DRIVER(cuLibraryGetModule(&module, library), CUDA_ERROR_INVALID_HANDLE);
}

// Programs print the log of a compiler whatever it says.
void logs_are_texts() {
  char log[8] = "garbage";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  const auto check = [&](const char* what, const auto& load) {
    std::strcpy(log, "garbage");
    void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
    load(values);
    expect(log[0] == 0 && values[1] == nullptr, what, __LINE__);
  };
  check("an empty log of a module", [&](void** values) {
    CUmodule module;
    EXPECT_DRIVER(cuModuleLoadDataEx(&module, "nonsense", 2, options, values), CUDA_ERROR_INVALID_IMAGE);
  });
  check("an empty log of a linker", [&](void** values) {
    CUlinkState linker;
    EXPECT_DRIVER(cuLinkCreate(2, options, values, &linker), CUDA_SUCCESS);
    // Of what could not be added nothing stays, and no more is read than is there.
    EXPECT(cuLinkAddData(linker, CU_JIT_INPUT_PTX, log, kHuge, "huge", 0, nullptr, nullptr) != CUDA_SUCCESS);
    char damaged[64] = "\x50\xed\x55\xba\1";
    EXPECT(cuLinkAddData(linker, CU_JIT_INPUT_FATBINARY, damaged, 64, "damaged", 0, nullptr, nullptr) !=
           CUDA_SUCCESS);
    void* image;
    std::size_t bytes;
    EXPECT_DRIVER(cuLinkComplete(linker, &image, &bytes), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuLinkDestroy(linker), CUDA_SUCCESS);
  });
  check("an empty log of a library", [&](void** values) {
    CUlibrary library;
    EXPECT(cuLibraryLoadData(&library, "nonsense", options, values, 2, nullptr, nullptr, 0) != CUDA_SUCCESS);
  });
  CUmodule module;
  EXPECT_DRIVER(cuModuleLoadDataEx(&module, kModule, 3, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// Nobody can end its capture any more, so that others need not wait for it.
void captures_of_streams_that_are_gone() {
  cudaStream_t stream;
  EXPECT_OK(cudaStreamCreate(&stream));
  EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  empty<<<1, 1, 0, stream>>>();
  EXPECT_OK(cudaStreamDestroy(stream));
  empty<<<1, 1>>>();
  EXPECT_OK(cudaGetLastError());
  EXPECT_OK(cudaDeviceSynchronize());
}

void numbers_that_are_none() {
  for (int limit = 7; limit < 16; ++limit)
    EXPECT_CODE(cudaDeviceSetLimit(static_cast<cudaLimit>(limit), 1), cudaErrorInvalidValue);
  int count = 0;
  EXPECT_CODE(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, empty, 32, 0, 99),
              cudaErrorInvalidValue);
  EXPECT_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, nullptr, 32, 0, 99),
                CUDA_ERROR_INVALID_VALUE);
  // A product of 2^64, and one of 2^32 + 32.
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1u << 31, 1u << 31, 4};
  cudaLaunchConfig_t config = {};
  config.gridDim = config.blockDim = dim3(1);
  config.attrs = &cluster;
  config.numAttrs = 1;
  EXPECT_CODE(cudaOccupancyMaxActiveClusters(&count, empty, &config), cudaErrorInvalidClusterSize);
  config.numAttrs = 0;
  config.blockDim = dim3(134217729, 32, 1);
  EXPECT(cudaOccupancyMaxPotentialClusterSize(&count, empty, &config) != cudaSuccess);
  cudaMemPool_t pool;
  EXPECT_OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
  EXPECT_OK(cudaMemPoolSetAccess(pool, &access, 1));
  access.flags = static_cast<cudaMemAccessFlags>(77);
  EXPECT_CODE(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidValue);
  access = {{cudaMemLocationTypeDevice, 9}, cudaMemAccessFlagsProtReadWrite};
  EXPECT_CODE(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidValue);
  cudaGetLastError();
}

int main(int, char** argv) {
  const std::string folder = argv[1] == nullptr ? "." : argv[1];
  places_for_results();
  sizes_that_wrap();
  pages_that_are_not_there();
  images_that_are_none(folder);
  streams_that_are_gone();
  host_functions_hold_no_lock();
  missing_calls_leave_no_error();
  libraries_that_are_gone();
  logs_are_texts();
  captures_of_streams_that_are_gone();
  numbers_that_are_none();
  return result();
}
