// SPDX-License-Identifier: Apache-2.0
// A region that the plan does not have.
// expect-nvcc: the plan of tensor memory has no region of this name
// expect-clang: the plan of tensor memory has no region of this name
#include "snippet.h"

#include <heddle/tile/tmem_plan.h>

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  using S = TmemTensor<float, AccumulatorShape{.m = 128, .n = 64}>;
  using Plan = TmemPlan<TmemRegion<"s", S>>;
#ifdef MISUSE
  const std::uint32_t first = Plan::first_col<"p">();
#else
  const std::uint32_t first = Plan::first_col<"s">();
#endif
  use(args, first + pipeline.consumer_stage());
}
