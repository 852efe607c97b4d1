// SPDX-License-Identifier: Apache-2.0
// A function takes the handle over and does not release it.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void finish(const Args& args, ConsumerStage<4> taken) {
  auto stage = std::move(taken);
  use(args, stage.index());
#ifndef MISUSE
  std::move(stage).release();
#endif
}

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  finish(args, std::move(stage));
}
