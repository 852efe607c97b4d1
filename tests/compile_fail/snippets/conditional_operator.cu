// SPDX-License-Identifier: Apache-2.0
// One arm of a conditional operator releases.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
#ifdef MISUSE
  args.flag ? std::move(stage).release() : use(args, 3);
#else
  args.flag ? std::move(stage).release() : std::move(stage).release_without_signal();
#endif
}
