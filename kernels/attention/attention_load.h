// SPDX-License-Identifier: Apache-2.0
//
// A tile into the next stage of a ring, and zeros into a part of one.
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
