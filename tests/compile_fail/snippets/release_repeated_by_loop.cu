// SPDX-License-Identifier: Apache-2.0
// Acquired once before the loop, released in every turn.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: state of variable 'stage' must match at the entry and exit of loop
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  auto stage = pipeline.acquire_consumer();
#endif
  for (std::uint32_t i = 0; i < args.turns; ++i) {
#ifndef MISUSE
    auto stage = pipeline.acquire_consumer();
#endif
    use(args, i);
    std::move(stage).release();
  }
}
