// SPDX-License-Identifier: Apache-2.0
// A function takes the handle over and does not release its parameter.
// expect-nvcc: heddle_error_stage_dropped_without_release
// clang-cannot-tell: the end of a parameter is not analysed
#include "snippet.h"

HEDDLE_DEVICE void finish(const Args& args, ConsumerStage<4> stage) {
  use(args, stage.index());
#ifndef MISUSE
  std::move(stage).release();
#endif
}

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  finish(args, std::move(stage));
}
