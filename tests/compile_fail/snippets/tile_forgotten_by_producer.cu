// SPDX-License-Identifier: Apache-2.0
// The load warp forgets a stage of tiles.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~InputProducerStage' on object 'tiles' while it is in the 'unconsumed' state
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  Input input(storage_at<Input::Storage>(args.barriers), "input");
  auto tiles = input.acquire_producer();
  fill(args, tiles.barrier());
#ifndef MISUSE
  std::move(tiles).release();
#endif
}
