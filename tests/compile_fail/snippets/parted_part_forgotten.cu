// SPDX-License-Identifier: Apache-2.0
// One part of a stage is not given back.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'values' while it is in the 'unconsumed' state
#include "snippet.h"

#include <heddle/pipeline/parted_pipeline.h>

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  PartedPipeline<2, 2> ring(args.more_barriers, "ring");
  auto keys = ring.part<0>().acquire_consumer();
  auto values = ring.part<1>().acquire_consumer();
  use(args, keys.index() + values.index() + pipeline.consumer_stage());
  std::move(keys).release();
#ifndef MISUSE
  std::move(values).release();
#endif
}
