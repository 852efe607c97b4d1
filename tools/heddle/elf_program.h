// SPDX-License-Identifier: Apache-2.0
//
// What an executable says about the libraries that it wants.
#pragma once

#include <string>
#include <vector>

namespace heddle::tool {

struct ElfProgram {
  bool is_elf = false;              // 64-bit, little-endian; nothing else is known about other files
  bool has_runtime_12 = false;      // linked in: the CUDA runtime of version 12
  bool has_rpath = false;           // searched before LD_LIBRARY_PATH
  std::vector<std::string> needed;  // libraries

  // The first library that begins with `prefix`, or an empty string.
  std::string library(const std::string& prefix) const;
};

// Throws InputError for a file that cannot be read. A damaged one is not recognised as ELF.
ElfProgram read_elf(const std::string& path);
ElfProgram parse_elf(std::vector<char> bytes);  // of a file

}  // namespace heddle::tool
