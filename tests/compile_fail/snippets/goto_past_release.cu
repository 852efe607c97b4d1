// SPDX-License-Identifier: Apache-2.0
// A goto that jumps past the release.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
#ifdef MISUSE
  if (args.flag) goto done;
#endif
  std::move(stage).release();
#ifndef MISUSE
  if (args.flag) goto done;
#endif
  use(args, 7);
done:
  use(args, 8);
}
