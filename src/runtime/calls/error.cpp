// SPDX-License-Identifier: Apache-2.0
//
// Errors, as the program asks for them.
#include "runtime/state.h"

using namespace heddle::runtime;

namespace {

// A card that a kernel broke says so whatever came last.
int seen(Error error) {
  const Error broken = guarded<true>("cudaGetLastError", [](State&) { return Error::kSuccess; });
  return static_cast<int>(broken != Error::kSuccess ? broken : error);
}

}  // namespace

HEDDLE_CUDA_CALL int cudaGetLastError() { return seen(take_last_error()); }

HEDDLE_CUDA_CALL int cudaPeekAtLastError() { return seen(last_error()); }

HEDDLE_CUDA_CALL const char* cudaGetErrorString(int code) { return text_of(code); }

HEDDLE_CUDA_CALL const char* cudaGetErrorName(int code) { return name_of(code); }
