// SPDX-License-Identifier: Apache-2.0
//
// Numbers in registers between float and the types that kernels store, by the hardware's own conversions.
// Rounding is to the nearest, ties to even.
//
//   const std::uint32_t both = pack_pair<bf16>(values[0], values[1]);   // the first in the lower half
//   sum += as_float(isa::ld_global(bias + col));
#pragma once

#include <heddle/isa/convert.h>
#include <heddle/isa/target.h>
#include <heddle/tile/element.h>

#include <type_traits>

namespace heddle::inline HEDDLE_TARGET {

// The types that sums are stored as.
template <class T>
concept OutputElement = std::is_same_v<T, bf16> || std::is_same_v<T, fp16> || std::is_same_v<T, float> ||
    std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;

// Two neighbours of 16 bits, or of 8 in the lower half.
template <OutputElement T>
HEDDLE_DEVICE std::uint32_t pack_pair(float first, float second) requires(sizeof(T) <= 2) {
  if constexpr (std::is_same_v<T, bf16>) return isa::cvt_rn_bf16x2_f32(second, first);
  if constexpr (std::is_same_v<T, e4m3>) return isa::cvt_rn_satfinite_e4m3x2_f32(second, first);
  if constexpr (std::is_same_v<T, e5m2>) return isa::cvt_rn_satfinite_e5m2x2_f32(second, first);
  return isa::cvt_rn_f16x2_f32(second, first);
}

template <OutputElement T>
HEDDLE_DEVICE T as_element(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return T{static_cast<decltype(T::bits)>(pack_pair<T>(value, 0.0f))};
  }
}

template <OutputElement T>
HEDDLE_DEVICE float as_float(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else if constexpr (std::is_same_v<T, bf16>) {
    return __builtin_bit_cast(float, std::uint32_t{value.bits} << 16);
  } else if constexpr (sizeof(T) == 1) {
    return value.to_float();
  } else {
    return isa::cvt_f32_f16(value.bits);
  }
}

// Element i of those that a word, or two of them as one, holds: the first in the lowest bits.
template <OutputElement T, class Word>
HEDDLE_DEVICE float element_of(Word word, std::uint32_t i) {
  if constexpr (std::is_same_v<T, float>) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(word >> 32 * i));
  } else {
    return as_float(T{static_cast<decltype(T::bits)>(word >> 8 * sizeof(T) * i)});
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
