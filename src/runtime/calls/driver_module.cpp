// SPDX-License-Identifier: Apache-2.0
//
// The driver: modules that the program loads itself, their kernels, and launches.
#include "runtime/device.h"
#include "runtime/driver_call.h"
#include "runtime/function_attributes.h"
#include "runtime/jit_logs.h"
#include "runtime/launch_attributes.h"
#include "runtime/module_image.h"
#include "runtime/occupancy.h"
#include "runtime/options.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

using namespace heddle::runtime;
namespace isa = heddle::isa;

namespace {

constexpr int kMaxThreadsAttribute = 0;  // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK

template <class Body>
int with_module(const char* name, void* handle, Body&& body) {
  return driver_call(name, [&](State& card) {
    auto* module = static_cast<Module*>(handle);
    return card.modules.has(module) ? body(card, *module) : Error::kInvalidHandle;
  });
}

// For a call that writes to `result`.
template <class Body>
int with_kernel(const char* name, void* handle, const void* result, Body&& body) {
  return driver_call(name, [&](State& card) {
    if (result == nullptr) return Error::kInvalidValue;
    Kernel* kernel = card.modules.find_kernel(handle);
    return kernel == nullptr ? Error::kInvalidHandle : body(card, *kernel);
  });
}

Error kernel_attribute(State& card, const Kernel& kernel, int attribute, int& value) {
  FunctionAttributes all;
  if (const Error error = get_attributes(card, kernel, all); error != Error::kSuccess) return error;
  const int values[] = {all.max_threads,
                        static_cast<int>(all.static_shared),
                        static_cast<int>(all.constant_bytes),
                        static_cast<int>(all.local_bytes),
                        all.registers,
                        all.ptx_version,
                        all.binary_version,
                        all.cache_mode,
                        all.max_dynamic_shared,
                        all.carveout,
                        all.must_set_cluster,
                        all.cluster[0],
                        all.cluster[1],
                        all.cluster[2],
                        all.allows_nonportable_cluster,
                        all.scheduling_policy};
  if (attribute < 0 || attribute >= static_cast<int>(std::size(values))) return Error::kInvalidValue;
  value = values[attribute];
  return Error::kSuccess;
}

}  // namespace

HEDDLE_CUDA_CALL int cuModuleLoadData(void** module, const void* image) {
  return driver_call("cuModuleLoadData", [&](State& card) { return load_image(card, module, image); });
}

HEDDLE_CUDA_CALL int cuModuleLoadDataEx(void** module, const void* image, unsigned count, const int* options,
                                        void** values) {
  if (!clear_logs(count, options, values)) return driver_code(Error::kInvalidValue);
  return cuModuleLoadData(module, image);
}

HEDDLE_CUDA_CALL int cuModuleLoadFatBinary(void** module, const void* image) {
  return cuModuleLoadData(module, image);
}

HEDDLE_CUDA_CALL int cuModuleLoad(void** module, const char* path) {
  return driver_call("cuModuleLoad", [&](State& card) { return load_image_file(card, module, path); });
}

HEDDLE_CUDA_CALL int cuModuleUnload(void* module) {
  return with_module("cuModuleUnload", module, [](State& card, Module& found) {
    card.modules.remove(&found, card.memory);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuModuleGetFunction(void** function, void* module, const char* name) {
  return with_module("cuModuleGetFunction", module,
                     [&](State& card, Module& found) { return find_in_module(card, found, function, name); });
}

HEDDLE_CUDA_CALL int cuModuleGetGlobal_v2(std::uint64_t* address, std::size_t* bytes, void* module,
                                          const char* name) {
  return with_module("cuModuleGetGlobal", module, [&](State&, Module& found) {
    if (name == nullptr) return Error::kInvalidValue;
    const heddle::sim::PtxVariable* variable = found.variable(name);
    // As an H200 has it, for the name of a kernel.
    if (variable == nullptr && found.kernel(name) != nullptr) return Error::kInvalidValue;
    if (variable == nullptr) return Error::kSymbolNotFound;
    if (address != nullptr) *address = reinterpret_cast<std::uint64_t>(variable->address);
    if (bytes != nullptr) *bytes = variable->bytes;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuLibraryLoadData(void** library, const void* image, const int* options, void** values,
                                       unsigned count, void*, void*, unsigned) {
  if (!clear_logs(count, options, values)) return driver_code(Error::kInvalidValue);
  return cuModuleLoadData(library, image);
}

HEDDLE_CUDA_CALL int cuLibraryUnload(void* library) { return cuModuleUnload(library); }

HEDDLE_CUDA_CALL int cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  return cuModuleGetFunction(kernel, library, name);
}

HEDDLE_CUDA_CALL int cuLibraryGetModule(void** module, void* library) {
  return driver_call_with(
      "cuLibraryGetModule",
      [&](State& card) {
        if (!card.modules.has(static_cast<Module*>(library))) return Error::kInvalidHandle;
        *module = library;
        return Error::kSuccess;
      },
      module);
}

HEDDLE_CUDA_CALL int cuKernelGetFunction(void** function, void* kernel) {
  return with_kernel("cuKernelGetFunction", kernel, function, [&](State&, Kernel&) {
    *function = kernel;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuFuncGetAttribute(int* value, int attribute, void* function) {
  return with_kernel("cuFuncGetAttribute", function, value, [&](State& card, Kernel& kernel) {
    return kernel_attribute(card, kernel, attribute, *value);
  });
}

HEDDLE_CUDA_CALL int cuFuncSetAttribute(void* function, int attribute, int value) {
  return with_kernel("cuFuncSetAttribute", function, &function,
                     [&](State& card, Kernel& kernel) { return set_attribute(card, kernel, attribute, value); });
}

HEDDLE_CUDA_CALL int cuKernelGetAttribute(int* value, int attribute, void* kernel, int) {
  return cuFuncGetAttribute(value, attribute, kernel);
}

HEDDLE_CUDA_CALL int cuKernelSetAttribute(int attribute, int value, void* kernel, int) {
  return cuFuncSetAttribute(kernel, attribute, value);
}

HEDDLE_CUDA_CALL int cuFuncSetCacheConfig(void* function, int config) {
  return with_kernel("cuFuncSetCacheConfig", function, &function,
                     [&](State&, Kernel&) { return check_cache_config(config); });
}

HEDDLE_CUDA_CALL int cuFuncGetName(const char** text, void* function) {
  return with_kernel("cuFuncGetName", function, text, [&](State&, Kernel& kernel) {
    *text = kernel.name.c_str();
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                    void* stream, void** arguments, void** extra) {
  return with_kernel("cuLaunchKernel", function, &function, [&](State& card, Kernel& kernel) {
    if (!card.streams.is_known(stream)) return Error::kInvalidHandle;
    LaunchRequest request{.grid = {grid_x, grid_y, grid_z},
                          .block = {block_x, block_y, block_z},
                          .dynamic_shared = shared,
                          .stream = stream};
    const Error error = add_arguments(request, arguments, extra);
    return error == Error::kSuccess ? launch(card, kernel, request) : error;
  });
}

HEDDLE_CUDA_CALL int cuLaunchKernelEx(const LaunchConfig* config, void* function, void** arguments,
                                      void** extra) {
  return with_kernel("cuLaunchKernelEx", function, &function, [&](State& card, Kernel& kernel) {
    if (config == nullptr) return Error::kInvalidValue;
    if (!card.streams.is_known(config->stream)) return Error::kInvalidHandle;
    LaunchRequest request = request_of(*config);
    request.dynamic_shared &= 0xFFFF'FFFF;  // the driver's field has 32 bits
    const Error error = add_arguments(request, arguments, extra);
    return error == Error::kSuccess ? launch(card, kernel, request) : error;
  });
}

HEDDLE_CUDA_CALL int cuLaunchCooperativeKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                               unsigned block_x, unsigned block_y, unsigned block_z,
                                               unsigned shared, void* stream, void** arguments) {
  return with_kernel("cuLaunchCooperativeKernel", function, &function, [&](State& card, Kernel& kernel) {
    if (!card.streams.is_known(stream)) return Error::kInvalidHandle;
    return launch(card, kernel,
                  {.grid = {grid_x, grid_y, grid_z},
                   .block = {block_x, block_y, block_z},
                   .dynamic_shared = shared,
                   .is_cooperative = true,
                   .stream = stream,
                   .arguments = arguments});
  });
}

HEDDLE_CUDA_CALL int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                                 std::size_t shared) {
  return with_kernel(
      "cuOccupancyMaxActiveBlocksPerMultiprocessor", function, blocks,
      [&](State& card, Kernel& kernel) { return max_active_blocks(card, kernel, threads, shared, *blocks); });
}

HEDDLE_CUDA_CALL int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void* function,
                                                                          int threads, std::size_t shared,
                                                                          unsigned flags) {
  if (flags > 1) return driver_code(Error::kInvalidValue);
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

// The largest block of those that keep most threads on an SM. Whatever asks the program how much shared memory a
// block takes runs without the card's lock, as all of its functions do.
HEDDLE_CUDA_CALL int cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* threads, void* function,
                                                               std::size_t (*shared_of)(int), std::size_t shared,
                                                               int limit, unsigned flags) {
  if (grid == nullptr || threads == nullptr || flags > 1) return driver_code(Error::kInvalidValue);
  int most = 0;
  if (const int code = cuFuncGetAttribute(&most, kMaxThreadsAttribute, function)) return code;
  if (limit > 0) most = std::min(most, limit);
  *grid = *threads = 0;
  for (int next = most, best = 0; next > 0; next = (next - 1) / 32 * 32) {
    int blocks = 0;
    const std::size_t taken = shared_of == nullptr ? shared : shared_of(next);
    if (const int code = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, next, taken)) return code;
    if (blocks * next <= best) continue;
    best = blocks * next;
    *threads = next;
    *grid = blocks * static_cast<int>(options().sms);
  }
  return 0;
}

HEDDLE_CUDA_CALL int cuOccupancyMaxPotentialBlockSize(int* grid, int* threads, void* function,
                                                      std::size_t (*shared_of)(int), std::size_t shared,
                                                      int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, threads, function, shared_of, shared, limit, 0);
}

HEDDLE_CUDA_CALL int cuOccupancyMaxActiveClusters(int* clusters, void* function, const LaunchConfig* config) {
  return with_kernel("cuOccupancyMaxActiveClusters", function, clusters, [&](State& card, Kernel& kernel) {
    return config == nullptr ? Error::kInvalidValue
                             : max_active_clusters(card, kernel, request_of(*config), *clusters);
  });
}

HEDDLE_CUDA_CALL int cuOccupancyMaxPotentialClusterSize(int* size, void* function, const LaunchConfig* config) {
  return with_kernel("cuOccupancyMaxPotentialClusterSize", function, size, [&](State& card, Kernel& kernel) {
    return config == nullptr ? Error::kInvalidValue : max_cluster_size(card, kernel, request_of(*config), *size);
  });
}
