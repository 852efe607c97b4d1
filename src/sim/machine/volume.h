// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/isa/sreg.h>

#include <cstdint>
#include <limits>

namespace heddle::sim {

// How many there are; all that can be counted where there are more.
inline std::uint64_t volume(const isa::Dim3& dims) {
  const std::uint64_t plane = std::uint64_t{dims.x} * dims.y;
  std::uint64_t all = 0;
  return __builtin_mul_overflow(plane, std::uint64_t{dims.z}, &all) ? std::numeric_limits<std::uint64_t>::max()
                                                                    : all;
}

}  // namespace heddle::sim
