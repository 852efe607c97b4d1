// SPDX-License-Identifier: Apache-2.0
// An arrive by hand after the release, which has arrived already.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'arrive' on object 'stage' while it is in the 'consumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
  std::move(stage).release();
#ifdef MISUSE
  stage.arrive();
#endif
}
