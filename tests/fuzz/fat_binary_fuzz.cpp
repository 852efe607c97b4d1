// SPDX-License-Identifier: Apache-2.0
//
// Fat binaries as a program may hold them, whole and damaged: refused or read, and never past their end.
#include "runtime/fat_binary.h"

#include <heddle/host/error.h>

#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heddle::runtime;
  // A copy of just these bytes, so that the sanitizer sees the first one that is too many.
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> bytes(begin, begin + size);
  (void)fat_binary_bytes(bytes);
  try {
    for (const FatImage& image : read_fat_binary(bytes)) {
      if (image.kind == FatImage::Kind::kPtx && image.unpacked_bytes < (1u << 20))
        (void)ptx_target(unpack_ptx(image));
    }
  } catch (const heddle::InputError&) {
  }
  return 0;
}
