// SPDX-License-Identifier: Apache-2.0
// A function that only borrows the handle releases it, and its owner does so too.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: parameter 'stage' not in expected state when the function returns: expected 'unconsumed',
// observed 'consumed'
#include "snippet.h"

HEDDLE_DEVICE void look(const Args& args, ConsumerStage<4>& stage HEDDLE_BORROWS) {
  use(args, stage.index());
#ifdef MISUSE
  std::move(stage).release();
#endif
}

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  look(args, stage);
  std::move(stage).release();
}
