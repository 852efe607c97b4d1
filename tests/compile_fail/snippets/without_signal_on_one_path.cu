// SPDX-License-Identifier: Apache-2.0
// release_without_signal is a release, and due on every path.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'stage' while it is in the 'unknown' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  if (args.flag) {
    stage.arrive();
    std::move(stage).release_without_signal();
#ifdef MISUSE
  }
#else
  } else {
    std::move(stage).release_without_signal();
  }
#endif
}
