// SPDX-License-Identifier: Apache-2.0
// Three stages are held at once and two are released.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'second' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto first = pipeline.acquire_consumer();
  auto second = pipeline.acquire_consumer();
  auto third = pipeline.acquire_consumer();
  use(args, first.index() + second.index() + third.index());
  std::move(third).release();
#ifndef MISUSE
  std::move(second).release();
#endif
  std::move(first).release();
}
