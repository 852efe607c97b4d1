// SPDX-License-Identifier: Apache-2.0
// One case of a switch does not release.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  switch (args.choice) {
    case 0:
      use(args, stage.index());
      std::move(stage).release();
      break;
    case 1: use(args, 1);
#ifndef MISUSE
      std::move(stage).release();
#endif
      break;
    default: std::move(stage).release_without_signal(); break;
  }
}
