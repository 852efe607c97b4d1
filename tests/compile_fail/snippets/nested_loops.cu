// SPDX-License-Identifier: Apache-2.0
// The inner loop is left early, and the outer stage is dropped with it.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'outer' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  for (std::uint32_t i = 0; i < args.turns; ++i) {
    auto outer = pipeline.acquire_consumer();
    for (std::uint32_t j = 0; j < args.choice; ++j) {
      auto inner = pipeline.acquire_producer();
      use(args, inner.index() + outer.index());
      std::move(inner).release();
#ifdef MISUSE
      if (args.flag) return;
#else
      if (args.flag) break;
#endif
    }
    std::move(outer).release();
  }
}
