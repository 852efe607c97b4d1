// SPDX-License-Identifier: Apache-2.0
// A pipeline without stages.
// expect-nvcc: make num_stages 1 or more
// expect-clang: make num_stages 1 or more
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  ProducerConsumerPipeline<0> other(args.more_barriers);
#else
  ProducerConsumerPipeline<1> other(args.more_barriers);
#endif
  use(args, pipeline.consumer_stage() + other.consumer_stage());
}
