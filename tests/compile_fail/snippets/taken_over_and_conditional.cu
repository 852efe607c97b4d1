// SPDX-License-Identifier: Apache-2.0
// A function takes the handle over and releases it on one path.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void finish(const Args& args, ConsumerStage<4> taken) {
  auto stage = std::move(taken);
  use(args, stage.index());
#ifdef MISUSE
  if (args.flag) std::move(stage).release();
#else
  std::move(stage).release();
#endif
}

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) { finish(args, pipeline.acquire_consumer()); }
