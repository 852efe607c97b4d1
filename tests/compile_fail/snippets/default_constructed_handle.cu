// SPDX-License-Identifier: Apache-2.0
// There is no handle that holds nothing.
// expect-nvcc: no default constructor
// expect-clang: no matching constructor for initialization
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  ConsumerStage<4> stage;
#else
  ConsumerStage<4> stage = pipeline.acquire_consumer();
#endif
  use(args, stage.index());
  std::move(stage).release();
}
