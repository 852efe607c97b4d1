// SPDX-License-Identifier: Apache-2.0
//
// The special-function unit: powers of two, logarithms and reciprocals, accurate to about one unit in the last
// place. The simulated SM rounds them correctly. To those with ftz in their name subnormal numbers are zeros:
// they are one instruction each, where the others take two more to scale small numbers up and down.
//
//   const float sigmoid = rcp_approx_f32(1.0f + ex2_approx_f32(-1.442695f * x));
//   const float weight = ex2_approx_ftz_f32(score - largest);
#pragma once

#include <heddle/isa/target.h>

#if !HEDDLE_ON_CUDA
#include <cmath>
#endif

namespace heddle::inline HEDDLE_TARGET::isa {

#if HEDDLE_ON_CUDA

// Two to the power of x.
HEDDLE_DEVICE float ex2_approx_f32(float x) {
  float value;
  asm("ex2.approx.f32 %0, %1;" : "=f"(value) : "f"(x));
  return value;
}

HEDDLE_DEVICE float rcp_approx_f32(float x) {
  float value;
  asm("rcp.approx.f32 %0, %1;" : "=f"(value) : "f"(x));
  return value;
}

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
inline float ex2_approx_f32(float x) { return static_cast<float>(std::exp2(static_cast<double>(x))); }
inline float rcp_approx_f32(float x) { return 1.0f / x; }
inline float ex2_approx_ftz_f32(float x) {
  return detail::without_subnormals(ex2_approx_f32(detail::without_subnormals(x)));
}
inline float lg2_approx_ftz_f32(float x) {
  return static_cast<float>(std::log2(static_cast<double>(detail::without_subnormals(x))));
}

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
