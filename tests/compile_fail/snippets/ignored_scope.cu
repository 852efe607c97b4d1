// SPDX-License-Identifier: Apache-2.0
// A scope whose result is ignored ends at once.
// expect-nvcc: nodiscard
// expect-clang: nodiscard
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  pipeline.produce();
#else
  auto stage = pipeline.produce();
  use(args, stage.index());
#endif
  use(args, 1);
}
