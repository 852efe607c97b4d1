// SPDX-License-Identifier: Apache-2.0
//
// Kernels: their attributes, and how many of them fit.
#include "runtime/function_attributes.h"

#include "runtime/device.h"
#include "runtime/launch_attributes.h"
#include "runtime/occupancy.h"
#include "runtime/options.h"

using namespace heddle::runtime;
namespace isa = heddle::isa;

namespace {

// For a call that writes to `result`. A pointer that no kernel has is taken for a handle of one, as CUDA 13 does.
template <class Body>
int with_kernel(const char* name, const void* handle, const void* result, Body&& body) {
  return call(name, [&](State& card) {
    if (result == nullptr) return Error::kInvalidValue;
    Kernel* kernel = card.modules.find_kernel(handle);
    if (kernel == nullptr) return handle == nullptr ? Error::kInvalidDeviceFunction : Error::kInvalidHandle;
    return body(card, *kernel);
  });
}

}  // namespace

HEDDLE_CUDA_CALL int cudaFuncGetAttributes(FunctionAttributes* attributes, const void* function) {
  return with_kernel("cudaFuncGetAttributes", function, attributes,
                     [&](State& card, Kernel& kernel) { return get_attributes(card, kernel, *attributes); });
}

HEDDLE_CUDA_CALL int cudaFuncSetAttribute(const void* function, int attribute, int value) {
  return with_kernel("cudaFuncSetAttribute", function, function,
                     [&](State& card, Kernel& kernel) { return set_attribute(card, kernel, attribute, value); });
}

HEDDLE_CUDA_CALL int cudaKernelSetAttributeForDevice(void* kernel, int attribute, int value, int) {
  return cudaFuncSetAttribute(kernel, attribute, value);
}

HEDDLE_CUDA_CALL int cudaFuncSetCacheConfig(const void* function, int config) {
  return with_kernel("cudaFuncSetCacheConfig", function, function,
                     [&](State&, Kernel&) { return check_cache_config(config); });
}

HEDDLE_CUDA_CALL int cudaFuncSetSharedMemConfig(const void*, int) { return 0; }

HEDDLE_CUDA_CALL int cudaFuncGetName(const char** text, const void* function) {
  return with_kernel("cudaFuncGetName", function, text, [&](State&, Kernel& kernel) {
    *text = kernel.name.c_str();
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaGetFuncBySymbol(void** function, const void* symbol) {
  return with_kernel("cudaGetFuncBySymbol", symbol, function, [&](State&, Kernel& kernel) {
    *function = &kernel;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaGetKernel(void** handle, const void* symbol) {
  return cudaGetFuncBySymbol(handle, symbol);
}

HEDDLE_CUDA_CALL int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                            int threads, std::size_t shared,
                                                                            unsigned flags) {
  return with_kernel(
      "cudaOccupancyMaxActiveBlocksPerMultiprocessor", function, blocks, [&](State& card, Kernel& kernel) {
        return flags > 1 ? Error::kInvalidValue : max_active_blocks(card, kernel, threads, shared, *blocks);
      });
}

HEDDLE_CUDA_CALL int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                                   std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

HEDDLE_CUDA_CALL int cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                    const LaunchConfig* config) {
  return with_kernel("cudaOccupancyMaxActiveClusters", function, clusters, [&](State& card, Kernel& kernel) {
    return config == nullptr ? Error::kInvalidValue
                             : max_active_clusters(card, kernel, request_of(*config), *clusters);
  });
}

HEDDLE_CUDA_CALL int cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                          const LaunchConfig* config) {
  return with_kernel("cudaOccupancyMaxPotentialClusterSize", function, size, [&](State& card, Kernel& kernel) {
    return config == nullptr ? Error::kInvalidValue : max_cluster_size(card, kernel, request_of(*config), *size);
  });
}

HEDDLE_CUDA_CALL int cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* function,
                                                               int blocks, int threads) {
  return with_kernel("cudaOccupancyAvailableDynamicSMemPerBlock", function, bytes,
                     [&](State& card, Kernel& kernel) {
                       return available_dynamic_shared(card, kernel, blocks, threads, *bytes);
                     });
}
