// SPDX-License-Identifier: Apache-2.0
// A handle that still holds a stage is moved into.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method 'operator=' on object 'first' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto first = pipeline.acquire_consumer();
  auto second = pipeline.acquire_consumer();
  use(args, first.index() + second.index());
#ifndef MISUSE
  std::move(first).release();
#endif
  first = std::move(second);
  std::move(first).release();
}
