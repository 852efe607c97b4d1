// SPDX-License-Identifier: Apache-2.0
// A loop that ends by a condition reads the stage, and nobody releases it.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ProducerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_producer();
  std::uint32_t i = 0;
  while (i < args.turns) {
    stage.expect_bytes(16);
    i += 2;
  }
#ifndef MISUSE
  std::move(stage).release();
#endif
}
