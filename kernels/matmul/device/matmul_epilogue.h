// SPDX-License-Identifier: Apache-2.0
//
// The epilogue of the host's interface, whose terms are known when it runs:
//
//   out = activation(alpha * sum + beta * c + bias) + residual
//
// in float, element by element; c, bias and residual have the type of the output, and a null pointer leaves the
// term out. c may be the output itself. Epilogues that are composed of types are in heddle/tile/epilogue.h.
//
// The copy engine clips what it stores at multiples of 16 bytes. Where rows of the output end elsewhere,
// FusedEpilogue stores the tiles at that edge element by element, so that nothing behind a row is touched; others
// do not.
#pragma once

#include "matmul/api/activation.h"
#include "matmul/api/matmul_element.h"

#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/epilogue.h>

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

// The same, or with the type that the epilogue says.
template <class Epilogue, class Body>
HEDDLE_DEVICE void with_output_of(MatmulElement type, const Body& body) {
  if constexpr (requires { typename Epilogue::Output; }) {
    body.template operator()<typename Epilogue::Output>();
  } else {
    with_output_type(type, body);
  }
}

// The activations of every kernel: the same bits, whichever of them stores the output.
HEDDLE_DEVICE float activate(Activation activation, float x) {
  if (activation == Activation::kRelu) return Relu::of(x);
  const bool is_gelu = activation == Activation::kGelu;
  return times_sigmoid(x, is_gelu ? kGeluLinear : 1.0f, is_gelu ? kGeluCubic : 0.0f);
}

// Of all numbers of a fragment, in one text for every activation but relu.
template <class Out, class Fragment>
HEDDLE_DEVICE void activate_all(Activation activation, Fragment& f) {
  if (activation == Activation::kNone) return;
  if (activation == Activation::kRelu) return Relu::apply<Out>({}, f);
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < f.count; ++i) f[i] = activate(activation, f[i]);
}

struct FusedEpilogue {
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

  // Whether it reads what the tile then overwrites.
  HEDDLE_DEVICE static bool reads_output(const Params& params) { return params.c != nullptr; }

  // Stores a fragment element by element.
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void store(const Params& params, const Fragment& f) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < f.count; i += 2) {
      if (!f.has(i)) continue;
      Out* const to = static_cast<Out*>(params.ragged_out) + f.offset(i, params.c_pitch);
      isa::st_global(to, as_element<Out>(f[i]));
      if (f.has_next(i)) isa::st_global(to + 1, as_element<Out>(f[i + 1]));
    }
  }

  // A step at a time for all numbers, so that the instructions of steps which are left out are never fetched; one
  // text for the three terms, since unrolled it is most of the kernel.
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
    if (params.alpha != 1.0f) Scale::apply<Out>({params.alpha}, f);
    HEDDLE_NO_UNROLL
    for (std::uint32_t term = 0; term < 3; ++term) {
      if (term == 2) activate_all<Out>(params.activation, f);
      const void* const from = term == 0 ? params.c : term == 1 ? params.bias : params.residual;
      const std::uint64_t pitch = term == 0 ? params.c_pitch : term == 1 ? 0 : params.residual_pitch;
      if (from != nullptr) add_matrix<Out>(from, pitch, term == 0 ? params.beta : 1.0f, f);
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
