// SPDX-License-Identifier: Apache-2.0
//
// A handle that goes out of scope unreleased, in a debug build (-G), where the compiler cannot refuse it.
#include "broken_ring.h"
#include "trap.h"

using namespace heddle;

int main() {
  using Ring = test::BrokenRing<ProducerConsumerPipeline<2>>;
  return test::expect_trap<Ring, Ring>({.turns = 8, .dropped_turn = 8}, {.turns = 8, .dropped_turn = 3});
}
