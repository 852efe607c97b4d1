// SPDX-License-Identifier: Apache-2.0
// Waiting for the producer does not accept an answer about the consumer.
// expect-nvcc: cannot be called with the given argument list
// expect-nvcc: ::ConsumerReady)
// expect-clang: no viable conversion from 'Ready<PipelineSide::kConsumer aka 1>' to
// 'Ready<PipelineSide::kProducer aka 0>'
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  auto ready = pipeline.try_wait_consumer();
#else
  auto ready = pipeline.try_wait_producer();
#endif
  pipeline.wait_producer_if_needed(ready);
  use(args, pipeline.consumer_stage());
}
