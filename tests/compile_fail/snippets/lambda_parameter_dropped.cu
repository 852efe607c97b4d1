// SPDX-License-Identifier: Apache-2.0
// A lambda takes the handle over and does not release its parameter.
// expect-nvcc: heddle_error_stage_dropped_without_release
// clang-cannot-tell: the end of a parameter is not analysed
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto finish = [&](ProducerStage<4> taken) {
    fill(args, taken.mbar());
#ifndef MISUSE
    std::move(taken).release();
#endif
  };
  finish(pipeline.acquire_producer());
}
