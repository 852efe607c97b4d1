// SPDX-License-Identifier: Apache-2.0
// Acquiring does not accept a bool either.
// expect-nvcc: no instance of overloaded function
// expect-clang: no matching member function for call to 'acquire_consumer'
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
#ifdef MISUSE
  const bool ready = args.flag;
#else
  const auto ready = pipeline.try_wait_producer();
#endif
  auto stage = pipeline.acquire_consumer(ready);
  use(args, stage.index());
  std::move(stage).release();
}
