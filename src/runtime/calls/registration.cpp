// SPDX-License-Identifier: Apache-2.0
//
// What the code that nvcc makes for the host calls before main, at exit, and around <<<...>>>.
#include "runtime/launch.h"
#include "runtime/module_image.h"

#include <cstddef>
#include <utility>

namespace {

using namespace heddle::runtime;
namespace isa = heddle::isa;

struct CallConfiguration {
  isa::Dim3 grid;
  isa::Dim3 block;
  std::size_t shared;
  void* stream;
};

// Of launches that are being made. Nothing of it is ever taken down: destructors of a thread, and of the
// program's globals at exit, launch too.
struct Configurations {
  static constexpr std::size_t kMost = 16;
  CallConfiguration all[kMost];
  std::size_t count;
};
thread_local constinit Configurations configurations = {};

Module* module_of(void** handle) { return reinterpret_cast<Module*>(handle); }

}  // namespace

HEDDLE_CUDA_CALL void** __cudaRegisterFatBinary(const FatWrapper* wrapper) {
  Module* module = nullptr;
  guard("__cudaRegisterFatBinary", [&](State& card) {
    if (wrapper == nullptr || wrapper->magic != FatWrapper::kMagic) {
      say("__cudaRegisterFatBinary: what the program registers is no fat binary of nvcc");
    } else if (wrapper->is_linked()) {
      module = card.modules.add(wrapper->units());
    } else {
      module = card.modules.add(wrapper->image);
    }
  });
  return reinterpret_cast<void**>(module);
}

HEDDLE_CUDA_CALL void __cudaRegisterFatBinaryEnd(void**) {}

HEDDLE_CUDA_CALL void __cudaUnregisterFatBinary(void** handle) {
  guard("__cudaUnregisterFatBinary", [&](State& card) {
    show_printed(card);
    card.modules.remove(module_of(handle), card.memory);
  });
}

HEDDLE_CUDA_CALL void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, void*,
                                             void*, void*, void*, int*) {
  guard("__cudaRegisterFunction", [&](State& card) {
    if (handle != nullptr) card.modules.add_kernel(module_of(handle), host, name);
  });
}

HEDDLE_CUDA_CALL void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int,
                                        std::size_t bytes, int, int) {
  guard("__cudaRegisterVar", [&](State& card) {
    if (handle != nullptr) card.modules.add_symbol(module_of(handle), host, {.name = name, .bytes = bytes});
  });
}

HEDDLE_CUDA_CALL void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int,
                                               std::size_t bytes, int, int) {
  guard("__cudaRegisterManagedVar", [&](State& card) {
    if (handle == nullptr) return;
    card.modules.add_symbol(module_of(handle), host, {.name = name, .bytes = bytes, .managed = host});
  });
}

// Called before the host code touches a managed variable.
HEDDLE_CUDA_CALL char __cudaInitModule(void** handle) {
  bool is_loaded = false;
  guard("__cudaInitModule", [&](State& card) {
    is_loaded = handle != nullptr && module_of(handle)->load(card.memory) == Error::kSuccess;
  });
  return is_loaded ? 1 : 0;
}

HEDDLE_CUDA_CALL unsigned __cudaPushCallConfiguration(isa::Dim3 grid, isa::Dim3 block, std::size_t shared,
                                                      void* stream) {
  const int code = call("cudaLaunchKernel", [&](State&) {
    // Arguments of a launch may launch, but only a program that never pops comes this far.
    if (configurations.count == Configurations::kMost) return Error::kMemoryAllocation;
    configurations.all[configurations.count++] = {grid, block, shared, stream};
    return Error::kSuccess;
  });
  return static_cast<unsigned>(code);
}

HEDDLE_CUDA_CALL int __cudaPopCallConfiguration(isa::Dim3* grid, isa::Dim3* block, std::size_t* shared,
                                                void** stream) {
  if (configurations.count == 0 || !all_set(grid, block, shared, stream)) {
    return remember(Error::kInvalidConfiguration);
  }
  const CallConfiguration& last = configurations.all[--configurations.count];
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *stream = last.stream;
  return 0;
}

HEDDLE_CUDA_CALL int __cudaGetKernel(void** kernel, const void* host) {
  Kernel* found = nullptr;
  guard("__cudaGetKernel", [&](State& card) { found = card.modules.find_kernel(host); });
  if (kernel != nullptr) *kernel = found;
  return found != nullptr && kernel != nullptr ? 0 : remember(Error::kInvalidDeviceFunction);
}
