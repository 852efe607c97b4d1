// SPDX-License-Identifier: Apache-2.0
//
// Tiles between global and shared memory by the copy engine: one call for all panels of a tile. Where the tile
// begins in the tensor is given as the map has its dimensions, innermost first: {column, row} or {column, row,
// batch}. The map is tensor_map_for<Tile>(...) of heddle/host/tile_map.h; the simulated SM compares its box and
// swizzle with the tile's, and reports a map that was made for another one.
//
//   auto tiles = producer.acquire();
//   load_tile(tiles.a_tile(), &params.a, {k, row}, tiles.barrier());
//   load_tile_multicast(tiles.b_tile(), &params.b, {k, col}, tiles.barrier(), mask);
#pragma once

#include <heddle/isa/mbarrier.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tensor_map_check.h>
#include <heddle/isa/tma.h>
#include <heddle/tile/tile_tensor.h>

namespace heddle::inline HEDDLE_TARGET {

namespace detail {

// Calls copy(data, coordinates) for each panel.
template <Element T, Layout layout, int rank, class Copy>
HEDDLE_DEVICE void for_each_panel(const TileTensor<T, layout>& tile, const std::int32_t (&at)[rank],
                                  const Copy& copy) {
  static_assert(rank >= static_cast<int>(layout.rank),
                "the tensor has fewer dimensions than the tile: give a coordinate for each of them");
  HEDDLE_UNROLL
  for (std::uint32_t panel = 0; panel < layout.panels(); ++panel) {
    std::int32_t coords[rank];
    for (int d = 0; d < rank; ++d) coords[d] = at[d];
    coords[0] += static_cast<std::int32_t>(panel * layout.panel_elems);
    copy(tile.panel_data(panel), coords);
  }
}

template <Layout layout>
HEDDLE_DEVICE void check_tile_map(const isa::TensorMap* map, CallSite site) {
  constexpr TmaBox box = layout.box();
  constexpr isa::TileCopy copy{.box = {box.dims[0], box.dims[1], box.dims[2], box.dims[3], box.dims[4]},
                               .rank = box.rank,
                               .element_bytes = layout.element_bytes,
                               .swizzle = layout.swizzle};
  isa::check_tensor_map(map, copy, site);
}

}  // namespace detail

// By one thread. The barrier counts tile.tx_bytes() bytes.
// Orders: nothing by itself; whoever has waited for the barrier sees the tile.
template <Element T, Layout layout, int rank>
HEDDLE_DEVICE void load_tile(const TileTensor<T, layout>& tile, const isa::TensorMap* map,
                             const std::int32_t (&at)[rank], MbarPtr bar, CallSite site = CallSite::here()) {
  detail::check_tile_map<layout>(map, site);
  detail::for_each_panel(tile, at, [&](T* data, const std::int32_t(&coords)[rank]) {
    isa::cp_async_bulk_tensor_load(data, map, coords, bar, site);
  });
}

// Into the same place of every CTA of the mask, whose barriers at the place of `bar` count the bytes.
template <Element T, Layout layout, int rank>
HEDDLE_DEVICE void load_tile_multicast(const TileTensor<T, layout>& tile, const isa::TensorMap* map,
                                       const std::int32_t (&at)[rank], MbarPtr bar, std::uint16_t cta_mask,
                                       CallSite site = CallSite::here()) {
  detail::check_tile_map<layout>(map, site);
  detail::for_each_panel(tile, at, [&](T* data, const std::int32_t(&coords)[rank]) {
    isa::cp_async_bulk_tensor_load_multicast(data, map, coords, bar, cta_mask, site);
  });
}

// The other way, by one thread: cp_async_bulk_commit_group and a wait follow, and a fence_proxy_async_shared_cta
// by those who have written the tile stands before.
template <Element T, Layout layout, int rank>
HEDDLE_DEVICE void store_tile(const isa::TensorMap* map, const std::int32_t (&at)[rank],
                              const TileTensor<T, layout>& tile, CallSite site = CallSite::here()) {
  detail::check_tile_map<layout>(map, site);
  detail::for_each_panel(tile, at, [&](T* data, const std::int32_t(&coords)[rank]) {
    isa::cp_async_bulk_tensor_store(map, coords, data, site);
  });
}

}  // namespace heddle::inline HEDDLE_TARGET
