// SPDX-License-Identifier: Apache-2.0
// A lambda takes the handle over and drops it.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ProducerStage' on object 'mine' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto finish = [&](ProducerStage<4> taken) {
    auto mine = std::move(taken);
    fill(args, mine.mbar());
#ifndef MISUSE
    std::move(mine).release();
#endif
  };
  finish(pipeline.acquire_producer());
}
