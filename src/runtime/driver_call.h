// SPDX-License-Identifier: Apache-2.0
//
// The frame of the driver's calls. They share the card with the runtime's, but not its last error, and have other
// codes for a few errors.
#pragma once

#include "runtime/state.h"

#include <string_view>

namespace heddle::runtime {

constexpr int driver_code(Error error) {
  switch (error) {
    case Error::kInvalidConfiguration:
    case Error::kInvalidPitch:
    case Error::kInvalidDevicePointer:
    case Error::kInvalidFilterSetting:
    case Error::kInvalidMemcpyDirection: return static_cast<int>(Error::kInvalidValue);
    case Error::kInvalidSymbol:
    case Error::kInvalidDeviceFunction: return static_cast<int>(Error::kSymbolNotFound);
    default: return static_cast<int>(error);
  }
}

// What uses the memory, streams, events and modules of the context that the thread has.
constexpr bool needs_context(std::string_view name) {
  constexpr std::string_view kBeginnings[] = {"cuMemAlloc",       "cuMemHostAlloc", "cuMemcpy",     "cuMemset",
                                              "cuStreamCreate",   "cuEventCreate",  "cuModuleLoad", "cuLaunch",
                                              "cuCtxSynchronize", "cuCtxGetDevice"};
  for (const std::string_view beginning : kBeginnings) {
    if (name.starts_with(beginning)) return true;
  }
  return false;
}

template <class Body>
int driver_call(const char* name, Body&& body) noexcept {
  if (contexts_of_thread() == 0 && needs_context(name)) return driver_code(Error::kInvalidContext);
  return driver_code(guarded(name, std::forward<Body>(body)));
}

template <class Body, class... Pointers>
int driver_call_with(const char* name, Body&& body, const Pointers*... pointers) noexcept {
  if (!all_set(pointers...)) return driver_code(Error::kInvalidValue);
  return driver_call(name, std::forward<Body>(body));
}

template <class Body>
int driver_call_on(const char* name, const void* stream, Body&& body) noexcept {
  return driver_call(name, [&](State& card) { return on_stream(card, stream, body); });
}

// For what needs no card: writes a value, where there is a place for it.
template <class T>
int give(T* result, T value) noexcept {
  if (result == nullptr) return driver_code(Error::kInvalidValue);
  *result = value;
  return 0;
}

}  // namespace heddle::runtime
