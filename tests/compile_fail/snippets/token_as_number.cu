// SPDX-License-Identifier: Apache-2.0
// A token answers a condition and does not turn into a number.
// expect-nvcc: no suitable
// expect-clang: no viable conversion from
#include "snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  auto ready = pipeline.try_wait_producer();
#ifdef MISUSE
  const bool answer = ready;
#else
  const bool answer = static_cast<bool>(ready);
#endif
  use(args, answer ? 1 : 0);
}
