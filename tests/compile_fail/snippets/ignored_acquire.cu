// SPDX-License-Identifier: Apache-2.0
// The result of acquiring is ignored.
// expect-nvcc: nodiscard
// expect-clang: method '~ConsumerStage' on a temporary object while it is in the 'unconsumed' state
// expect-clang: nodiscard
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  pipeline.acquire_consumer();
#else
  pipeline.acquire_consumer().release();
#endif
  use(args, 1);
}
