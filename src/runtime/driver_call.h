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
    case Error::kInvalidMemcpyDirection:
      return static_cast<int>(Error::kInvalidValue);
    case Error::kInvalidSymbol:
    case Error::kInvalidDeviceFunction:
      return static_cast<int>(Error::kSymbolNotFound);
    default:
      return static_cast<int>(error);
  }
}

template <class Body>
int driver_call(const char* name, Body&& body) {
  State& card = state();
  const std::lock_guard lock(card.mutex);
  if (card.failed != Error::kSuccess) return driver_code(card.failed);
  try {
    return driver_code(std::forward<Body>(body)(card));
  } catch (const InputError& error) {
    say(std::string(name) + ": " + error.what());
    return driver_code(Error::kInvalidValue);
  } catch (const std::bad_alloc&) {
    return driver_code(Error::kMemoryAllocation);
  }
}

}  // namespace heddle::runtime
