// SPDX-License-Identifier: Apache-2.0
// The condition of the loop ends it before the release.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  std::uint32_t i = 0;
  auto stage = pipeline.acquire_consumer();
  while (true) {
    use(args, stage.index());
    if (++i >= args.turns) break;
    std::move(stage).release();
    stage = pipeline.acquire_consumer();
  }
#ifndef MISUSE
  std::move(stage).release();
#endif
}
