// SPDX-License-Identifier: Apache-2.0
// Every case releases, and there are values without a case.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  switch (args.choice) {
    case 0: std::move(stage).release(); break;
    case 1: std::move(stage).release_without_signal(); break;
#ifndef MISUSE
    default: std::move(stage).release(); break;
#endif
  }
}
