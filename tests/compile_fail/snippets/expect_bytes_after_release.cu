// SPDX-License-Identifier: Apache-2.0
// Bytes are expected after the release that would have announced them.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'expect_bytes' on object 'stage' while it is in the 'consumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_producer();
  fill(args, stage.mbar());
#ifdef MISUSE
  std::move(stage).release();
#endif
  stage.expect_bytes(4096);
#ifndef MISUSE
  std::move(stage).release();
#endif
}
