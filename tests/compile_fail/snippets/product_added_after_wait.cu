// SPDX-License-Identifier: Apache-2.0
// Another product is added to sums that have been given back.
// only: sm_90a
// expect-nvcc: heddle_error_stage_used_after_release
// expect-clang: invalid invocation of method 'add' on object 'pending' while it is in the 'consumed' state
#include "tile_snippet.h"

#include <heddle/tile/wgmma_sums.h>

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  auto& tiles = storage_at<Payload::Storage<1>>(args.barriers);
  WgmmaSumsOf<Payload::ATile, Payload::BTile> sums;
  const auto a = tiles.a_tiles()[0].operand();
  const auto b = tiles.b_tiles()[0].operand();
  auto pending = sums.multiply(a, b);
#ifdef MISUSE
  auto& values = std::move(pending).wait();
  pending.add(a, b);
#else
  pending.add(a, b);
  auto& values = std::move(pending).wait();
#endif
  use(args, values[0] > 0.0f);
}
