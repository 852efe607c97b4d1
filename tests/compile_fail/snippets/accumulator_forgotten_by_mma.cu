// SPDX-License-Identifier: Apache-2.0
// The MMA side forgets an accumulator.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~OutputStage' on object 'stage' while it is in the 'unconsumed' state
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  Output output(StoredTileBackend<2>(args.barriers), SharedHome<CTiles>(storage_at<CTiles>(args.more_barriers)));
  auto stage = output.acquire_mma_linear();
  use(args, stage.index());
#ifndef MISUSE
  std::move(stage).release();
#endif
}
