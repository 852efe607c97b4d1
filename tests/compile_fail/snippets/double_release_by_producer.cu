// SPDX-License-Identifier: Apache-2.0
// Released once with and once without a signal.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'release_without_signal' on a temporary object while it is in the 'consumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_producer();
  fill(args, stage.mbar());
  std::move(stage).release();
#ifdef MISUSE
  std::move(stage).release_without_signal();
#endif
}
