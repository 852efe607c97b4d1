// SPDX-License-Identifier: Apache-2.0
// Bytes are expected by the producer, in scopes too.
// expect-nvcc: expect_bytes
// expect-clang: invalid reference to function 'expect_bytes'
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  auto stage = pipeline.consume();
#else
  auto stage = pipeline.produce();
#endif
  stage.expect_bytes(4096);
  use(args, stage.index());
}
