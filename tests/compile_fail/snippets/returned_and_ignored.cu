// SPDX-License-Identifier: Apache-2.0
// A function returns a handle, and its caller ignores the result.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on a temporary object while it is in the 'unconsumed' state
// expect-clang: nodiscard
#include "snippet.h"

HEDDLE_DEVICE ConsumerStage<4> next_stage(Pipeline& pipeline) { return pipeline.acquire_consumer(); }

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  next_stage(pipeline);
#else
  next_stage(pipeline).release();
#endif
  use(args, 1);
}
