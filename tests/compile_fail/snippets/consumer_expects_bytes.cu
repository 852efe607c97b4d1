// SPDX-License-Identifier: Apache-2.0
// Bytes are expected by the producer.
// expect-nvcc: has no member "expect_bytes"
// expect-clang: no member named 'expect_bytes'
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  auto stage = pipeline.acquire_consumer();
#else
  auto stage = pipeline.acquire_producer();
#endif
  stage.expect_bytes(4096);
  use(args, stage.index());
  std::move(stage).release();
}
