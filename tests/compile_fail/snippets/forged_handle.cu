// SPDX-License-Identifier: Apache-2.0
// Only a pipeline makes handles.
// expect-nvcc: inaccessible
// expect-clang: calling a private constructor of class
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  ConsumerStage<4> stage(MbarrierBackend<4>(args.barriers), "input", 0, 0, CallSite::here());
#else
  ConsumerStage<4> stage = pipeline.acquire_consumer();
#endif
  use(args, stage.index());
  std::move(stage).release();
}
