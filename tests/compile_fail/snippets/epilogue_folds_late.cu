// SPDX-License-Identifier: Apache-2.0
// Two accumulators are joined after one of them was scaled.
// expect-nvcc: columns are folded before anything else
// expect-clang: columns are folded before anything else
#include "snippet.h"

#include <heddle/tile/epilogue.h>

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  using Epilogue = EpilogueChain<Scale, SwiGlu>;
#else
  using Epilogue = EpilogueChain<SwiGlu, Scale>;
#endif
  use(args, Epilogue::folds + pipeline.consumer_stage());
}
