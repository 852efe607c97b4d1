// SPDX-License-Identifier: Apache-2.0
//
// The epilogue of the host's interface on Blackwell, with what C had before and a residual brought by the
// epilogue-load warp. It has two turns: `scale`, and `apply` behind what C had; a residual comes last. Other
// epilogues have one turn: heddle/tile/epilogue.h.
#pragma once

#include "matmul_epilogue.h"

#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/tile/convert.h>

namespace heddle::inline HEDDLE_TARGET {

// activation(alpha * sum + beta * c + bias) + residual
struct FuseSums {
  static constexpr bool has_source = true;
  struct Params {
    float alpha = 1;
    float beta = 0;
    const void* bias = nullptr;  // one for each column, of the output's type; null: none
    Activation activation = Activation::kNone;
  };

  template <std::uint32_t count>
  HEDDLE_DEVICE static void scale(const Params& params, float (&values)[count]) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < count; ++i) values[i] *= params.alpha;
  }

  template <Element Out, std::uint32_t count>
  HEDDLE_DEVICE static void apply(const Params& params, std::uint32_t col, std::uint32_t n,
                                  float (&values)[count]) {
    if (params.bias != nullptr) {
      const Out* const bias = static_cast<const Out*>(params.bias) + col;
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < count; ++i) {
        if (col + i < n) values[i] += as_float(isa::ld_global(bias + i));
      }
    }
    switch (params.activation) {
      case Activation::kRelu: return activate_each<Activation::kRelu>(values);
      case Activation::kGelu: return activate_each<Activation::kGelu>(values);
      case Activation::kSilu: return activate_each<Activation::kSilu>(values);
      default: return;
    }
  }

 private:
  template <Activation activation, std::uint32_t count>
  HEDDLE_DEVICE static void activate_each(float (&values)[count]) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < count; ++i) values[i] = activate(activation, values[i]);
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
