// SPDX-License-Identifier: Apache-2.0
// A loop reads the stage, and a break in it skips the release.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  for (std::uint32_t i = 0; i < args.turns; ++i) {
    use(args, stage.index() + i);
#ifdef MISUSE
    if (args.flag) return;
#else
    if (args.flag) break;
#endif
  }
  std::move(stage).release();
}
