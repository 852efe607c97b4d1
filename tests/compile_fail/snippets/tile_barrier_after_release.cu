// SPDX-License-Identifier: Apache-2.0
// The barrier of a stage of tiles is asked for after the release.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'barrier' on object 'tiles' while it is in the 'consumed' state
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  Input input(storage_at<Input::Storage>(args.barriers), "input");
  auto tiles = input.acquire_producer();
#ifdef MISUSE
  std::move(tiles).release();
#endif
  fill(args, tiles.barrier());
#ifndef MISUSE
  std::move(tiles).release();
#endif
}
