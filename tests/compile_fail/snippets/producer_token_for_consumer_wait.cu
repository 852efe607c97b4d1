// SPDX-License-Identifier: Apache-2.0
// Waiting for the consumer does not accept an answer about the producer.
// expect-nvcc: cannot be called with the given argument list
// expect-nvcc: ::ProducerReady)
// expect-clang: no viable conversion from 'Ready<PipelineSide::kProducer aka 0>' to
// 'Ready<PipelineSide::kConsumer aka 1>'
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  auto ready = pipeline.try_wait_producer();
#else
  auto ready = pipeline.try_wait_consumer();
#endif
  pipeline.wait_consumer_if_needed(ready);
  use(args, pipeline.producer_stage());
}
