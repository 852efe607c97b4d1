// SPDX-License-Identifier: Apache-2.0
// An accumulator is handed over twice.
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: method 'release' on a temporary object while it is in the 'consumed' state
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  Output output(StoredTileBackend<2>(args.barriers), SharedHome<CTiles>(storage_at<CTiles>(args.more_barriers)));
  auto stage = output.per_k().acquire_mma_linear();
  use(args, stage.index());
  std::move(stage).release();
#ifdef MISUSE
  std::move(stage).release();
#endif
}
