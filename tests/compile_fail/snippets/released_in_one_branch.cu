// SPDX-License-Identifier: Apache-2.0
// One branch of two releases.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  if (args.flag) {
    use(args, stage.index());
    std::move(stage).release();
  } else {
    use(args, 2);
#ifndef MISUSE
    std::move(stage).release();
#endif
  }
}
