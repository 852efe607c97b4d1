// SPDX-License-Identifier: Apache-2.0
// A pipeline cannot be copied: the copy would have cursors of its own.
// expect-nvcc: is a deleted function
// expect-clang: call to deleted constructor
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  auto copy = pipeline;
#else
  auto& copy = pipeline;
#endif
  auto stage = copy.consume();
  use(args, stage.index());
}
