// SPDX-License-Identifier: Apache-2.0
// A plan of tensor memory that takes more columns than there are.
// expect-nvcc: more tensor-memory columns than a CTA has
// expect-clang: more tensor-memory columns than a CTA has
#include "snippet.h"

#include <heddle/tile/tmem_plan.h>

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  using S = TmemTensor<float, AccumulatorShape{.m = 128, .n = 256}>;
#ifdef MISUSE
  using Plan = TmemPlan<TmemRegion<"s", S, 2>, TmemRegion<"p", PackedTmem<bf16, 16>>>;
#else
  using Plan = TmemPlan<TmemRegion<"s", S>, TmemRegion<"p", PackedTmem<bf16, 16>>>;
#endif
  use(args, Plan::kAllocCols + pipeline.consumer_stage());
}
