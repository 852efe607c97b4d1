// SPDX-License-Identifier: Apache-2.0
//
// prmt: four of the eight bytes of two registers. Where the selector differs from lane to lane it chooses without
// a branch.
//
//   const std::uint32_t lower_halves = prmt_b32(a, b, 0x5410);
#pragma once

#include <heddle/isa/target.h>

#include <cstdint>

namespace heddle::inline HEDDLE_TARGET::isa {

// Byte i of the result is byte number (selector >> 4 * i) & 7, of which 0 to 3 are a's and 4 to 7 are b's.
// PTX: prmt, its default mode, without the bits that repeat a sign.
#if HEDDLE_ON_CUDA

HEDDLE_DEVICE std::uint32_t prmt_b32(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  std::uint32_t bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(selector));
  return bytes;
}

#else

inline std::uint32_t prmt_b32(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t bytes = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    bytes |= static_cast<std::uint32_t>(both >> (selector >> 4 * i & 7) * 8 & 0xFF) << 8 * i;
  }
  return bytes;
}

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
