// SPDX-License-Identifier: Apache-2.0
// A stage is carried from turn to turn, and a continue drops the next.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'next' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto held = pipeline.acquire_consumer();
  for (std::uint32_t i = 1; i < args.turns; ++i) {
    auto next = pipeline.acquire_consumer();
    use(args, next.index());
    if (i == args.choice) {
#ifndef MISUSE
      std::move(next).release();
#endif
      continue;
    }
    std::move(held).release();
    held = std::move(next);
  }
  std::move(held).release();
}
