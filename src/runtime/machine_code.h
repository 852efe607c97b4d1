// SPDX-License-Identifier: Apache-2.0
//
// Machine code (a cubin), which cannot be run: what it says of itself, so that its user knows which it is and who
// made it. The notes of NVIDIA's tools are not documented; their layout was derived from what ptxas 13.0 writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::runtime {

struct MachineCode {
  std::vector<std::string> kernels;
  std::string tool;     // "ptxas"
  std::string version;  // "Cuda compilation tools, release 13.0, V13.0.88"
  std::string options;  // "-arch sm_90a -m 64"
};

bool is_elf(std::span<const std::byte> bytes);

// How many bytes an ELF file has, by its headers; no more than there are.
std::size_t elf_bytes(std::span<const std::byte> bytes);

// What a damaged file does not say stays empty.
MachineCode read_machine_code(std::span<const std::byte> bytes);

// "machine code of the kernels a, b (made by ptxas, ...)"
std::string describe(const MachineCode& code);

}  // namespace heddle::runtime
