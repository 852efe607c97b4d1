// SPDX-License-Identifier: Apache-2.0
//
// The frame of the driver's calls. They share the card with the runtime's, but not its last error, and have other
// codes for a few errors.
#pragma once

#include "runtime/state.h"

namespace heddle::runtime {

constexpr int driver_code(Error error) {
  switch (error) {
    case Error::kInvalidConfiguration:
    case Error::kInvalidPitch:
    case Error::kInvalidDevicePointer:
    case Error::kInvalidMemcpyDirection: return static_cast<int>(Error::kInvalidValue);
    case Error::kInvalidSymbol:
    case Error::kInvalidDeviceFunction: return static_cast<int>(Error::kSymbolNotFound);
    default: return static_cast<int>(error);
  }
}

template <class Body>
int driver_call(const char* name, Body&& body) noexcept {
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
