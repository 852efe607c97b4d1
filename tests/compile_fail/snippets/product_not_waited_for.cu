// SPDX-License-Identifier: Apache-2.0
// The tensor cores still write the sums, and nobody waits for them.
// only: sm_90a
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~WgmmaPending' on object 'pending' while it is in the 'unconsumed' state
#include "tile_snippet.h"

#include <heddle/tile/wgmma_sums.h>

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  auto& tiles = storage_at<Payload::Storage<1>>(args.barriers);
  WgmmaSumsOf<Payload::ATile, Payload::BTile> sums;
  auto pending = sums.multiply(tiles.a_tiles()[0].operand(), tiles.b_tiles()[0].operand());
#ifdef MISUSE
  use(args, 1);
#else
  use(args, std::move(pending).wait()[0] > 0.0f);
#endif
}
