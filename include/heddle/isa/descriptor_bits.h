// SPDX-License-Identifier: Apache-2.0
//
// What the shared-memory descriptors and the instruction descriptor have in common: which dimension of an
// operand is contiguous, and how fields are put into a word and taken out again.
#pragma once

#include <cstdint>

#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

// Which dimension of an MMA operand is contiguous in shared memory: K, or M (of A) or N (of B). The values
// are those of the instruction descriptor and of the transpose immediates of wgmma.
enum class Major : std::uint8_t { kK = 0, kMN = 1 };

namespace detail {

// Bits [high:low] of a descriptor, both inclusive, as the manual writes them. A type rather than a constant,
// because device code cannot call members of a constant object at namespace scope.
template <int high, int low>
struct BitRange {
  static constexpr std::uint64_t mask = (~std::uint64_t{0} >> (63 - (high - low))) << low;

  HEDDLE_HOST_DEVICE static constexpr bool holds(std::uint64_t value) { return value <= mask >> low; }
  HEDDLE_HOST_DEVICE static constexpr std::uint64_t put(std::uint64_t value) { return (value << low) & mask; }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t get(std::uint64_t word) {
    return static_cast<std::uint32_t>((word & mask) >> low);
  }
};

// Reached while a constant is computed, this stops the compiler: a field does not fit its place.
HEDDLE_HOST_DEVICE void descriptor_field_does_not_fit() {}

// What a builder returns. Fields that do not fit are a compile error in a constant expression. At run time
// the simulated SM gets a word of all ones, which every decoder refuses; a GPU gets the bits that do fit,
// since a check there would cost instructions.
template <class Word>
HEDDLE_HOST_DEVICE constexpr Word checked_descriptor(std::uint64_t word, bool all_fields_fit) {
  if (!all_fields_fit) {
    if (__builtin_is_constant_evaluated()) {
      descriptor_field_does_not_fit();
    }
    if constexpr (HEDDLE_ON_CUDA == 0) {
      return static_cast<Word>(~std::uint64_t{0});
    }
  }
  return static_cast<Word>(word);
}

}  // namespace detail
}  // namespace heddle::inline HEDDLE_TARGET
