// SPDX-License-Identifier: Apache-2.0
// A stage of tiles is forgotten in every turn of a loop.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~InputProducerStage' on object 'tiles' while it is in the 'unconsumed' state
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  Input input(storage_at<Input::Storage>(args.barriers), "input");
  for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
    auto tiles = input.producer().acquire_stage();
    fill(args, tiles.barrier());
#ifndef MISUSE
    std::move(tiles).release();
#endif
  }
}
