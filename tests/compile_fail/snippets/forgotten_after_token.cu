// SPDX-License-Identifier: Apache-2.0
// The try form waits less; the release is still due.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ProducerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto ready = pipeline.try_wait_consumer();
  use(args, 1);
  auto stage = pipeline.acquire_producer(ready);
  fill(args, stage.mbar());
#ifndef MISUSE
  std::move(stage).release();
#endif
}
