// SPDX-License-Identifier: Apache-2.0
// The inner stage is dropped by a break.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ProducerStage' on object 'inner' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  for (std::uint32_t i = 0; i < args.turns; ++i) {
    auto outer = pipeline.acquire_consumer();
    for (std::uint32_t j = 0; j < args.choice; ++j) {
      auto inner = pipeline.acquire_producer();
#ifdef MISUSE
      if (args.flag) break;
#else
      if (args.flag) use(args, 9);
#endif
      use(args, inner.index() + outer.index());
      std::move(inner).release();
    }
    std::move(outer).release();
  }
}
