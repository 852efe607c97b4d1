// SPDX-License-Identifier: Apache-2.0
// Two stages per turn; one of them is dropped when there is an odd one left.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'second' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  for (std::uint32_t i = 0; i < args.turns; i += 2) {
    auto first = pipeline.acquire_consumer();
    auto second = pipeline.acquire_consumer();
    use(args, first.index() + second.index());
    std::move(first).release();
    if (i + 1 == args.turns) {
#ifndef MISUSE
      std::move(second).release();
#endif
      continue;
    }
    std::move(second).release();
  }
}
