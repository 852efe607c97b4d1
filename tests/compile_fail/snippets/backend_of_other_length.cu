// SPDX-License-Identifier: Apache-2.0
// The backend has another number of stages.
// expect-nvcc: give both the same num_stages
// expect-clang: give both the same num_stages
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  ProducerConsumerPipeline<4, MbarrierBackend<3>> other(args.more_barriers);
#else
  ProducerConsumerPipeline<4, MbarrierBackend<4, PipelineScope::kCluster>> other(args.more_barriers);
#endif
  other.init_mbars(1, 1);
  use(args, pipeline.consumer_stage());
}
