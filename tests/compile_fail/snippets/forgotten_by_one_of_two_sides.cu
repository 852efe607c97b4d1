// SPDX-License-Identifier: Apache-2.0
// A thread that passes stages on releases what it filled and not what it read.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'in' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto in = pipeline.acquire_consumer();
  auto out = pipeline.acquire_producer();
  use(args, in.index() + out.index());
  std::move(out).release();
#ifndef MISUSE
  std::move(in).release();
#endif
}
