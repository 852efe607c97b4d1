// SPDX-License-Identifier: Apache-2.0
// A tile is written and not stored.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~StoredTile' on object 'stage' while it is in the 'unconsumed' state
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  StoreTilePipeline<CTiles> stores(storage_at<CTiles>(args.barriers), 1);
  auto stage = stores.acquire();
  use(args, stage.tile().rows());
#ifndef MISUSE
  std::move(stage).release_without_store();
#endif
  stores.drain();
}
