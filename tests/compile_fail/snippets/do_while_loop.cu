// SPDX-License-Identifier: Apache-2.0
// The last turn of a do loop keeps its stage.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  std::uint32_t i = 0;
  do {
    auto stage = pipeline.acquire_consumer();
    use(args, stage.index());
#ifdef MISUSE
    if (i + 1 == args.turns) continue;
#endif
    std::move(stage).release();
  } while (++i < args.turns);
}
