// SPDX-License-Identifier: Apache-2.0
//
// nvJitLink, where it hands out machine code: the PTX that was linked. Of intermediate code (LTO-IR) the library
// makes the PTX itself, if it is told so when the linker is created.
#include "runtime/jit_library.h"
#include "runtime/machine_code.h"
#include "runtime/module_image.h"
#include "runtime/ptx_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace heddle::runtime;

namespace {

using Create = int(void** linker, std::uint32_t count, const char** options);
using AddData = int(void* linker, int type, const void* data, std::size_t bytes, const char* name);
using AddFile = int(void* linker, int type, const char* path);
using GetSize = int(void* linker, std::size_t* bytes);
using GetBytes = int(void* linker, char* bytes);
using Destroy = int(void** linker);

// As nvJitLink.h numbers them.
constexpr int kInternalError = 6;
enum Input : int { kCubin = 1, kPtx, kLtoIr, kFatBinary, kObject, kLibrary, kIndex, kAny = 10 };

struct Linker {
  bool makes_ptx = false;          // of intermediate code
  std::vector<std::string> units;  // PTX
  std::vector<std::string> rest;   // what cannot be linked, by name
};

std::mutex mutex;
std::map<const void*, Linker>& linkers() {
  static auto* all = new std::map<const void*, Linker>;
  return *all;
}

void record(const void* linker, int type, std::span<const std::byte> bytes, const std::string& name) {
  const std::lock_guard lock(mutex);
  Linker& to = linkers()[linker];
  if (type == kPtx || type == kFatBinary || (type == kAny && !is_elf(bytes))) {
    std::string text;
    if (choose_ptx(bytes, text) == Error::kSuccess) to.units.push_back(std::move(text));
  } else if (type == kCubin || type == kObject || type == kAny) {
    to.rest.push_back(name);
  }
}

// The PTX of a linker that has none of its own to give; empty if something in it has none.
std::string linked(const void* linker) {
  const std::lock_guard lock(mutex);
  const Linker& from = linkers()[linker];
  for (const std::string& name : from.rest) {
    say(
        fmt::format("nvJitLink was given '{}', which is machine code; only PTX, fat binaries with PTX and "
                    "intermediate code (LTO-IR) can be linked for the simulated card",
                    name));
  }
  if (!from.rest.empty() || from.units.empty()) return {};
  return from.units.size() == 1 ? from.units.front() : link_ptx(from.units);
}

bool makes_ptx(const void* linker) {
  const std::lock_guard lock(mutex);
  return linkers()[linker].makes_ptx;
}

template <int which>
int create(void** linker, std::uint32_t count, const char** options) {
  std::vector<const char*> all(options, options + (options == nullptr ? 0 : count));
  const auto has = [&](std::string_view wanted) {
    return std::any_of(all.begin(), all.end(), [&](const char* one) { return one != nullptr && one == wanted; });
  };
  const bool adds_ptx = has("-lto") && !has("-ptx");
  if (adds_ptx) all.push_back("-ptx");
  const int code = jit_library(which).call<Create>(kInternalError, "nvJitLinkCreate", linker,
                                                   static_cast<std::uint32_t>(all.size()), all.data());
  if (code == 0 && linker != nullptr) {
    const std::lock_guard lock(mutex);
    linkers()[*linker].makes_ptx = adds_ptx;
  }
  return code;
}

template <int which>
int add_data(void* linker, int type, const void* data, std::size_t bytes, const char* name) {
  const int code =
      jit_library(which).call<AddData>(kInternalError, "nvJitLinkAddData", linker, type, data, bytes, name);
  if (code == 0 && data != nullptr) {
    record(linker, type, {static_cast<const std::byte*>(data), bytes}, name != nullptr ? name : "a part");
  }
  return code;
}

template <int which>
int add_file(void* linker, int type, const char* path) {
  const int code = jit_library(which).call<AddFile>(kInternalError, "nvJitLinkAddFile", linker, type, path);
  if (code != 0 || path == nullptr || type == kLibrary || type == kLtoIr) return code;
  if (const std::optional<std::vector<std::byte>> bytes = read_file(path)) record(linker, type, *bytes, path);
  return code;
}

template <int which>
int cubin_size(void* linker, std::size_t* bytes) {
  const JitLibrary& library = jit_library(which);
  if (makes_ptx(linker)) return library.call<GetSize>(kInternalError, "nvJitLinkGetLinkedPtxSize", linker, bytes);
  const std::string text = linked(linker);
  const int code = library.call<GetSize>(kInternalError, "nvJitLinkGetLinkedCubinSize", linker, bytes);
  if (code == 0 && bytes != nullptr && !text.empty()) *bytes = text.size() + 1;
  return code;
}

template <int which>
int cubin(void* linker, char* bytes) {
  const JitLibrary& library = jit_library(which);
  if (makes_ptx(linker)) return library.call<GetBytes>(kInternalError, "nvJitLinkGetLinkedPtx", linker, bytes);
  const std::string text = linked(linker);
  if (text.empty() || bytes == nullptr) {
    return library.call<GetBytes>(kInternalError, "nvJitLinkGetLinkedCubin", linker, bytes);
  }
  std::memcpy(bytes, text.c_str(), text.size() + 1);
  return 0;
}

template <int which>
int destroy(void** linker) {
  if (linker != nullptr) {
    const std::lock_guard lock(mutex);
    linkers().erase(*linker);
  }
  return jit_library(which).call<Destroy>(kInternalError, "nvJitLinkDestroy", linker);
}

// Headers of nvJitLink name the version of a function: __nvJitLinkCreate_13_0.
std::string_view without_version(std::string_view name) {
  if (!name.starts_with("__")) return name;
  name.remove_prefix(2);
  const std::size_t end = name.find_last_not_of("0123456789_");
  return name.substr(0, end + 1);
}

}  // namespace

const Replacement* heddle::runtime::nvjitlink_replacement(std::string_view name) {
  static const Replacement all[] = {HEDDLE_REPLACEMENT("nvJitLinkCreate", create),
                                    HEDDLE_REPLACEMENT("nvJitLinkAddData", add_data),
                                    HEDDLE_REPLACEMENT("nvJitLinkAddFile", add_file),
                                    HEDDLE_REPLACEMENT("nvJitLinkGetLinkedCubinSize", cubin_size),
                                    HEDDLE_REPLACEMENT("nvJitLinkGetLinkedCubin", cubin),
                                    HEDDLE_REPLACEMENT("nvJitLinkDestroy", destroy)};
  for (const Replacement& one : all) {
    if (one.name == without_version(name)) return &one;
  }
  return nullptr;
}

// For programs that were linked against the library: nvJitLink.h names the version of each function.
#define HEDDLE_LINKED_VERSION(version, which)                                                                    \
  HEDDLE_CUDA_CALL int __nvJitLinkCreate_##version(void** linker, std::uint32_t count, const char** options) {   \
    return create<which>(linker, count, options);                                                                \
  }                                                                                                              \
  HEDDLE_CUDA_CALL int __nvJitLinkAddData_##version(void* linker, int type, const void* data, std::size_t bytes, \
                                                    const char* name) {                                          \
    return add_data<which>(linker, type, data, bytes, name);                                                     \
  }                                                                                                              \
  HEDDLE_CUDA_CALL int __nvJitLinkAddFile_##version(void* linker, int type, const char* path) {                  \
    return add_file<which>(linker, type, path);                                                                  \
  }                                                                                                              \
  HEDDLE_CUDA_CALL int __nvJitLinkGetLinkedCubinSize_##version(void* linker, std::size_t* bytes) {               \
    return cubin_size<which>(linker, bytes);                                                                     \
  }                                                                                                              \
  HEDDLE_CUDA_CALL int __nvJitLinkGetLinkedCubin_##version(void* linker, void* bytes) {                          \
    return cubin<which>(linker, static_cast<char*>(bytes));                                                      \
  }                                                                                                              \
  HEDDLE_CUDA_CALL int __nvJitLinkDestroy_##version(void** linker) { return destroy<which>(linker); }
HEDDLE_LINKED_VERSION(12_8, kLinkedJitLink12)
HEDDLE_LINKED_VERSION(12_9, kLinkedJitLink12)
HEDDLE_LINKED_VERSION(13_0, kLinkedJitLink13)
HEDDLE_LINKED_VERSION(13_1, kLinkedJitLink13)
HEDDLE_LINKED_VERSION(13_2, kLinkedJitLink13)
HEDDLE_LINKED_VERSION(13_3, kLinkedJitLink13)
HEDDLE_LINKED_VERSION(13_4, kLinkedJitLink13)
#undef HEDDLE_LINKED_VERSION
