// SPDX-License-Identifier: Apache-2.0
// A handle cannot be copied by assignment.
// expect-nvcc: is a deleted function
// expect-clang: cannot be assigned because its copy assignment operator is implicitly deleted
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  auto other = pipeline.acquire_consumer();
  use(args, stage.index() + other.index());
  std::move(stage).release();
#ifdef MISUSE
  stage = other;
#else
  stage = std::move(other);
#endif
  std::move(stage).release();
}
