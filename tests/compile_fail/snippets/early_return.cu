// SPDX-License-Identifier: Apache-2.0
// A return before the release.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
#ifdef MISUSE
  if (args.flag) return;
#else
  if (args.flag) use(args, 7);
#endif
  use(args, stage.index());
  std::move(stage).release();
}
