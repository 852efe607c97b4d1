// SPDX-License-Identifier: Apache-2.0
// A pipeline cannot be moved.
// expect-nvcc: is a deleted function
// expect-clang: call to deleted constructor
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  Pipeline other(std::move(pipeline));
#else
  Pipeline other(args.more_barriers);
#endif
  auto stage = other.consume();
  use(args, stage.index() + pipeline.consumer_stage());
}
