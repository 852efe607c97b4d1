// SPDX-License-Identifier: Apache-2.0
// Of two stages, one is released twice.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method 'release' on a temporary object while it is in the 'consumed' state
// expect-clang: method '~ConsumerStage' on object 'second' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto first = pipeline.acquire_consumer();
  auto second = pipeline.acquire_consumer();
  use(args, first.index() + second.index());
  std::move(first).release();
#ifdef MISUSE
  std::move(first).release();
#else
  std::move(second).release();
#endif
}
