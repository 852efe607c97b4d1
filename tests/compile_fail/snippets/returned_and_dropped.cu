// SPDX-License-Identifier: Apache-2.0
// A function returns a handle, and its caller drops it.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE ConsumerStage<4> next_stage(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
  return stage;
}

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = next_stage(pipeline, args);
  use(args, stage.index());
#ifndef MISUSE
  std::move(stage).release();
#endif
}
