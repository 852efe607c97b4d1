// SPDX-License-Identifier: Apache-2.0
// Two stages are held in an array, and one is dropped.
// expect-nvcc: heddle_error_stage_dropped_without_release
// clang-cannot-tell: array elements are not analysed
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  ConsumerStage<4> held[2] = {pipeline.acquire_consumer(), pipeline.acquire_consumer()};
  use(args, held[0].index() + held[1].index());
  std::move(held[0]).release();
#ifndef MISUSE
  std::move(held[1]).release();
#endif
}
