// SPDX-License-Identifier: Apache-2.0
//
// The epilogue of the host's interface on Blackwell, with what C had before and a residual brought by the
// epilogue-load warp. It has two turns: `scale`, and `apply` behind what C had; a residual comes last. Other
// epilogues have one turn: heddle/tile/epilogue.h.
#pragma once

#include "matmul_epilogue.h"

#include <heddle/isa/target.h>
#include <heddle/tile/epilogue.h>

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

  template <class Out, class Fragment>
  HEDDLE_DEVICE static void scale(const Params& params, Fragment& f) {
    Scale::apply<Out>({params.alpha}, f);
  }

  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
    if (params.bias != nullptr) add_matrix<Out>(params.bias, 0, 1.0f, f);
    activate_all<Out>(params.activation, f);
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
