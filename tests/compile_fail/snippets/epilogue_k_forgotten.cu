// SPDX-License-Identifier: Apache-2.0
// The epilogue forgets an accumulator and the scales that belong to it.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~EpilogueKStage' on object 'stage' while it is in the 'unconsumed' state
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args) {
  Output output(StoredTileBackend<2>(args.barriers), SharedHome<CTiles>(storage_at<CTiles>(args.more_barriers)));
  auto stage = output.acquire_k_epilogue_linear(pipeline);
  use(args, stage.input_stage());
#ifndef MISUSE
  std::move(stage).release();
#endif
}
