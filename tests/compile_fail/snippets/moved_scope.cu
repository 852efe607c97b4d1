// SPDX-License-Identifier: Apache-2.0
// A scope cannot be moved out of its block.
// expect-nvcc: is a deleted function
// expect-clang: call to deleted constructor
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.produce();
#ifdef MISUSE
  auto other = std::move(stage);
#else
  auto other = pipeline.produce();
#endif
  use(args, stage.index() + other.index());
}
