// SPDX-License-Identifier: Apache-2.0
#include "c/error.h"

#include <heddle/c_api.h>
#include <heddle/version.h>

namespace heddle::c {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

}  // namespace heddle::c

HEDDLE_C_CALL const char* heddle_error() { return heddle::c::last_error().c_str(); }
