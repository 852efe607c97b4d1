// SPDX-License-Identifier: Apache-2.0
// The release depends on a condition.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
#ifdef MISUSE
  if (args.flag) std::move(stage).release();
#else
  std::move(stage).release();
#endif
}
