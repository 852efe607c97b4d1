// SPDX-License-Identifier: Apache-2.0
// The index is asked for after the release.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'index' on object 'stage' while it is in the 'consumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
#ifdef MISUSE
  std::move(stage).release();
#endif
  use(args, stage.index());
#ifndef MISUSE
  std::move(stage).release();
#endif
}
