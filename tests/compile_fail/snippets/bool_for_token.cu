// SPDX-License-Identifier: Apache-2.0
// A bool is not an answer of a try.
// expect-nvcc: cannot be called with the given argument list
// expect-nvcc: argument types are: (const __nv_bool)
// expect-clang: no viable conversion from 'const bool' to 'heddle::ProducerReady' (aka
// 'Ready<PipelineSide::kProducer>')
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  const bool ready = args.flag;
#else
  const auto ready = pipeline.try_wait_producer();
#endif
  pipeline.wait_producer_if_needed(ready);
  use(args, pipeline.consumer_stage());
}
