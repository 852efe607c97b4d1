// SPDX-License-Identifier: Apache-2.0
//
// What host functions throw. The types are the same on both targets, so that a program which holds both
// catches them in either part. Nothing has been written to an output when one of them is thrown.
#pragma once

#include <stdexcept>
#include <string>

namespace heddle {

// The caller's input breaks a rule. The message names the rule, the value and the nearest one that passes.
class InputError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A call of the CUDA driver or runtime failed; `code` is what it returned.
class DriverError : public std::runtime_error {
 public:
  DriverError(const std::string& message, int code) : std::runtime_error(message), code_(code) {}

  int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace heddle
