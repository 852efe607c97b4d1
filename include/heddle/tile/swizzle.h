// SPDX-License-Identifier: Apache-2.0
//
// How the copy engine and the tensor cores permute shared memory so that a column of a tile does not fall
// into one bank. A swizzle moves whole atoms of 16 (or 32) bytes inside spans of 32, 64 or 128 bytes; which
// way depends on the 128-byte line, that is on bits of the absolute shared-memory address. A tile that
// starts on a multiple of `repeat_bytes` sees the textbook pattern, any other sees it shifted.
//
//   static_assert(swizzled(Swizzle::k128B, 0x100) == 0x120);
#pragma once

#include <cstdint>

#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

enum class Swizzle : std::uint8_t {
  kNone,
  k32B,
  k64B,
  k128B,
  k128BAtom32B,  // Unverified: from the manual and CUTLASS; the driver of an H200 refuses this mode
};

// Shared memory is swizzled by the number of the 128-byte line.
inline constexpr std::uint32_t swizzle_line_bytes = 128;

// The width within which bytes move: the widest inner box of a swizzled TMA copy, and the row pitch of what
// it writes. kNone moves nothing; its span is the 16-byte row that unswizzled MMA operands are made of.
HEDDLE_HOST_DEVICE constexpr std::uint32_t span_bytes(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::kNone: return 16;
    case Swizzle::k32B: return 32;
    case Swizzle::k64B: return 64;
    case Swizzle::k128B:
    case Swizzle::k128BAtom32B: break;
  }
  return 128;
}

// What moves as a whole.
HEDDLE_HOST_DEVICE constexpr std::uint32_t atom_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::k128BAtom32B ? 32 : 16;
}

// How many different orders the pattern goes through, line by line.
HEDDLE_HOST_DEVICE constexpr std::uint32_t repeat_lines(Swizzle swizzle) {
  return span_bytes(swizzle) / atom_bytes(swizzle);
}

// The pattern repeats at this distance, and tiles aligned to it all look alike.
HEDDLE_HOST_DEVICE constexpr std::uint32_t repeat_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::kNone ? atom_bytes(swizzle) : repeat_lines(swizzle) * swizzle_line_bytes;
}

// Where the byte with linear address `address` lies. Its own inverse, so it also turns a physical address
// into the linear one. `base_offset` is the descriptor field of that name: the line on which the pattern
// starts; TMA always uses 0.
// PTX: Swizzling Modes; Strides (base offset of matrix descriptors).
// Unverified: a base offset other than 0 on sm_100, and with 32-byte atoms.
HEDDLE_HOST_DEVICE constexpr std::uint32_t swizzled(Swizzle swizzle, std::uint32_t address,
                                                    std::uint32_t base_offset = 0) {
  const std::uint32_t line = address / swizzle_line_bytes - base_offset;
  return address ^ (line % repeat_lines(swizzle)) * atom_bytes(swizzle);
}

// The value of CUtensorMapSwizzle.
HEDDLE_HOST_DEVICE constexpr std::uint32_t tma_code(Swizzle swizzle) {
  return static_cast<std::uint32_t>(swizzle);
}

}  // namespace heddle::inline HEDDLE_TARGET
