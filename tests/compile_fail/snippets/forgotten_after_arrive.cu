// SPDX-License-Identifier: Apache-2.0
// An arrive by hand does not end the handle.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
  stage.arrive();
#ifndef MISUSE
  std::move(stage).release_without_signal();
#endif
}
