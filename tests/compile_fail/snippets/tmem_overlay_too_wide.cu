// SPDX-License-Identifier: Apache-2.0
// A region in the columns of a narrower one.
// expect-nvcc: does not fit into the columns that it is to share
// expect-clang: does not fit into the columns that it is to share
#include "snippet.h"

#include <heddle/tile/tmem_plan.h>

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  using S = TmemTensor<float, AccumulatorShape{.m = 128, .n = 64}>;
#ifdef MISUSE
  using Plan = TmemPlan<TmemRegion<"s", S>, TmemOverlay<"p", "s", PackedTmem<bf16, 128>, 16>>;
#else
  using Plan = TmemPlan<TmemRegion<"s", S>, TmemOverlay<"p", "s", PackedTmem<bf16, 128>>>;
#endif
  use(args, Plan::kAllocCols + pipeline.consumer_stage());
}
