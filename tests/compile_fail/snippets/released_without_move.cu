// SPDX-License-Identifier: Apache-2.0
// The release takes the handle: an lvalue must be moved into it.
// expect-nvcc: ConsumerStage<num_stages, Backend>::release
// expect-clang: 'release' is an lvalue, but function has rvalue ref-qualifier
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  use(args, stage.index());
#ifdef MISUSE
  stage.release();
#else
  std::move(stage).release();
#endif
}
