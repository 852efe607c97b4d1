// SPDX-License-Identifier: Apache-2.0
// A function that borrows by const reference cannot release.
// expect-nvcc: no instance of function
// expect-nvcc: ::ConsumerStage
// expect-clang: marked
#include "snippet.h"

HEDDLE_DEVICE void look(const Args& args, const ConsumerStage<4>& stage) {
  use(args, stage.index());
#ifdef MISUSE
  std::move(stage).release();
#endif
}

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  look(args, stage);
  std::move(stage).release();
}
