// SPDX-License-Identifier: Apache-2.0
//
// The special-function unit without subnormal numbers, which count as zeros here. One instruction each, where
// those of isa/math.h take two more to scale small numbers up and down.
//
//   const float weight = ex2_approx_ftz_f32(score - largest);
#pragma once

#include <heddle/isa/target.h>

#if !HEDDLE_ON_CUDA
#include <cmath>
#endif

namespace heddle::inline HEDDLE_TARGET::isa {

#if HEDDLE_ON_CUDA

// Two to the power of x.
HEDDLE_DEVICE float ex2_approx_ftz_f32(float x) {
  float value;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(x));
  return value;
}

// The logarithm to base two.
HEDDLE_DEVICE float lg2_approx_ftz_f32(float x) {
  float value;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(x));
  return value;
}

#else

namespace detail {

inline float without_subnormals(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

}  // namespace detail

// Model: the GPU's results differ from these by up to one or two units in the last place.
inline float ex2_approx_ftz_f32(float x) {
  return detail::without_subnormals(
      static_cast<float>(std::exp2(static_cast<double>(detail::without_subnormals(x)))));
}
inline float lg2_approx_ftz_f32(float x) {
  return static_cast<float>(std::log2(static_cast<double>(detail::without_subnormals(x))));
}

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
