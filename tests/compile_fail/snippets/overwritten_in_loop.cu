// SPDX-License-Identifier: Apache-2.0
// A stage is carried to the next turn, and the one before it is overwritten.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method 'operator=' on object 'held' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto held = pipeline.acquire_consumer();
  for (std::uint32_t i = 1; i < args.turns; ++i) {
    auto next = pipeline.acquire_consumer();
    use(args, held.index() + next.index());
#ifndef MISUSE
    std::move(held).release();
#endif
    held = std::move(next);
  }
  std::move(held).release();
}
