// SPDX-License-Identifier: Apache-2.0
//
// NVRTC, where it hands out machine code: the PTX that the code was made of.
#include "runtime/jit_library.h"
#include "runtime/state.h"

#include <cstddef>

using namespace heddle::runtime;

namespace {

using GetSize = int(void* program, std::size_t* bytes);
using GetBytes = int(void* program, char* bytes);

constexpr int kInternalError = 11;  // as nvrtc.h numbers it

// A program for a virtual architecture has no machine code, and NVRTC says so.
template <int which>
int cubin_size(void* program, std::size_t* bytes) {
  const JitLibrary& nvrtc = jit_library(which);
  const int code = nvrtc.call<GetSize>(kInternalError, "nvrtcGetCUBINSize", program, bytes);
  const bool has_code = code == 0 && bytes != nullptr && *bytes != 0;
  return has_code ? nvrtc.call<GetSize>(kInternalError, "nvrtcGetPTXSize", program, bytes) : code;
}

template <int which>
int cubin(void* program, char* bytes) {
  const JitLibrary& nvrtc = jit_library(which);
  std::size_t size = 0;
  const int code = nvrtc.call<GetSize>(kInternalError, "nvrtcGetCUBINSize", program, &size);
  return nvrtc.call<GetBytes>(kInternalError, code == 0 && size != 0 ? "nvrtcGetPTX" : "nvrtcGetCUBIN", program,
                              bytes);
}

}  // namespace

const Replacement* heddle::runtime::nvrtc_replacement(std::string_view name) {
  static const Replacement all[] = {HEDDLE_REPLACEMENT("nvrtcGetCUBINSize", cubin_size),
                                    HEDDLE_REPLACEMENT("nvrtcGetCUBIN", cubin)};
  for (const Replacement& one : all) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

HEDDLE_CUDA_CALL int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
  return cubin_size<kLinkedNvrtc>(program, bytes);
}

HEDDLE_CUDA_CALL int nvrtcGetCUBIN(void* program, char* bytes) { return cubin<kLinkedNvrtc>(program, bytes); }
