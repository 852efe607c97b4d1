// SPDX-License-Identifier: Apache-2.0
//
// A tile into the next stage of a ring, all tiles of a role's steps, and zeros into a part of a tile.
#pragma once

#include <heddle/isa/fence.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/target.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/load_tile.h>

namespace heddle::inline HEDDLE_TARGET {

// By one thread, as load_tile: waits until the stage is empty.
template <class Ring, class Tiles, int rank>
HEDDLE_DEVICE void load_stage(Ring& ring, Tiles& tiles, const isa::TensorMap& map,
                              const std::int32_t (&at)[rank]) {
  const auto stage = ring.produce();
  stage.expect_bytes(Tiles::Tile::tx_bytes());
  load_tile(tiles[stage.index()], &map, at, stage.mbar());
}

// The tiles of all steps, in the order in which the math wants them: keys ahead of values by a step, and ahead of
// their queries, whose place may be given back only after a wait for those keys.
template <class Steps, class Keys, class Queries, class Values>
HEDDLE_DEVICE void load_steps(const Steps& steps, const Keys& load_keys, const Queries& load_queries,
                              const Values& load_values) {
  auto before = steps.first();
  load_keys(before);
  load_queries(before);
  for (auto step = before; steps.next(step); before = step) {
    load_keys(step);
    if (step.tile == 0) load_queries(step);
    load_values(before);
  }
  load_values(before);
}

// By `threads` threads, the first of which has number 0, all of them consumers of the ring: in the stage that
// they take next, rows from `first` on become zeros. Orders: the zeros, ahead of multiplications that any of
// these threads starts afterwards.
template <std::uint32_t threads, class Ring, class Tiles>
HEDDLE_DEVICE void clear_rows_of_next(const Ring& ring, Tiles& tiles, std::uint32_t first,
                                      std::uint32_t barrier) {
  ring.wait_producer();
  clear_rows<threads>(tiles[ring.consumer_stage()], first);
  isa::fence_proxy_async_shared_cta();
  isa::bar_sync(barrier, threads);
}

}  // namespace heddle::inline HEDDLE_TARGET
