// SPDX-License-Identifier: Apache-2.0
//
// Modules that a program loads through the runtime.
#include "runtime/jit_logs.h"
#include "runtime/launch.h"
#include "runtime/module_image.h"

using namespace heddle::runtime;

namespace {

template <class Body>
int with_library(const char* name, void* handle, Body&& body) {
  return call(name, [&](State& card) {
    auto* module = static_cast<Module*>(handle);
    return card.modules.has(module) ? body(card, *module) : Error::kInvalidHandle;
  });
}

}  // namespace

HEDDLE_CUDA_CALL int cudaLibraryLoadData(void** library, const void* image, const int* options, void** values,
                                         unsigned count, void*, void*, unsigned) {
  return call("cudaLibraryLoadData", [&](State& card) {
    return clear_logs(count, options, values) ? load_image(card, library, image) : Error::kInvalidValue;
  });
}

HEDDLE_CUDA_CALL int cudaLibraryLoadFromFile(void** library, const char* path, const int* options, void** values,
                                             unsigned count, void*, void*, unsigned) {
  return call("cudaLibraryLoadFromFile", [&](State& card) {
    return clear_logs(count, options, values) ? load_image_file(card, library, path) : Error::kInvalidValue;
  });
}

HEDDLE_CUDA_CALL int cudaLibraryUnload(void* library) {
  return with_library("cudaLibraryUnload", library, [](State& card, Module& module) {
    card.modules.remove(&module, card.memory);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaLibraryGetKernel(void** kernel, void* library, const char* name) {
  return with_library("cudaLibraryGetKernel", library,
                      [&](State& card, Module& module) { return find_in_module(card, module, kernel, name); });
}

HEDDLE_CUDA_CALL int cudaLibraryGetKernelCount(unsigned* count, void* library) {
  return with_library("cudaLibraryGetKernelCount", library, [&](State&, Module& module) {
    if (count == nullptr) return Error::kInvalidValue;
    *count = static_cast<unsigned>(module.ptx()->entries().size());
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaLibraryGetGlobal(void** address, std::size_t* bytes, void* library, const char* name) {
  return with_library("cudaLibraryGetGlobal", library, [&](State&, Module& module) {
    if (name == nullptr) return Error::kInvalidValue;
    const heddle::sim::PtxVariable* variable = module.variable(name);
    if (variable == nullptr) return Error::kSymbolNotFound;
    if (address != nullptr) *address = variable->address;
    if (bytes != nullptr) *bytes = variable->bytes;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaFuncGetParamInfo(const void* function, std::size_t index, std::size_t* offset,
                                          std::size_t* bytes) {
  return call("cudaFuncGetParamInfo", [&](State& card) {
    if (offset == nullptr) return Error::kInvalidValue;
    const Kernel* kernel = card.modules.find_kernel(function);
    if (kernel == nullptr) return Error::kInvalidDeviceFunction;
    Error error = Error::kSuccess;
    const heddle::sim::PtxEntry* entry = load_entry(card, *kernel, error);
    if (entry == nullptr) return error;
    if (index >= entry->parameter_offsets.size()) return Error::kInvalidValue;
    *offset = entry->parameter_offsets[index];
    if (bytes != nullptr) *bytes = entry->parameter_sizes[index];
    return Error::kSuccess;
  });
}
