// SPDX-License-Identifier: Apache-2.0
//
// The special-function unit: powers of two and reciprocals, accurate to about one unit in the last place. The
// simulated SM rounds them correctly.
//
//   const float sigmoid = rcp_approx_f32(1.0f + ex2_approx_f32(-1.442695f * x));
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

#else

// Model: the GPU's results differ from these by up to one or two units in the last place.
inline float ex2_approx_f32(float x) { return static_cast<float>(std::exp2(static_cast<double>(x))); }
inline float rcp_approx_f32(float x) { return 1.0f / x; }

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
