// SPDX-License-Identifier: Apache-2.0
//
// The options of calls that compile: of all of them only the logs are looked at, in which nothing is written. A
// program that shows one finds a text that is empty.
#pragma once

#include <initializer_list>

namespace heddle::runtime {

// False if there is no list.
inline bool clear_logs(unsigned count, const int* options, void** values) {
  // As CUDA's headers number them: a buffer, and behind it its length, which becomes that of the text.
  enum : int { kInfoLog = 3, kInfoLogBytes, kErrorLog, kErrorLogBytes };
  if (count != 0 && (options == nullptr || values == nullptr)) return false;
  for (const int log : {kInfoLog, kErrorLog}) {
    char* text = nullptr;
    void** bytes = nullptr;
    for (unsigned o = 0; o < count; ++o) {
      if (options[o] == log) text = static_cast<char*>(values[o]);
      if (options[o] == log + 1) bytes = values + o;
    }
    if (bytes == nullptr) continue;
    if (text != nullptr && *bytes != nullptr) *text = 0;
    *bytes = nullptr;
  }
  return true;
}

}  // namespace heddle::runtime
