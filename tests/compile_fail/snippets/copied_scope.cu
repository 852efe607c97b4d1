// SPDX-License-Identifier: Apache-2.0
// A scope cannot be copied: it would release twice.
// expect-nvcc: is a deleted function
// expect-clang: call to deleted constructor
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.consume();
#ifdef MISUSE
  auto other = stage;
#else
  auto other = pipeline.consume();
#endif
  use(args, stage.index() + other.index());
}
