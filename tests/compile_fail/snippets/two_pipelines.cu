// SPDX-License-Identifier: Apache-2.0
// Of the stages of two pipelines, the same one is released on either path.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~ConsumerStage' on object 'input' while it is in the 'unconsumed' state
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  Pipeline results(args.more_barriers, "results");
  auto input = pipeline.acquire_consumer();
  auto output = results.acquire_producer();
  use(args, input.index() + output.index());
  std::move(output).release();
#ifdef MISUSE
  if (args.flag) return;
#else
  if (args.flag) use(args, 4);
#endif
  std::move(input).release();
}
