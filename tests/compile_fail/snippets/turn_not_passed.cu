// SPDX-License-Identifier: Apache-2.0
// A warpgroup keeps its turn, and the next one waits for ever.
// expect-nvcc: heddle_error_stage_dropped_without_release
// expect-clang: method '~WarpgroupTurn' on object 'turn' while it is in the 'unconsumed' state
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  WarpgroupTurns<2, 1> turns(args.choice);
  auto turn = turns.wait();
  use(args, 1);
#ifndef MISUSE
  std::move(turn).pass();
#endif
}
