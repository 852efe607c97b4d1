// SPDX-License-Identifier: Apache-2.0
// Released after it was moved to another handle.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'release' on a temporary object while it is in the 'consumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  auto other = std::move(stage);
  use(args, other.index());
  std::move(other).release();
#ifdef MISUSE
  std::move(stage).release();
#endif
}
