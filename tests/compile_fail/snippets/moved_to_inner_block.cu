// SPDX-License-Identifier: Apache-2.0
// The handle is moved to a variable of an inner block, which ends.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'inner' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  {
    auto inner = std::move(stage);
    use(args, inner.index());
#ifndef MISUSE
    std::move(inner).release();
#endif
  }
  use(args, 5);
}
