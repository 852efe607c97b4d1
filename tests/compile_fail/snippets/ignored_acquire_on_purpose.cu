// SPDX-License-Identifier: Apache-2.0
// A cast to void does not make it a release.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ProducerStage' on a temporary object while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  (void)pipeline.acquire_producer();
#else
  pipeline.acquire_producer().release();
#endif
  use(args, 1);
}
