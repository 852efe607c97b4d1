// SPDX-License-Identifier: Apache-2.0
//
// What a matmul does to its sums before it stores them. PlainEpilogue stores them as they are.
// FusedEpilogue computes
//
//   out = activation(alpha * sum + beta * c + bias) + residual
//
// in float, element by element; c, bias and residual have the type of the output, and a null pointer leaves the
// term out. c may be the output itself.
//
// The copy engine clips what it stores at multiples of 16 bytes. Where rows of the output end elsewhere,
// FusedEpilogue stores the tiles at that edge element by element, so that nothing behind a row is touched;
// PlainEpilogue does not.
#pragma once

#include <heddle/isa/convert.h>
#include <heddle/isa/math.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/tile/element.h>

#include <type_traits>

namespace heddle {

// Gelu is its usual approximation, by a hyperbolic tangent.
enum class Activation : std::uint8_t { kNone, kRelu, kGelu, kSilu };

}  // namespace heddle

namespace heddle::inline HEDDLE_TARGET {

// Where a pair of neighbours in a row of the output is. `has_second` is false in the last column of an odd
// number of columns.
struct OutputPair {
  std::uint32_t row;
  std::uint32_t col;
  bool is_inside;
  bool has_second;
};

// The pairs of one thread in a panel of an accumulator: pair i is at row + i % 2 * 8 and col + i / 2 * 8.
struct OutputPanel {
  std::uint32_t row;
  std::uint32_t col;
  std::uint32_t m;
  std::uint32_t n;
};

// The activations of every kernel: the same bits, whichever of them stores the output. Gelu and silu are x times
// a sigmoid: of x, or of an odd polynomial of x.
HEDDLE_DEVICE float activate(Activation activation, float x) {
  if (activation == Activation::kRelu) return x > 0.0f ? x : 0.0f;
  constexpr float log2_e = 1.4426950408889634f;
  const bool is_gelu = activation == Activation::kGelu;
  const float linear = is_gelu ? 1.5957691216057308f : 1.0f;
  const float cubic = is_gelu ? 0.0713548162726009f : 0.0f;
  return x * isa::rcp_approx_f32(1.0f + isa::ex2_approx_f32(-log2_e * x * (linear + cubic * x * x)));
}

struct PlainEpilogue {
  static constexpr bool kIsPlain = true;
  struct Params {};
};

struct FusedEpilogue {
  static constexpr bool kIsPlain = false;
  struct Params {
    float alpha = 1;
    float beta = 0;
    const void* c = nullptr;     // read where beta is not 0
    const void* bias = nullptr;  // one for each column
    const void* residual = nullptr;
    std::uint64_t c_pitch = 0;  // elements from one row to the next
    std::uint64_t residual_pitch = 0;
    Activation activation = Activation::kNone;
    void* ragged_out = nullptr;  // the output, where its rows end inside of 16 bytes; its pitch is c_pitch
  };

  // Whether columns up to `end` must be stored element by element.
  HEDDLE_DEVICE static bool is_ragged(const Params& params, std::uint32_t end, std::uint32_t n) {
    return params.ragged_out != nullptr && end > n;
  }

  template <class Out>
  HEDDLE_DEVICE static void store(const Params& params, const OutputPair& pair, Out first, Out second) {
    if (!pair.is_inside) return;
    Out* at = static_cast<Out*>(params.ragged_out) + pair.row * params.c_pitch + pair.col;
    isa::st_global(at, first);
    if (pair.has_second) isa::st_global(at + 1, second);
  }

  template <class Out>
  HEDDLE_DEVICE static void apply(const Params& params, const OutputPair& pair, float (&value)[2]) {
    value[0] *= params.alpha;
    value[1] *= params.alpha;
    if (!pair.is_inside) return;
    if (params.c != nullptr) add<Out>(params.c, pair.row * params.c_pitch, pair, params.beta, value);
    if (params.bias != nullptr) add<Out>(params.bias, 0, pair, 1, value);
    if (params.activation != Activation::kNone) {
      value[0] = activate(params.activation, value[0]);
      value[1] = activate(params.activation, value[1]);
    }
    if (params.residual != nullptr) add<Out>(params.residual, pair.row * params.residual_pitch, pair, 1, value);
  }

  // The same for `pairs` pairs, whose sums begin at number `first`. A step at a time for all of them, so that the
  // instructions of steps which are left out are never fetched.
  template <class Out, std::uint32_t first, std::uint32_t pairs, class Sums>
  HEDDLE_DEVICE static void apply_panel(const Params& params, const OutputPanel& at, Sums& sums) {
    if (params.alpha != 1.0f) {
      HEDDLE_UNROLL
      for (std::uint32_t i = first; i < first + 2 * pairs; ++i) sums[i] *= params.alpha;
    }
    if (params.c != nullptr) add_panel<Out, first, pairs>(params.c, params.c_pitch, params.beta, at, sums);
    if (params.bias != nullptr) add_panel<Out, first, pairs>(params.bias, 0, 1.0f, at, sums);
    if (params.activation == Activation::kRelu) {
      HEDDLE_UNROLL
      for (std::uint32_t i = first; i < first + 2 * pairs; ++i) sums[i] = sums[i] > 0.0f ? sums[i] : 0.0f;
    } else if (params.activation != Activation::kNone) {
      HEDDLE_UNROLL
      for (std::uint32_t i = first; i < first + 2 * pairs; ++i) sums[i] = activate(params.activation, sums[i]);
    }
    if (params.residual != nullptr) {
      add_panel<Out, first, pairs>(params.residual, params.residual_pitch, 1.0f, at, sums);
    }
  }

 private:
  template <class Out>
  HEDDLE_DEVICE static void add(const void* from, std::uint64_t row_start, const OutputPair& pair, float factor,
                                float (&value)[2]) {
    const Out* at = static_cast<const Out*>(from) + row_start + pair.col;
    value[0] += factor * as_float(isa::ld_global(at));
    if (pair.has_second) value[1] += factor * as_float(isa::ld_global(at + 1));
  }

  template <class Out, std::uint32_t first, std::uint32_t pairs, class Sums>
  HEDDLE_DEVICE static void add_panel(const void* from, std::uint64_t pitch, float factor, const OutputPanel& at,
                                      Sums& sums) {
    using Both = std::conditional_t<sizeof(Out) == 2, std::uint32_t, std::uint64_t>;
    const Out* const origin = static_cast<const Out*>(from) + at.row * pitch + at.col;
    const bool is_paired = (pitch | at.n) % 2 == 0 && reinterpret_cast<std::uintptr_t>(from) % sizeof(Both) == 0;
    if (is_paired) {
      Both loaded[pairs];
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < pairs; ++i) {
        loaded[i] = 0;
        if (at.row + i % 2 * 8 < at.m && at.col + i / 2 * 8 < at.n) {
          loaded[i] = isa::ld_global(reinterpret_cast<const Both*>(origin + i % 2 * 8 * pitch + i / 2 * 8));
        }
      }
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < pairs; ++i) {
        constexpr std::uint32_t bits = 8 * sizeof(Out);
        sums[first + 2 * i] += factor * as_float(from_bits<Out>(loaded[i]));
        sums[first + 2 * i + 1] += factor * as_float(from_bits<Out>(loaded[i] >> bits));
      }
      return;
    }
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < pairs; ++i) {
      const std::uint32_t col = at.col + i / 2 * 8;
      if (at.row + i % 2 * 8 >= at.m || col >= at.n) continue;
      const Out* const value = origin + i % 2 * 8 * pitch + i / 2 * 8;
      sums[first + 2 * i] += factor * as_float(isa::ld_global(value));
      if (col + 1 < at.n) sums[first + 2 * i + 1] += factor * as_float(isa::ld_global(value + 1));
    }
  }

  template <class Out>
  HEDDLE_DEVICE static Out from_bits(std::uint64_t bits) {
    if constexpr (sizeof(Out) == 2) {
      return Out{static_cast<std::uint16_t>(bits)};
    } else {
      return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits));
    }
  }

  HEDDLE_DEVICE static float as_float(float value) { return value; }
  HEDDLE_DEVICE static float as_float(bf16 value) {
    return __builtin_bit_cast(float, std::uint32_t{value.bits} << 16);
  }
  HEDDLE_DEVICE static float as_float(fp16 value) { return isa::cvt_f32_f16(value.bits); }
};

}  // namespace heddle::inline HEDDLE_TARGET
