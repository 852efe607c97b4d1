// SPDX-License-Identifier: Apache-2.0
// A loop in which the stage is read releases it on one of its paths.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: state of variable 'stage' must match at the entry and exit of loop
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
  for (std::uint32_t i = 0; i < args.turns; ++i) {
    use(args, stage.index());
#ifdef MISUSE
    if (i == args.choice) std::move(stage).release();
#endif
  }
  std::move(stage).release();
}
