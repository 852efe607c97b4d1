// SPDX-License-Identifier: Apache-2.0
// Only one thread of the warp ends its handle.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
#ifdef MISUSE
  if (isa::elect_sync()) std::move(stage).release();
#else
  std::move(stage).release_elected();
#endif
}
