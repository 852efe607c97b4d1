// SPDX-License-Identifier: Apache-2.0
//
// The frame of every call of the C interface: whatever is thrown becomes the text of heddle_error().
#pragma once

#include <exception>
#include <string>
#include <utility>

// A function that other languages find by its name.
#define HEDDLE_C_CALL extern "C" __attribute__((visibility("default")))

namespace heddle::c {

std::string& last_error();

template <class Result, class Body>
Result guarded(Result failed, Body&& body) noexcept {
  try {
    last_error().clear();
    return std::forward<Body>(body)();
  } catch (const std::exception& error) {
    last_error() = error.what();
  } catch (...) {
    last_error() = "failed without saying why";
  }
  return failed;
}

}  // namespace heddle::c
