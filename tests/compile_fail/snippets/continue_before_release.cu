// SPDX-License-Identifier: Apache-2.0
// A continue before the release.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  for (std::uint32_t i = 0; i < args.turns; ++i) {
    auto stage = pipeline.acquire_consumer();
    if (i == args.choice) {
#ifndef MISUSE
      std::move(stage).release();
#endif
      continue;
    }
    use(args, stage.index());
    std::move(stage).release();
  }
}
