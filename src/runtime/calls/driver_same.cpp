// SPDX-License-Identifier: Apache-2.0
//
// The driver: calls that do what a call of the runtime does, under another name.
#include "runtime/driver_call.h"

#include <cstddef>
#include <cstdint>

using namespace heddle::runtime;

extern "C" {
int cudaDeviceReset();
int cudaDeviceSetLimit(int limit, std::size_t value);
int cudaDeviceGetPCIBusId(char* text, int length, int device);
int cudaDeviceCanAccessPeer(int* can, int device, int peer);
int cudaGetDeviceFlags(unsigned* flags);
int cudaDeviceSetCacheConfig(int config);
int cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
int cudaHostGetFlags(unsigned* flags, void* host);
int cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, void* pool, void* stream);
int cudaMemPoolCreate(void** pool, const void* properties);
int cudaMemPoolDestroy(void* pool);
int cudaMemPoolTrimTo(void* pool, std::size_t bytes);
int cudaMemPoolSetAttribute(void* pool, int attribute, void* value);
int cudaMemPoolGetAttribute(void* pool, int attribute, void* value);
int cudaMemPoolSetAccess(void* pool, const void* list, std::size_t count);
int cudaDeviceSetMemPool(int device, void* pool);
int cudaStreamGetFlags(void* stream, unsigned* flags);
int cudaStreamGetId(void* stream, unsigned long long* id);
int cudaStreamGetDevice(void* stream, int* device);
int cudaStreamSetAttribute(void* stream, int attribute, const void* value);
int cudaStreamCopyAttributes(void* to, void* from);
int cudaStreamAttachMemAsync(void* stream, void* address, std::size_t bytes, unsigned flags);
int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data, unsigned flags);
int cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* function, int blocks, int threads);
}

namespace {

int translated(int runtime_code) { return driver_code(static_cast<Error>(runtime_code)); }

void** as_pointer(std::uint64_t* address) { return reinterpret_cast<void**>(address); }

}  // namespace

HEDDLE_CUDA_CALL int cuDevicePrimaryCtxReset_v2(int device) {
  return device == 0 ? translated(cudaDeviceReset()) : driver_code(Error::kInvalidDevice);
}

HEDDLE_CUDA_CALL int cuCtxSetLimit(int limit, std::size_t value) {
  return translated(cudaDeviceSetLimit(limit, value));
}

HEDDLE_CUDA_CALL int cuDeviceGetPCIBusId(char* text, int length, int device) {
  return translated(cudaDeviceGetPCIBusId(text, length, device));
}

HEDDLE_CUDA_CALL int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  return translated(cudaDeviceCanAccessPeer(can, device, peer));
}

HEDDLE_CUDA_CALL int cuCtxGetFlags(unsigned* flags) { return translated(cudaGetDeviceFlags(flags)); }

HEDDLE_CUDA_CALL int cuCtxSetFlags(unsigned) { return 0; }

HEDDLE_CUDA_CALL int cuCtxGetCacheConfig(int* config) { return give(config, 0); }

HEDDLE_CUDA_CALL int cuCtxSetCacheConfig(int config) { return translated(cudaDeviceSetCacheConfig(config)); }

HEDDLE_CUDA_CALL int cuCtxResetPersistingL2Cache() { return 0; }

HEDDLE_CUDA_CALL int cuMemHostGetDevicePointer_v2(std::uint64_t* address, void* host, unsigned flags) {
  return translated(cudaHostGetDevicePointer(as_pointer(address), host, flags));
}

HEDDLE_CUDA_CALL int cuMemHostGetFlags(unsigned* flags, void* host) {
  return translated(cudaHostGetFlags(flags, host));
}

HEDDLE_CUDA_CALL int cuMemAllocFromPoolAsync(std::uint64_t* address, std::size_t bytes, void* pool,
                                             void* stream) {
  return translated(cudaMallocFromPoolAsync(as_pointer(address), bytes, pool, stream));
}

HEDDLE_CUDA_CALL int cuDeviceSetMemPool(int device, void* pool) {
  return translated(cudaDeviceSetMemPool(device, pool));
}

HEDDLE_CUDA_CALL int cuMemPoolCreate(void** pool, const void* properties) {
  return translated(cudaMemPoolCreate(pool, properties));
}

HEDDLE_CUDA_CALL int cuMemPoolDestroy(void* pool) { return translated(cudaMemPoolDestroy(pool)); }

HEDDLE_CUDA_CALL int cuMemPoolTrimTo(void* pool, std::size_t bytes) {
  return translated(cudaMemPoolTrimTo(pool, bytes));
}

HEDDLE_CUDA_CALL int cuMemPoolSetAttribute(void* pool, int attribute, void* value) {
  return translated(cudaMemPoolSetAttribute(pool, attribute, value));
}

HEDDLE_CUDA_CALL int cuMemPoolGetAttribute(void* pool, int attribute, void* value) {
  return translated(cudaMemPoolGetAttribute(pool, attribute, value));
}

HEDDLE_CUDA_CALL int cuMemPoolSetAccess(void* pool, const void* list, std::size_t count) {
  return translated(cudaMemPoolSetAccess(pool, list, count));
}

HEDDLE_CUDA_CALL int cuStreamGetFlags(void* stream, unsigned* flags) {
  return translated(cudaStreamGetFlags(stream, flags));
}

HEDDLE_CUDA_CALL int cuStreamGetId(void* stream, unsigned long long* id) {
  return translated(cudaStreamGetId(stream, id));
}

HEDDLE_CUDA_CALL int cuStreamGetDevice(void* stream, int* device) {
  return translated(cudaStreamGetDevice(stream, device));
}

HEDDLE_CUDA_CALL int cuStreamSetAttribute(void* stream, int attribute, const void* value) {
  return translated(cudaStreamSetAttribute(stream, attribute, value));
}

HEDDLE_CUDA_CALL int cuStreamCopyAttributes(void* to, void* from) {
  return translated(cudaStreamCopyAttributes(to, from));
}

HEDDLE_CUDA_CALL int cuStreamAttachMemAsync(void* stream, std::uint64_t address, std::size_t bytes,
                                            unsigned flags) {
  return translated(cudaStreamAttachMemAsync(stream, reinterpret_cast<void*>(address), bytes, flags));
}

HEDDLE_CUDA_CALL int cuStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data,
                                         unsigned flags) {
  return translated(cudaStreamAddCallback(stream, function, data, flags));
}

HEDDLE_CUDA_CALL int cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, void* function, int blocks,
                                                             int threads) {
  return translated(cudaOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads));
}
