// SPDX-License-Identifier: Apache-2.0
// A role borrows the pipeline.
// expect-nvcc: is a deleted function
// expect-clang: call to deleted constructor
#include "snippet.h"

#ifdef MISUSE
HEDDLE_DEVICE void role(Pipeline pipeline, const Args& args) {
#else
HEDDLE_DEVICE void role(Pipeline& pipeline, const Args& args) {
#endif
  auto stage = pipeline.consume();
  use(args, stage.index());
}

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) { role(pipeline, args); }
