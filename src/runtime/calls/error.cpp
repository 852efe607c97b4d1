// SPDX-License-Identifier: Apache-2.0
//
// Errors, as the program asks for them.
#include "runtime/state.h"

using namespace heddle::runtime;

HEDDLE_CUDA_CALL int cudaGetLastError() {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  const Error error = take_last_error();
  return static_cast<int>(card.failed != Error::kSuccess ? card.failed : error);
}

HEDDLE_CUDA_CALL int cudaPeekAtLastError() {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  return static_cast<int>(card.failed != Error::kSuccess ? card.failed : last_error());
}

HEDDLE_CUDA_CALL const char* cudaGetErrorString(int code) { return text_of(code); }

HEDDLE_CUDA_CALL const char* cudaGetErrorName(int code) { return name_of(code); }
