// SPDX-License-Identifier: Apache-2.0
// Passed to a function that takes it over, twice.
// expect-nvcc: heddle_error_stage_used_after_release
// clang-cannot-tell: a parameter is taken to hold a stage, whatever is passed
#include "snippet.h"

HEDDLE_DEVICE void finish(ConsumerStage<4> stage) { std::move(stage).release(); }

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
  finish(std::move(stage));
#ifdef MISUSE
  finish(std::move(stage));
#endif
}
