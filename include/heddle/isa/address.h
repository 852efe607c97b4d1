// SPDX-License-Identifier: Apache-2.0
//
// The 32-bit address of something in shared memory, as descriptors and instructions hold it. A pointer is
// how C++ names the place; the bits that swizzles and descriptors look at are those of this address.
//
//   const std::uint32_t address = shared_address(tile.data());
#pragma once

#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET::isa {

#if HEDDLE_ON_CUDA

HEDDLE_DEVICE std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

#else

std::uint32_t shared_address(const void* shared);

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
