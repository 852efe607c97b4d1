// SPDX-License-Identifier: Apache-2.0
// A stage of tiles is released on one path only.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~InputConsumerStage' on object 'tiles' while it is in the 'unconsumed' state
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  Input input(storage_at<Input::Storage>(args.barriers), "input");
  auto tiles = input.acquire_consumer();
#ifdef MISUSE
  if (args.flag) {
    use(args, tiles.stage());
    return;
  }
#endif
  std::move(tiles).release();
}
