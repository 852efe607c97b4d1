// SPDX-License-Identifier: Apache-2.0
// Used after it was carried over to the next turn.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'index' on object 'next' while it is in the 'consumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto held = pipeline.acquire_consumer();
  for (std::uint32_t i = 1; i < args.turns; ++i) {
    auto next = pipeline.acquire_consumer();
    std::move(held).release();
#ifndef MISUSE
    use(args, next.index());
#endif
    held = std::move(next);
#ifdef MISUSE
    use(args, next.index());
#endif
  }
  std::move(held).release();
}
