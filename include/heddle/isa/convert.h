// SPDX-License-Identifier: Apache-2.0
//
// cvt: two floats become a pair of 16-bit or 8-bit numbers in one register, rounded to nearest even. The first
// operand goes to the upper half, as the manual has it. The simulated SM computes the same bits.
//
//   stmatrix_x1(row, {cvt_rn_bf16x2_f32(d[1], d[0])});
#pragma once

#include <heddle/isa/target.h>
#include <heddle/tile/element.h>

namespace heddle::inline HEDDLE_TARGET::isa {

#if HEDDLE_ON_CUDA

HEDDLE_DEVICE std::uint32_t cvt_rn_bf16x2_f32(float upper, float lower) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(upper), "f"(lower));
  return pair;
}

HEDDLE_DEVICE std::uint32_t cvt_rn_f16x2_f32(float upper, float lower) {
  std::uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(upper), "f"(lower));
  return pair;
}

// Two numbers of 8 bits in the lower half of a register; what is too large becomes the largest.
HEDDLE_DEVICE std::uint32_t cvt_rn_satfinite_e4m3x2_f32(float upper, float lower) {
  std::uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(upper), "f"(lower));
  return pair;
}

HEDDLE_DEVICE std::uint32_t cvt_rn_satfinite_e5m2x2_f32(float upper, float lower) {
  std::uint16_t pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(upper), "f"(lower));
  return pair;
}

// One 16-bit number as a float; the upper half of `bits` is ignored.
HEDDLE_DEVICE float cvt_f32_f16(std::uint32_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<std::uint16_t>(bits)));
  return value;
}

#else

inline std::uint32_t cvt_rn_bf16x2_f32(float upper, float lower) {
  return std::uint32_t{bf16::from_float(upper).bits} << 16 | bf16::from_float(lower).bits;
}

inline std::uint32_t cvt_rn_f16x2_f32(float upper, float lower) {
  return std::uint32_t{fp16::from_float(upper).bits} << 16 | fp16::from_float(lower).bits;
}

inline std::uint32_t cvt_rn_satfinite_e4m3x2_f32(float upper, float lower) {
  return std::uint32_t{e4m3::from_float(upper).bits} << 8 | e4m3::from_float(lower).bits;
}

inline std::uint32_t cvt_rn_satfinite_e5m2x2_f32(float upper, float lower) {
  return std::uint32_t{e5m2::from_float(upper).bits} << 8 | e5m2::from_float(lower).bits;
}

inline float cvt_f32_f16(std::uint32_t bits) { return fp16{static_cast<std::uint16_t>(bits)}.to_float(); }

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
