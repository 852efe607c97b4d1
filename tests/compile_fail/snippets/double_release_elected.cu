// SPDX-License-Identifier: Apache-2.0
// Released twice by the elected thread.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'release_elected' on a temporary object while it is in the 'consumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
  std::move(stage).release_elected();
#ifdef MISUSE
  std::move(stage).release_elected();
#endif
}
