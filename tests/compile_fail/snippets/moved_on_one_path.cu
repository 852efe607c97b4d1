// SPDX-License-Identifier: Apache-2.0
// The handle is moved on one path, and dropped on the other.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  if (args.flag) {
    auto inner = std::move(stage);
    use(args, inner.index());
    std::move(inner).release();
#ifdef MISUSE
  }
#else
  } else {
    std::move(stage).release();
  }
#endif
}
