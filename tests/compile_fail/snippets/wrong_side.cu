// SPDX-License-Identifier: Apache-2.0
// A producer stage is not a consumer stage.
// expect-nvcc: no suitable user-defined conversion
// expect-clang: no matching function for call to 'finish'
// expect-clang: no known conversion from
#include "snippet.h"

HEDDLE_DEVICE void finish(const Args& args, ConsumerStage<4> stage) {
  use(args, stage.index());
  std::move(stage).release();
}

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  finish(args, pipeline.acquire_producer());
#else
  finish(args, pipeline.acquire_consumer());
#endif
}
