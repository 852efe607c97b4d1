// SPDX-License-Identifier: Apache-2.0
//
// The driver: libraries and their kernels, which here are modules and functions under other names, and questions
// about them.
#include "runtime/driver_call.h"
#include "runtime/jit_logs.h"
#include "runtime/launch.h"
#include "runtime/module_image.h"

#include <algorithm>
#include <cstdint>

using namespace heddle::runtime;

extern "C" int cudaFuncGetParamInfo(const void* function, std::size_t index, std::size_t* offset,
                                    std::size_t* bytes);
extern "C" int cuFuncSetCacheConfig(void* function, int config);
extern "C" int cuFuncGetName(const char** text, void* function);
extern "C" int cuModuleGetGlobal_v2(std::uint64_t* address, std::size_t* bytes, void* module, const char* name);

namespace {

Error count_of(State& card, void* handle, unsigned* count) {
  auto* module = static_cast<Module*>(handle);
  if (count == nullptr) return Error::kInvalidValue;
  if (!card.modules.has(module)) return Error::kInvalidHandle;
  *count = static_cast<unsigned>(module->ptx()->entries().size());
  return Error::kSuccess;
}

Error all_of(State& card, void* handle, void** kernels, unsigned most) {
  auto* module = static_cast<Module*>(handle);
  if (kernels == nullptr) return Error::kInvalidValue;
  if (!card.modules.has(module)) return Error::kInvalidHandle;
  unsigned found = 0;
  for (const heddle::sim::PtxEntry& entry : module->ptx()->entries()) {
    if (found == most) break;
    const Error error = find_in_module(card, *module, kernels + found++, entry.name.c_str());
    if (error != Error::kSuccess) return error;
  }
  return Error::kSuccess;
}

Error module_of(State& card, void* function, void** module) {
  const Kernel* kernel = card.modules.find_kernel(function);
  if (module == nullptr) return Error::kInvalidValue;
  if (kernel == nullptr) return Error::kInvalidHandle;
  *module = kernel->module;
  return Error::kSuccess;
}

}  // namespace

HEDDLE_CUDA_CALL int cuModuleGetLoadingMode(int* mode) {
  constexpr int kLazy = 2;
  return give(mode, kLazy);
}

HEDDLE_CUDA_CALL int cuLibraryLoadFromFile(void** library, const char* path, const int* options, void** values,
                                           unsigned count, void*, void*, unsigned) {
  return driver_call("cuLibraryLoadFromFile", [&](State& card) {
    return clear_logs(count, options, values) ? load_image_file(card, library, path) : Error::kInvalidValue;
  });
}

HEDDLE_CUDA_CALL int cuLibraryGetGlobal(std::uint64_t* address, std::size_t* bytes, void* library,
                                        const char* name) {
  return cuModuleGetGlobal_v2(address, bytes, library, name);
}

HEDDLE_CUDA_CALL int cuLibraryGetManaged(std::uint64_t* address, std::size_t* bytes, void* library,
                                         const char* name) {
  return cuModuleGetGlobal_v2(address, bytes, library, name);
}

HEDDLE_CUDA_CALL int cuLibraryGetKernelCount(unsigned* count, void* library) {
  return driver_call("cuLibraryGetKernelCount", [&](State& card) { return count_of(card, library, count); });
}

HEDDLE_CUDA_CALL int cuModuleGetFunctionCount(unsigned* count, void* module) {
  return driver_call("cuModuleGetFunctionCount", [&](State& card) { return count_of(card, module, count); });
}

HEDDLE_CUDA_CALL int cuLibraryEnumerateKernels(void** kernels, unsigned most, void* library) {
  return driver_call("cuLibraryEnumerateKernels",
                     [&](State& card) { return all_of(card, library, kernels, most); });
}

HEDDLE_CUDA_CALL int cuModuleEnumerateFunctions(void** functions, unsigned most, void* module) {
  return driver_call("cuModuleEnumerateFunctions",
                     [&](State& card) { return all_of(card, module, functions, most); });
}

HEDDLE_CUDA_CALL int cuFuncGetModule(void** module, void* function) {
  return driver_call("cuFuncGetModule", [&](State& card) { return module_of(card, function, module); });
}

HEDDLE_CUDA_CALL int cuKernelGetLibrary(void** library, void* kernel) {
  return driver_call("cuKernelGetLibrary", [&](State& card) { return module_of(card, kernel, library); });
}

HEDDLE_CUDA_CALL int cuKernelGetName(const char** name, void* kernel) { return cuFuncGetName(name, kernel); }

HEDDLE_CUDA_CALL int cuFuncGetParamInfo(void* function, std::size_t index, std::size_t* offset,
                                        std::size_t* bytes) {
  return driver_code(static_cast<Error>(cudaFuncGetParamInfo(function, index, offset, bytes)));
}

HEDDLE_CUDA_CALL int cuKernelGetParamInfo(void* kernel, std::size_t index, std::size_t* offset,
                                          std::size_t* bytes) {
  return cuFuncGetParamInfo(kernel, index, offset, bytes);
}

HEDDLE_CUDA_CALL int cuFuncLoad(void* function) {
  return driver_call("cuFuncLoad", [&](State& card) {
    return card.modules.find_kernel(function) == nullptr ? Error::kInvalidHandle : Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuFuncIsLoaded(int* state, void* function) {
  const int code = cuFuncLoad(function);
  return code != 0 ? code : give(state, 1);
}

HEDDLE_CUDA_CALL int cuKernelSetCacheConfig(void* kernel, int config, int device) {
  return device == 0 ? cuFuncSetCacheConfig(kernel, config) : driver_code(Error::kInvalidDevice);
}

HEDDLE_CUDA_CALL int cuFuncSetSharedMemConfig(void*, int) { return 0; }
