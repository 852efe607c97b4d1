// SPDX-License-Identifier: Apache-2.0
// Released in a branch, and again after it.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'release' on a temporary object while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
#ifdef MISUSE
  if (args.flag) std::move(stage).release();
#else
  if (args.flag) use(args, 7);
#endif
  std::move(stage).release();
}
