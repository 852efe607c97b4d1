// SPDX-License-Identifier: Apache-2.0
// A struct holds the handle, and is dropped.
// expect-nvcc: heddle_error_stage_dropped_without_release
// clang-cannot-tell: members are not analysed
#include "snippet.h"

struct Held {
  ConsumerStage<4> stage;
  std::uint32_t weight;
};

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  Held held{pipeline.acquire_consumer(), 3};
  use(args, held.stage.index() + held.weight);
#ifndef MISUSE
  std::move(held.stage).release();
#endif
}
