// SPDX-License-Identifier: Apache-2.0
// A copy is pointed at the barrier after the release.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'mbar' on object 'stage' while it is in the 'consumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_producer();
#ifdef MISUSE
  std::move(stage).release();
#endif
  fill(args, stage.mbar());
#ifndef MISUSE
  std::move(stage).release();
#endif
}
