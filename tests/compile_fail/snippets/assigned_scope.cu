// SPDX-License-Identifier: Apache-2.0
// A scope cannot be assigned.
// expect-nvcc: it is a deleted function
// expect-nvcc: a constexpr __host__ function("operator=")
// expect-nvcc: nodiscard
// expect-clang: overload resolution selected deleted operator
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.consume_explicit();
  stage.arrive();
#ifdef MISUSE
  stage = pipeline.consume_explicit();
#else
  pipeline.consumer_signal_and_step();
#endif
  use(args, stage.index());
}
