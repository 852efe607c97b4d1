// SPDX-License-Identifier: Apache-2.0
// A stage of a pipeline of another length is another type.
// expect-nvcc: no suitable user-defined conversion
// expect-clang: no matching function for call to 'finish'
// expect-clang: no known conversion from
#include "snippet.h"

#ifdef MISUSE
HEDDLE_DEVICE void finish(const Args& args, ConsumerStage<3> stage) {
#else
HEDDLE_DEVICE void finish(const Args& args, ConsumerStage<4> stage) {
#endif
  use(args, stage.index());
  std::move(stage).release();
}

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) { finish(args, pipeline.acquire_consumer()); }
