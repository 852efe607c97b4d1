// SPDX-License-Identifier: Apache-2.0
// Used after another function took it over.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'index' on object 'stage' while it is in the 'consumed' state
#include "snippet.h"

HEDDLE_DEVICE void finish(ConsumerStage<4> stage) { std::move(stage).release(); }

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto stage = pipeline.acquire_consumer();
#ifndef MISUSE
  use(args, stage.index());
#endif
  finish(std::move(stage));
#ifdef MISUSE
  use(args, stage.index());
#endif
}
