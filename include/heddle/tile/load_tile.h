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
template <Element T, Layout layout, std::uint32_t rank, class Copy>
HEDDLE_DEVICE void for_each_panel(const TileTensor<T, layout>& tile, const std::int32_t (&at)[rank],
                                  const Copy& copy) {
  static_assert(rank >= layout.rank,
                "the tensor has fewer dimensions than the tile: give a coordinate for each of them");
  HEDDLE_UNROLL
  for (std::uint32_t panel = 0; panel < layout.panels(); ++panel) {
    std::int32_t coords[rank];
    for (std::uint32_t d = 0; d < rank; ++d) coords[d] = at[d];
    coords[0] += static_cast<std::int32_t>(panel * layout.panel_elems);
    copy(tile.panel_data(panel), coords);
  }
}

template <Layout layout, bool has_edge = false>
HEDDLE_DEVICE void check_tile_map(const isa::TensorMap* map, CallSite site) {
  constexpr TmaBox box = layout.box();
  constexpr isa::TileCopy copy{.box = {box.dims[0], box.dims[1], box.dims[2], box.dims[3], box.dims[4]},
                               .rank = box.rank,
                               .element_bytes = layout.element_bytes,
                               .swizzle = layout.swizzle,
                               .has_edge = has_edge};
  isa::check_tensor_map(map, copy, site);
}

}  // namespace detail

// By one thread. The barrier counts tile.tx_bytes() bytes.
// Orders: nothing by itself; whoever has waited for the barrier sees the tile.
template <Element T, Layout layout, std::uint32_t rank>
HEDDLE_DEVICE void load_tile(const TileTensor<T, layout>& tile, const isa::TensorMap* map,
                             const std::int32_t (&at)[rank], MbarPtr bar, CallSite site = CallSite::here()) {
  detail::check_tile_map<layout>(map, site);
  detail::for_each_panel(tile, at, [&](T* data, const std::int32_t(&coords)[rank]) {
    isa::cp_async_bulk_tensor_load(data, map, coords, bar, site);
  });
}

// Into the same place of every CTA of the mask, whose barriers at the place of `bar` count the bytes.
template <Element T, Layout layout, std::uint32_t rank>
HEDDLE_DEVICE void load_tile_multicast(const TileTensor<T, layout>& tile, const isa::TensorMap* map,
                                       const std::int32_t (&at)[rank], MbarPtr bar, std::uint16_t cta_mask,
                                       CallSite site = CallSite::here()) {
  detail::check_tile_map<layout>(map, site);
  detail::for_each_panel(tile, at, [&](T* data, const std::int32_t(&coords)[rank]) {
    isa::cp_async_bulk_tensor_load_multicast(data, map, coords, bar, cta_mask, site);
  });
}

// How the CTAs of a cluster that hold the same tile load it: each an equal part, for all of them. Bytes count on
// the barrier of each CTA that holds the tile; in a pair (cta_group 2) on the leader's.
struct TileSharing {
  std::uint32_t sharers = 1;
  std::uint32_t cta_group = 1;
  bool by_panels = false;  // parts are panels; otherwise rows
  bool has_edge = false;   // maps may have boxes of fewer rows, for the end of a matrix

  bool operator==(const TileSharing&) const = default;
};

namespace detail {

template <TileSharing sharing>
HEDDLE_HOST_DEVICE constexpr Layout part_of(Layout layout) {
  layout.shape[sharing.by_panels ? 1 : 0] /= sharing.sharers;
  return layout;
}

}  // namespace detail

// Part number `part` of the tile, which begins at `at`, into every CTA of the mask. Panels from number `panels`
// of the tile on are left out.
template <TileSharing sharing, Element T, Layout layout, std::uint32_t rank>
HEDDLE_DEVICE void load_tile_part(const TileTensor<T, layout>& tile, const isa::TensorMap* map,
                                  const std::int32_t (&at)[rank], MbarPtr bar, std::uint32_t part,
                                  std::uint16_t cta_mask, std::uint32_t panels = layout.panels(),
                                  CallSite site = CallSite::here()) {
  static_assert(layout.rank == 2 && rank >= 2, "tiles of two dimensions are shared");
  static_assert(
      (sharing.by_panels ? layout.panels() : layout.shape[0]) % sharing.sharers == 0,
      "the CTAs that share a tile load equal parts of it: make its rows, or panels, a multiple of them");
  constexpr Layout part_layout = detail::part_of<sharing>(layout);
  constexpr std::uint32_t rows = part_layout.shape[0];
  static_assert(rows * layout.stride_bytes[0] % tma_alignment_bytes == 0,
                "a part begins where the copy engine can write to: make its rows a multiple of 128 bytes");
  detail::check_tile_map<part_layout, sharing.has_edge>(map, site);
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < part_layout.panels(); ++i) {
    const std::uint32_t panel = sharing.by_panels ? part * part_layout.panels() + i : i;
    if (sharing.by_panels && panel >= panels) continue;
    std::int32_t coords[rank];
    for (std::uint32_t d = 0; d < rank; ++d) coords[d] = at[d];
    coords[0] += static_cast<std::int32_t>(panel * layout.panel_elems);
    T* to = tile.panel_data(panel);
    if constexpr (!sharing.by_panels) {
      coords[1] += static_cast<std::int32_t>(part * rows);
      to += part * (rows * layout.stride_bytes[0] / layout.element_bytes);
    }
    if constexpr (sharing.sharers > 1 && sharing.cta_group == 2) {
      isa::cp_async_bulk_tensor_load_multicast_cta_group_2(to, map, coords, bar, cta_mask, site);
    } else if constexpr (sharing.sharers > 1) {
      isa::cp_async_bulk_tensor_load_multicast(to, map, coords, bar, cta_mask, site);
    } else if constexpr (sharing.cta_group == 2) {
      isa::cp_async_bulk_tensor_load_cta_group_2(to, map, coords, bar, site);
    } else {
      isa::cp_async_bulk_tensor_load(to, map, coords, bar, site);
    }
  }
}

// The other way, by one thread: cp_async_bulk_commit_group and a wait follow, and a fence_proxy_async_shared_cta
// by those who have written the tile stands before.
template <Element T, Layout layout, std::uint32_t rank>
HEDDLE_DEVICE void store_tile(const isa::TensorMap* map, const std::int32_t (&at)[rank],
                              const TileTensor<T, layout>& tile, CallSite site = CallSite::here()) {
  detail::check_tile_map<layout>(map, site);
  detail::for_each_panel(tile, at, [&](T* data, const std::int32_t(&coords)[rank]) {
    isa::cp_async_bulk_tensor_store(map, coords, data, site);
  });
}

}  // namespace heddle::inline HEDDLE_TARGET
