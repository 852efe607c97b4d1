// SPDX-License-Identifier: Apache-2.0
//
// A program may have told its processor to round upward, to take denormals for zeros or to trap on an overflow.
// The card knows nothing of that.
#pragma once

#include <cfenv>

namespace heddle::sim::machine {

// While it lives this thread computes as IEEE 754 begins; then as before, exceptions that were raised forgotten.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&before_); }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  std::fenv_t before_ = {};
};

}  // namespace heddle::sim::machine
