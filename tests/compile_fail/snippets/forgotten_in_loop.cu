// SPDX-License-Identifier: Apache-2.0
// One stage is dropped in every turn of a loop.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  for (std::uint32_t i = 0; i < args.turns; ++i) {
    auto stage = pipeline.acquire_consumer();
    use(args, stage.index());
#ifndef MISUSE
    std::move(stage).release_elected();
#endif
  }
}
