// SPDX-License-Identifier: Apache-2.0
// Released twice in a row.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'release' on a temporary object while it is in the 'consumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
  std::move(stage).release();
#ifdef MISUSE
  std::move(stage).release();
#endif
}
