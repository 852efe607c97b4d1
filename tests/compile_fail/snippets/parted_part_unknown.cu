// SPDX-License-Identifier: Apache-2.0
// A part that the stages of a pipeline do not have.
// expect-nvcc: they count from 0
// expect-clang: they count from 0
#include "snippet.h"

#include <heddle/pipeline/parted_pipeline.h>

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  PartedPipeline<2, 2> ring(args.more_barriers, "ring");
#ifdef MISUSE
  auto stage = ring.part<2>().acquire_consumer();
#else
  auto stage = ring.part<1>().acquire_consumer();
#endif
  use(args, stage.index() + pipeline.consumer_stage());
  std::move(stage).release();
}
