// SPDX-License-Identifier: Apache-2.0
// Used in the turn after the one that released it.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: state of variable 'stage' must match at the entry and exit of loop
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  for (std::uint32_t i = 0; i < args.turns; ++i) {
    use(args, stage.index());
    std::move(stage).release();
#ifndef MISUSE
    stage = pipeline.acquire_consumer();
#endif
  }
#ifndef MISUSE
  std::move(stage).release();
#endif
}
