// SPDX-License-Identifier: Apache-2.0
// The producer forgets to release.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ProducerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_producer();
  fill(args, stage.mbar());
#ifndef MISUSE
  std::move(stage).release();
#endif
}
