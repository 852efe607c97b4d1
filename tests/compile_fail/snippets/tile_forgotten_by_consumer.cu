// SPDX-License-Identifier: Apache-2.0
// The MMA warp forgets a stage of tiles.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~InputConsumerStage' on object 'tiles' while it is in the 'unconsumed' state
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  Input input(storage_at<Input::Storage>(args.barriers), "input");
  auto tiles = input.consumer().acquire_stage();
  use(args, tiles.stage());
#ifndef MISUSE
  std::move(tiles).release();
#endif
}
