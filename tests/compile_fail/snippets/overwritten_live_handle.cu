// SPDX-License-Identifier: Apache-2.0
// A handle that still holds a stage is assigned another.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method 'operator=' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
#ifndef MISUSE
  std::move(stage).release();
#endif
  stage = pipeline.acquire_consumer();
  use(args, stage.index());
  std::move(stage).release();
}
