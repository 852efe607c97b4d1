// SPDX-License-Identifier: Apache-2.0
// The producer acquires with an answer about the consumer.
// expect-nvcc: no instance of overloaded function
// expect-clang: no matching member function for call to 'acquire_producer'
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  auto ready = pipeline.try_wait_producer();
#else
  auto ready = pipeline.try_wait_consumer();
#endif
  auto stage = pipeline.acquire_producer(ready);
  use(args, stage.index());
  std::move(stage).release();
}
