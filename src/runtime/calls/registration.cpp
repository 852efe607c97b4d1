// SPDX-License-Identifier: Apache-2.0
//
// What the code that nvcc makes for the host calls before main, at exit, and around <<<...>>>.
#include "runtime/launch.h"

#include <vector>

namespace {

using namespace heddle::runtime;
namespace isa = heddle::isa;

constexpr std::uint32_t kWrapperMagic = 0x4662'43B1;

// What nvcc passes for each translation unit.
struct FatWrapper {
  std::uint32_t magic;
  std::uint32_t version;  // 2: relocatable device code, linked
  const void* image;
  const void* prelinked;
};

struct CallConfiguration {
  isa::Dim3 grid;
  isa::Dim3 block;
  std::size_t shared;
  void* stream;
};

thread_local std::vector<CallConfiguration> configurations;

Module* module_of(void** handle) { return reinterpret_cast<Module*>(handle); }

}  // namespace

HEDDLE_CUDA_CALL void** __cudaRegisterFatBinary(const FatWrapper* wrapper) {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  if (wrapper->magic != kWrapperMagic) {
    say("__cudaRegisterFatBinary: what the program registers is no fat binary of nvcc");
    return nullptr;
  }
  if (wrapper->version != 1) {
    say("the program was built with relocatable device code (-rdc=true), whose PTX is not linked here. Build it "
        "with -rdc=false");
    return reinterpret_cast<void**>(card.modules.add(nullptr));
  }
  return reinterpret_cast<void**>(card.modules.add(wrapper->image));
}

HEDDLE_CUDA_CALL void __cudaRegisterFatBinaryEnd(void**) {}

HEDDLE_CUDA_CALL void __cudaUnregisterFatBinary(void** handle) {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  show_printed(card);
  card.modules.remove(module_of(handle), card.memory);
}

HEDDLE_CUDA_CALL void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, void*,
                                             void*, void*, void*, int*) {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  if (handle != nullptr) card.modules.add_kernel(module_of(handle), host, name);
}

HEDDLE_CUDA_CALL void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int,
                                        std::size_t bytes, int, int) {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  if (handle != nullptr) card.modules.add_symbol(module_of(handle), host, {.name = name, .bytes = bytes});
}

HEDDLE_CUDA_CALL void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int,
                                               std::size_t bytes, int, int) {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  if (handle == nullptr) return;
  card.modules.add_symbol(module_of(handle), host, {.name = name, .bytes = bytes, .managed = host});
}

// Called before the host code touches a managed variable.
HEDDLE_CUDA_CALL char __cudaInitModule(void** handle) {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  return handle != nullptr && module_of(handle)->load(card.memory) == Error::kSuccess ? 1 : 0;
}

HEDDLE_CUDA_CALL unsigned __cudaPushCallConfiguration(isa::Dim3 grid, isa::Dim3 block, std::size_t shared,
                                                      void* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

HEDDLE_CUDA_CALL int __cudaPopCallConfiguration(isa::Dim3* grid, isa::Dim3* block, std::size_t* shared,
                                                void** stream) {
  if (configurations.empty()) return remember(Error::kInvalidConfiguration);
  const CallConfiguration& last = configurations.back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *stream = last.stream;
  configurations.pop_back();
  return 0;
}

HEDDLE_CUDA_CALL int __cudaGetKernel(void** kernel, const void* host) {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  *kernel = card.modules.find_kernel(host);
  return *kernel != nullptr ? 0 : remember(Error::kInvalidDeviceFunction);
}
