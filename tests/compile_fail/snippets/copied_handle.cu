// SPDX-License-Identifier: Apache-2.0
// A handle cannot be copied.
// expect-nvcc: is a deleted function
// expect-clang: call to implicitly-deleted copy constructor
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
#ifdef MISUSE
  auto other = stage;
#else
  auto other = std::move(stage);
#endif
  use(args, other.index());
  std::move(other).release();
}
