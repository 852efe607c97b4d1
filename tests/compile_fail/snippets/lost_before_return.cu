// SPDX-License-Identifier: Apache-2.0
// A function acquires two stages and returns one.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'skipped' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE ConsumerStage<4> second_stage(Pipeline& pipeline, const Args& args) {
  auto skipped = pipeline.acquire_consumer();
  auto stage = pipeline.acquire_consumer();
  use(args, skipped.index());
#ifndef MISUSE
  std::move(skipped).release();
#endif
  return stage;
}

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = second_stage(pipeline, args);
  use(args, stage.index());
  std::move(stage).release();
}
