// SPDX-License-Identifier: Apache-2.0
//
// Programs as `heddle exec` looks at them before it runs them.
#include "elf_program.h"

#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const heddle::tool::ElfProgram program = heddle::tool::parse_elf(std::vector<char>(data, data + size));
  if (program.needed.size() > 4096) __builtin_trap();
  (void)program.library("libcudart.so");
  return 0;
}
