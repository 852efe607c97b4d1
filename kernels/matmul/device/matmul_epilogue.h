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

#include "matmul/api/activation.h"
#include "matmul/api/matmul_element.h"

#include <heddle/isa/math.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/tile/convert.h>

#include <type_traits>

namespace heddle::inline HEDDLE_TARGET {

// Calls body<Out>() with the type that C has.
template <class Body>
HEDDLE_DEVICE void with_output_type(MatmulElement type, const Body& body) {
  switch (type) {
    case MatmulElement::kBf16: return body.template operator()<bf16>();
    case MatmulElement::kFp16: return body.template operator()<fp16>();
    default: return body.template operator()<float>();
  }
}

// The pairs of neighbours of one thread in a panel of an accumulator: pair i is at row + i % 2 * 8 and
// col + i / 2 * 8. The last column of an odd number of them has no second.
struct OutputPanel {
  std::uint32_t row;
  std::uint32_t col;
  std::uint32_t m;
  std::uint32_t n;

  HEDDLE_DEVICE bool has(std::uint32_t i) const { return row + i % 2 * 8 < m && col + i / 2 * 8 < n; }
  HEDDLE_DEVICE bool has_second(std::uint32_t i) const { return col + i / 2 * 8 + 1 < n; }
  HEDDLE_DEVICE std::uint64_t offset(std::uint32_t i, std::uint64_t pitch) const {
    return (row + i % 2 * 8) * pitch + col + i / 2 * 8;
  }
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

  // Stores `pairs` pairs, whose sums begin at number `first`, element by element.
  template <class Out, std::uint32_t first, std::uint32_t pairs, class Sums>
  HEDDLE_DEVICE static void store_panel(const Params& params, const OutputPanel& at, const Sums& sums) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < pairs; ++i) {
      if (!at.has(i)) continue;
      Out* const to = static_cast<Out*>(params.ragged_out) + at.offset(i, params.c_pitch);
      isa::st_global(to, as_element<Out>(sums[first + 2 * i]));
      if (at.has_second(i)) isa::st_global(to + 1, as_element<Out>(sums[first + 2 * i + 1]));
    }
  }

  // Changes `pairs` pairs, whose sums begin at number `first`. A step at a time for all of them, so that the
  // instructions of steps which are left out are never fetched; one text for the three terms, since unrolled it
  // is most of the kernel.
  template <class Out, std::uint32_t first, std::uint32_t pairs, class Sums>
  HEDDLE_DEVICE static void apply_panel(const Params& params, const OutputPanel& at, Sums& sums) {
    if (params.alpha != 1.0f) {
      HEDDLE_UNROLL
      for (std::uint32_t i = first; i < first + 2 * pairs; ++i) sums[i] *= params.alpha;
    }
    HEDDLE_NO_UNROLL
    for (std::uint32_t term = 0; term < 3; ++term) {
      if (term == 2) activate_panel<first, pairs>(params.activation, sums);
      const void* const from = term == 0 ? params.c : term == 1 ? params.bias : params.residual;
      const std::uint64_t pitch = term == 0 ? params.c_pitch : term == 1 ? 0 : params.residual_pitch;
      if (from != nullptr) add_panel<Out, first, pairs>(from, pitch, term == 0 ? params.beta : 1.0f, at, sums);
    }
  }

 private:
  template <std::uint32_t first, std::uint32_t pairs, class Sums>
  HEDDLE_DEVICE static void activate_panel(Activation activation, Sums& sums) {
    if (activation == Activation::kNone) return;
    if (activation == Activation::kRelu) {
      HEDDLE_UNROLL
      for (std::uint32_t i = first; i < first + 2 * pairs; ++i) sums[i] = sums[i] > 0.0f ? sums[i] : 0.0f;
      return;
    }
    HEDDLE_UNROLL
    for (std::uint32_t i = first; i < first + 2 * pairs; ++i) sums[i] = activate(activation, sums[i]);
  }

  // What is outside of the output counts as 0.
  template <class Out, std::uint32_t first, std::uint32_t pairs, class Sums>
  HEDDLE_DEVICE static void add_panel(const void* from, std::uint64_t pitch, float factor, const OutputPanel& at,
                                      Sums& sums) {
    using One = std::conditional_t<sizeof(Out) == 2, std::uint16_t, std::uint32_t>;
    using Both = std::conditional_t<sizeof(Out) == 2, std::uint32_t, std::uint64_t>;
    const One* const origin = static_cast<const One*>(from);
    const bool is_paired = (pitch | at.n) % 2 == 0 && reinterpret_cast<std::uintptr_t>(from) % sizeof(Both) == 0;
    Both loaded[pairs];
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < pairs; ++i) {
      loaded[i] = 0;
      if (!at.has(i)) continue;
      const One* const value = origin + at.offset(i, pitch);
      if (is_paired) {
        loaded[i] = isa::ld_global(reinterpret_cast<const Both*>(value));
      } else {
        loaded[i] = isa::ld_global(value);
        if (at.has_second(i)) loaded[i] |= static_cast<Both>(isa::ld_global(value + 1)) << 8 * sizeof(One);
      }
    }
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < 2 * pairs; ++i) {
      sums[first + i] += factor * element_of<Out>(loaded[i / 2], i % 2);
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
