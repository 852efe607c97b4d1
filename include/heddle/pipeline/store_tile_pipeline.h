// SPDX-License-Identifier: Apache-2.0
//
// StoreTilePipeline: tiles on their way out. A ring of tiles in shared memory, which the threads of a warpgroup
// or of a warp write together and the copy engine stores. Acquiring waits until the copy engine has read what the
// tile held before; releasing makes the writes visible to it and stores the tile. A tile is a linear handle.
//
//   StoreTilePipeline<CTiles> stores(shared.c_tiles, Barriers::first("store"));   // all threads of a warpgroup
//   auto c = stores.acquire();
//   for (...) c.tile().store(value, row, col);                                    // or tile/fill_tile.h
//   std::move(c).release(&params.c, {first_col, first_row});
//   ...
//   stores.drain_reads();                                                         // before shared memory ends
#pragma once

#include <heddle/isa/annotate.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/linear.h>
#include <heddle/tile/load_tile.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

template <class Tiles, std::uint32_t warps>
class StoreTilePipeline;

namespace detail {

// The threads that write a tile together; one of them, always the same, talks to the copy engine.
template <std::uint32_t warps>
class StoringThreads {
 public:
  HEDDLE_DEVICE StoringThreads(std::uint32_t barrier, CallSite site) : barrier_(barrier) {
    // Both by all lanes: the number of the warp is a shuffle.
    const bool is_first_warp = isa::warp_idx() % warps == 0;
    stores_ = isa::elect_sync(isa::kFullMask, site) && is_first_warp;
    if constexpr (warps > 1) isa::annotate_named_barriers(barrier, 1, "store");
  }

  HEDDLE_DEVICE bool stores() const { return stores_; }
  HEDDLE_DEVICE void sync(CallSite site) const {
    if constexpr (warps == 1) {
      isa::syncwarp(isa::kFullMask, site);
    } else {
      isa::bar_sync(barrier_, warps * isa::kWarpThreads, site);
    }
  }

 private:
  std::uint32_t barrier_;
  bool stores_;
};

}  // namespace detail

// A tile that these threads may write.
template <class Tile, std::uint32_t warps>
class HEDDLE_LINEAR StoredTile {
 public:
  StoredTile(StoredTile&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED StoredTile& operator=(StoredTile&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~StoredTile() {}

  HEDDLE_USES HEDDLE_DEVICE Tile tile(CallSite site = HEDDLE_HERE) const& {
    obligation_.require(site);
    return tile_;
  }

  // By all threads: stores the tile to where it begins in the map's tensor, as store_tile.
  // Orders: what they wrote, ahead of the copy.
  template <std::uint32_t rank>
  HEDDLE_ENDS HEDDLE_DEVICE void release(const isa::TensorMap* map, const std::int32_t (&at)[rank],
                                         CallSite site = HEDDLE_HERE) && {
    std::move(*this).release_if(true, map, at, site);
  }

  // The same where `is_stored`, which all threads agree on; otherwise as release_without_store.
  template <std::uint32_t rank>
  HEDDLE_ENDS HEDDLE_DEVICE void release_if(bool is_stored, const isa::TensorMap* map,
                                            const std::int32_t (&at)[rank], CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
    isa::fence_proxy_async_shared_cta(site);
    threads_.sync(site);
    if (!threads_.stores()) return;
    if (is_stored) store_tile(map, at, tile_, site);
    isa::cp_async_bulk_commit_group(site);
  }

  // By all threads: nothing is stored, as where a tile lies outside the tensor.
  HEDDLE_ENDS HEDDLE_DEVICE void release_without_store(CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
    // An empty group keeps the count: a tile is free when as many groups as there are tiles have followed.
    if (threads_.stores()) isa::cp_async_bulk_commit_group(site);
  }

 private:
  template <class, std::uint32_t>
  friend class StoreTilePipeline;

  HEDDLE_DEVICE StoredTile(const detail::StoringThreads<warps>& threads, Tile tile, std::uint32_t index,
                           CallSite site)
      : obligation_("store", index, site), threads_(threads), tile_(tile) {}

  Obligation obligation_;
  detail::StoringThreads<warps> threads_;
  Tile tile_;
};

// Every thread of the `warps` warps constructs one over the same tiles; their first warp has a number that
// `warps` divides. One tile is held at a time. Not copyable: a copy would have a place in the ring of its own.
template <class Tiles, std::uint32_t warps = 4>
class StoreTilePipeline {
  static_assert(warps >= 1, "tiles are written by warps: give their number");

 public:
  using Stage = StoredTile<typename Tiles::Tile, warps>;
  static constexpr std::uint32_t num_stages = Tiles::num_tiles;

  // `barrier` is the number of a named barrier for these warps alone; a single warp needs none.
  HEDDLE_DEVICE StoreTilePipeline(Tiles& tiles, std::uint32_t barrier, CallSite site = CallSite::here())
      : threads_(barrier, site), tiles_(tiles.view()) {}
  HEDDLE_DEVICE explicit StoreTilePipeline(Tiles& tiles, CallSite site = CallSite::here())
      : StoreTilePipeline(tiles, 0, site) {
    static_assert(
        warps == 1,
        "several warps write a tile together, and meet on a named barrier of their own: give its number, "
        "NamedBarriers::first of a use");
  }
  StoreTilePipeline(const StoreTilePipeline&) = delete;
  StoreTilePipeline& operator=(const StoreTilePipeline&) = delete;

  // Waits until the copy engine has read what the tile held.
  // Orders: those reads, ahead of what any of the threads writes.
  [[nodiscard]] HEDDLE_DEVICE Stage acquire(CallSite site = HEDDLE_HERE) {
    const std::uint32_t index = take(site);
    return Stage(threads_, tiles_[index], index, site);
  }

  // The same memory as a tile of another kind: narrower, or of other elements.
  template <class Tile>
  [[nodiscard]] HEDDLE_DEVICE StoredTile<Tile, warps> acquire_as(CallSite site = HEDDLE_HERE) {
    static_assert(Tile::bytes() <= Tiles::tile_stride_bytes && Tiles::alignment % Tile::layout.alignment() == 0,
                  "this tile does not fit into those of the ring: make the ring's as large and as aligned");
    const std::uint32_t index = take(site);
    auto* const data = reinterpret_cast<typename Tile::value_type*>(tiles_[index].data());
    return StoredTile<Tile, warps>(threads_, Tile(data), index, site);
  }

  // Waits until the copy engine has read every tile: before their memory ends, with the CTA at the latest. The
  // end of the kernel is what others see the output by.
  HEDDLE_DEVICE void drain_reads(CallSite site = HEDDLE_HERE) const {
    if (threads_.stores()) isa::cp_async_bulk_wait_group_read<0>(site);
  }

  // Waits until everything is stored: before this kernel reads it, or tells others that they may.
  HEDDLE_DEVICE void drain(CallSite site = HEDDLE_HERE) const {
    if (threads_.stores()) isa::cp_async_bulk_wait_group<0>(site);
  }

 private:
  // The number of the next tile, which is free then.
  HEDDLE_DEVICE std::uint32_t take(CallSite site) {
    if (threads_.stores()) isa::cp_async_bulk_wait_group_read<num_stages - 1>(site);
    threads_.sync(site);
    const std::uint32_t index = next_;
    next_ = index + 1 == num_stages ? 0 : index + 1;
    return index;
  }

  detail::StoringThreads<warps> threads_;
  typename Tiles::View tiles_;
  std::uint32_t next_ = 0;
};

}  // namespace heddle::inline HEDDLE_TARGET
