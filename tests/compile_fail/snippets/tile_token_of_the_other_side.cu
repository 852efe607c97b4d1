// SPDX-License-Identifier: Apache-2.0
// The producer's wait takes the consumer's answer.
// expect-nvcc: cannot be called with the given argument list
// expect-clang: no viable conversion from
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  Input input(storage_at<Input::Storage>(args.barriers), "input");
#ifdef MISUSE
  input.wait_consumer_if_needed(input.try_acquire_consumer());
#else
  input.wait_consumer_if_needed(input.try_acquire_producer());
#endif
  use(args, input.producer_stage());
}
