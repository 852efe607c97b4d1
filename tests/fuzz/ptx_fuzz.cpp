// SPDX-License-Identifier: Apache-2.0
//
// PTX text: refused with InputError, or loaded.
#include <heddle/host/error.h>
#include <heddle/sim/ptx.h>

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    (void)heddle::sim::PtxModule::load(std::string(reinterpret_cast<const char*>(data), size), "fuzz.ptx");
  } catch (const heddle::InputError& error) {
    if (std::string(error.what()).size() > 2000) __builtin_trap();  // nobody reads more
  }
  return 0;
}
