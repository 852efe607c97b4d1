// SPDX-License-Identifier: Apache-2.0
// A stage of tiles is released twice.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'release' on a temporary object while it is in the 'consumed' state
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  Input input(storage_at<Input::Storage>(args.barriers), "input");
  auto tiles = input.acquire_consumer();
  use(args, tiles.stage());
  std::move(tiles).release();
#ifdef MISUSE
  std::move(tiles).release();
#endif
}
