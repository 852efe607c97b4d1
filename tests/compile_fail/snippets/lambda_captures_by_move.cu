// SPDX-License-Identifier: Apache-2.0
// A lambda captures the handle, and its body drops it.
// expect-nvcc: heddle_error_stage_dropped_without_release
// clang-cannot-tell: captures are not variables of the function that is analysed
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  auto finish = [&args, held = std::move(stage)]() mutable {
    use(args, held.index());
#ifndef MISUSE
    std::move(held).release();
#endif
  };
  finish();
}
