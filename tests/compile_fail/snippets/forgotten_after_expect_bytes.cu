// SPDX-License-Identifier: Apache-2.0
// Expecting bytes is taken for the signal.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ProducerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  for (std::uint32_t i = 0; i < args.turns; ++i) {
    auto stage = pipeline.acquire_producer();
    stage.expect_bytes(4096);
    fill(args, stage.mbar());
#ifndef MISUSE
    std::move(stage).release();
#endif
  }
}
