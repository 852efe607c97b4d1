// SPDX-License-Identifier: Apache-2.0
// The backend is not one.
// expect-nvcc: constraint
// expect-clang: constraints not satisfied
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  ProducerConsumerPipeline<4, SharedMemBarrier> other(args.more_barriers);
#else
  ProducerConsumerPipeline<4, MbarrierBackend<4>> other(args.more_barriers);
#endif
  other.init_mbars(1, 1);
  use(args, pipeline.consumer_stage());
}
