// SPDX-License-Identifier: Apache-2.0
// Only a consumer releases to other CTAs.
// expect-nvcc: has no member "release_to"
// expect-clang: no member named 'release_to'
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  auto stage = pipeline.acquire_producer();
#else
  auto stage = pipeline.acquire_consumer();
#endif
  use(args, stage.index());
  std::move(stage).release_to(3);
}
