// SPDX-License-Identifier: Apache-2.0
// A try whose answer is ignored does nothing.
// expect-nvcc: nodiscard
// expect-clang: nodiscard
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  pipeline.try_wait_producer();
#else
  auto ready = pipeline.try_wait_producer();
  pipeline.wait_producer_if_needed(ready);
#endif
  pipeline.consumer_step();
  use(args, 1);
}
