// SPDX-License-Identifier: Apache-2.0
//
// The driver: linking. What comes out is PTX, for cuModuleLoadData.
#include "runtime/driver_call.h"
#include "runtime/host_pages.h"
#include "runtime/jit_logs.h"
#include "runtime/module_image.h"
#include "runtime/ptx_link.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

using namespace heddle::runtime;

namespace {

// As CUDA's headers number them.
enum Input : int { kCubin, kPtx, kFatBinary, kObject, kLibrary, kNvvm };

struct Linker {
  std::vector<std::string> units;
  std::string image;
};

// Under the card's lock, as all else.
std::unordered_map<const void*, std::unique_ptr<Linker>> linkers;

template <class Body>
int with_linker(const char* name, const void* handle, Body&& body) {
  return driver_call(name, [&](State&) {
    const auto found = linkers.find(handle);
    return found == linkers.end() ? Error::kInvalidHandle : body(*found->second);
  });
}

Error add(Linker& linker, int type, std::span<const std::byte> bytes) {
  if (type < kCubin || type > kNvvm || bytes.empty()) return Error::kInvalidValue;
  if (type != kPtx && type != kFatBinary) {
    say(fmt::format("cuLinkAddData of input type {}: PTX and fat binaries with PTX can be linked", type));
    return Error::kInvalidKernelImage;
  }
  std::string unit;
  const Error error = choose_ptx(bytes, unit);
  if (error == Error::kSuccess) linker.units.push_back(std::move(unit));
  return error;
}

}  // namespace

HEDDLE_CUDA_CALL int cuLinkCreate_v2(unsigned count, const int* options, void** values, void** linker) {
  return driver_call("cuLinkCreate", [&](State&) {
    if (linker == nullptr || !clear_logs(count, options, values)) return Error::kInvalidValue;
    auto made = std::make_unique<Linker>();
    *linker = made.get();
    linkers.emplace(made.get(), std::move(made));
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuLinkAddData_v2(void* linker, int type, const void* data, std::size_t bytes, const char*,
                                      unsigned, void*, void*) {
  return with_linker("cuLinkAddData", linker, [&](Linker& found) {
    if (data == nullptr || readable_bytes(data) < bytes) return Error::kInvalidValue;
    return add(found, type, {static_cast<const std::byte*>(data), bytes});
  });
}

HEDDLE_CUDA_CALL int cuLinkAddFile_v2(void* linker, int type, const char* path, unsigned, void*, void*) {
  return with_linker("cuLinkAddFile", linker, [&](Linker& found) {
    if (path == nullptr) return Error::kInvalidValue;
    const std::optional<std::vector<std::byte>> bytes = read_file(path);
    return bytes ? add(found, type, *bytes) : Error::kFileNotFound;
  });
}

// The image lives as long as the linker.
HEDDLE_CUDA_CALL int cuLinkComplete(void* linker, void** image, std::size_t* bytes) {
  return with_linker("cuLinkComplete", linker, [&](Linker& found) {
    if (image == nullptr || found.units.empty()) return Error::kInvalidValue;
    found.image = link_ptx(found.units);
    *image = found.image.data();
    if (bytes != nullptr) *bytes = found.image.size() + 1;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuLinkDestroy(void* linker) {
  return driver_call("cuLinkDestroy", [&](State&) {
    return linkers.erase(linker) != 0 ? Error::kSuccess : Error::kInvalidHandle;
  });
}
