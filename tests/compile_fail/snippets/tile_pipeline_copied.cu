// SPDX-License-Identifier: Apache-2.0
// A tile pipeline is copied.
// expect-nvcc: is a deleted function
// expect-clang: call to deleted constructor
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  Input input(storage_at<Input::Storage>(args.barriers), "input");
#ifdef MISUSE
  Input copy = input;
  use(args, copy.producer_stage());
#endif
  use(args, input.producer_stage());
}
