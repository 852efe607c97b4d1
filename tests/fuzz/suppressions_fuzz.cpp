// SPDX-License-Identifier: Apache-2.0
//
// Suppression files: refused with InputError, or rules that can be read again and asked about any place.
#include "file_of_bytes.h"

#include <heddle/host/error.h>
#include <heddle/sim/accept.h>

#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heddle::sim;
  static heddle::fuzz::FileOfBytes file;
  file.write(data, size);
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    for (const std::string& line : read_suppressions(file.path())) {
      const AcceptRule rule = AcceptRule::parse(line);
      if (rule.text() != line) __builtin_trap();
      (void)rule.matches({"/home/me/copy.h:7, /home/me/saxpy.cu:41, saxpy.ptx", 120});
      (void)rule.matches({text.c_str(), 1});
    }
  } catch (const heddle::InputError& error) {
    if (std::string(error.what()).size() > 2000) __builtin_trap();  // nobody reads more
  }
  return 0;
}
