// SPDX-License-Identifier: Apache-2.0
//
// What a Blackwell matmul does to its sums before it stores them: policies of the kernel frame. A policy sees a
// thread's part of a row, `count` neighbouring columns from `col` on, and changes the numbers where they are. It
// has two turns: `scale`, and `apply` behind what C had before; a residual comes last. Where has_source, the
// epilogue-load warp brings these two.
#pragma once

#include "matmul_epilogue.h"

#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/tile/convert.h>

namespace heddle::inline HEDDLE_TARGET {

// As they are.
struct StoreSums {
  static constexpr bool has_source = false;
  struct Params {};

  template <std::uint32_t count>
  HEDDLE_DEVICE static void scale(const Params&, float (&)[count]) {}
  template <Element Out, std::uint32_t count>
  HEDDLE_DEVICE static void apply(const Params&, std::uint32_t, std::uint32_t, float (&)[count]) {}
};

// alpha * sum
struct ScaleSums {
  static constexpr bool has_source = false;
  struct Params {
    float alpha = 1;
  };

  template <std::uint32_t count>
  HEDDLE_DEVICE static void scale(const Params& params, float (&values)[count]) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < count; ++i) values[i] *= params.alpha;
  }
  template <Element Out, std::uint32_t count>
  HEDDLE_DEVICE static void apply(const Params&, std::uint32_t, std::uint32_t, float (&)[count]) {}
};

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
