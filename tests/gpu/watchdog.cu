// SPDX-License-Identifier: Apache-2.0
//
// A release that one warp forgets, in a build with HEDDLE_WATCHDOG: the card does not hang, it says who waits.
#include "broken_ring.h"
#include "trap.h"

using namespace heddle;

int main() {
  using Right = test::BrokenRing<ProducerConsumerPipeline<2>>;
  using Forgets = test::BrokenRing<
      ProducerConsumerPipeline<2, MutantBackend<MbarrierBackend<2>, Mutation{Mistake::kDropRelease}>>>;
  const test::RingParams params{.turns = 8, .dropped_turn = 8};
  return test::expect_trap<Right, Forgets>(params, params);
}
