// SPDX-License-Identifier: Apache-2.0
// Only a try makes tokens.
// expect-nvcc: inaccessible
// expect-clang: calling a private constructor of class
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  pipeline.wait_producer_if_needed(ProducerReady(args.flag));
#else
  pipeline.wait_producer_if_needed(pipeline.try_wait_producer());
#endif
  use(args, pipeline.consumer_stage());
}
