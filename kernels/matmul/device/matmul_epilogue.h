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
// the panels at that edge are stored number by number after FusedEpilogue, so that nothing behind a row is
// touched; after others not.
#pragma once

#include "matmul/api/activation.h"
#include "matmul/api/matmul_element.h"

#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/epilogue.h>

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

// The same, or with the type that the epilogue says.
template <class Epilogue, class Body>
HEDDLE_DEVICE void with_output_of(MatmulElement type, const Body& body) {
  if constexpr (requires { typename Epilogue::Output; }) {
    body.template operator()<typename Epilogue::Output>();
  } else {
    with_output_type(type, body);
  }
}

// The activations of every kernel: the same bits, whichever of them stores the output. Of all numbers of a
// fragment, in one text for every activation but relu.
template <class Out, class Fragment>
HEDDLE_DEVICE void activate_all(Activation activation, Fragment& f) {
  if (activation == Activation::kNone) return;
  if (activation == Activation::kRelu) return Relu::apply<Out>({}, f);
  const bool is_gelu = activation == Activation::kGelu;
  const float linear = is_gelu ? kGeluLinear : 1.0f;
  const float cubic = is_gelu ? kGeluCubic : 0.0f;
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < f.count; ++i) f[i] = times_sigmoid(f[i], linear, cubic);
}

template <class Out>
inline constexpr MatmulElement kOutputName = std::is_same_v<Out, float>  ? MatmulElement::kFp32
                                             : std::is_same_v<Out, fp16> ? MatmulElement::kFp16
                                                                         : MatmulElement::kBf16;

struct FusedEpilogue {
  // Its arithmetic is most of a kernel, and the same for every type that is stored but for what it loads.
  static constexpr bool is_applied_before = true;
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

  // The output, where its rows end inside of 16 bytes.
  HEDDLE_DEVICE static void* ragged_out(const Params& params) { return params.ragged_out; }
  HEDDLE_DEVICE static std::uint64_t out_pitch(const Params& params) { return params.c_pitch; }

  // Whether it reads what the tile then overwrites.
  HEDDLE_DEVICE static bool reads_output(const Params& params) { return params.c != nullptr; }

  // A step at a time for all numbers, so that the instructions of steps which are left out are never fetched; one
  // text for the three terms, since unrolled it is most of the kernel.
  template <class Fragment>
  HEDDLE_DEVICE static void apply_as(MatmulElement type, const Params& params, Fragment& f) {
    if (params.alpha != 1.0f) Scale::apply<float>({params.alpha}, f);
    HEDDLE_NO_UNROLL
    for (std::uint32_t term = 0; term < 3; ++term) {
      if (term == 2) activate_all<float>(params.activation, f);
      const void* const from = term == 0 ? params.c : term == 1 ? params.bias : params.residual;
      const std::uint64_t pitch = term == 0 ? params.c_pitch : term == 1 ? 0 : params.residual_pitch;
      if (from == nullptr) continue;
      const float factor = term == 0 ? params.beta : 1.0f;
      if (type == MatmulElement::kFp32) {
        add_matrix<float>(from, pitch, factor, f);
        continue;
      }
      const PairsOfMatrix<std::uint16_t, Fragment> pairs(from, pitch, f);
      if (type == MatmulElement::kFp16) {
        pairs.template add<fp16>(factor, f);
      } else {
        pairs.template add<bf16>(factor, f);
      }
    }
  }
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
    apply_as(kOutputName<Out>, params, f);
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
