// SPDX-License-Identifier: Apache-2.0
//
// How an operand is copied whose matrix ends inside a tile. The copy engine makes zeros more slowly than it
// copies, so rows after the end are not copied, in eights; nor are panels where the matrix has its other extent
// along rows. What is multiplied in their place goes into results that do not exist.
//
//   using LoadA = EdgeLoad<ATile, Major::kK, TileSharing{.sharers = 2, .has_edge = true}>;
//   params.a = edge_maps_for<LoadA>({.address = a, .rows = m, .cols = k});     // host/tile_map.h
//
//   const auto a = LoadA::part(params.a, row, number);                         // once for each tile
//   tiles.expect_bytes(LoadA::tx_bytes(params.a, row) + ...);
//   LoadA::load(a, tiles.a_tile(), {k, row}, tiles.barrier(), number, mask);   // once for each stage
#pragma once

#include <heddle/isa/descriptor.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/tile/arbitrary_rows.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/load_tile.h>

namespace heddle::inline HEDDLE_TARGET {

struct EdgeMaps {
  isa::TensorMap whole;  // boxes of the part of a tile that one CTA copies
  isa::TensorMap edge;   // boxes of the rows that are left of one at the end of the matrix
  std::uint32_t extent;  // of the matrix, along what has an end
  std::uint32_t kept;    // of it, that every tile brings
};

// `major` says what lies along the tile's rows: K, or the extent that has an end (M of A, N of B). Those who
// share a tile copy an equal part each, of rows where K is contiguous and of panels where it is not.
//
// Without `has_edge` all is copied, with zeros. So it must be in pairs (cta_group 2) and in clusters of more than
// two CTAs. Those who read what a CTA sends them signal its empty barriers, and run no further ahead of it than
// its copies allow. Where it sends nothing, only who waits for its own signals is held: of two CTAs each is by
// the other, but one of three can signal the same barrier twice before the third has once; and in a pair the
// leader waits for no signal of its peer.
template <class OperandTile, Major operand_major, TileSharing tile_sharing>
struct EdgeLoad {
  using Tile = OperandTile;
  static constexpr Major major = operand_major;
  static constexpr TileSharing sharing{.sharers = tile_sharing.sharers,
                                       .cta_group = tile_sharing.cta_group,
                                       .by_panels = major == Major::kMN,
                                       .has_edge = tile_sharing.has_edge};
  static_assert(!sharing.has_edge || sharing.cta_group == 1, "a pair copies all: leave has_edge out");
  static constexpr std::uint32_t kExtent = major == Major::kK ? Tile::rows() : Tile::cols();
  static constexpr std::uint32_t kDepth = major == Major::kK ? Tile::cols() : Tile::rows();  // along K
  static constexpr std::uint32_t kPart = kExtent / sharing.sharers;
  static_assert(kExtent % sharing.sharers == 0, "those who share a tile copy equal parts of it");

  // How much of a tile that begins at `first` is copied.
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t inside(std::uint32_t first, std::uint32_t extent) {
    if constexpr (!sharing.has_edge) return kExtent;
    const std::uint32_t eights = first < extent ? (extent - first + 7) / 8 * 8 : 0;
    const std::uint32_t most = eights < kExtent ? eights : kExtent;
    if constexpr (major == Major::kK) return most;
    return (most + kPanel - 1) / kPanel * kPanel;
  }

  // That a stage gets of the tile that begins at `first`, from all who copy it.
  HEDDLE_DEVICE static std::uint32_t tx_bytes(const EdgeMaps& maps, std::uint32_t first) {
    return inside(first, maps.extent) * (kDepth * Tile::layout.element_bytes);
  }

  // What one CTA copies of every tile along K.
  struct Part {
    const isa::TensorMap* map;  // null: nothing, because its part is outside
    std::uint32_t panels;       // of the tile that are copied, where parts are panels
  };
  // Of the tile that begins at `first`, part `number` of those who share it.
  HEDDLE_DEVICE static Part part(const EdgeMaps& maps, std::uint32_t first, std::uint32_t number) {
    const std::uint32_t rows = inside(first, maps.extent);
    const std::uint32_t from = number * kPart;
    return {.map = rows >= from + kPart ? &maps.whole
                   : rows > from        ? &maps.edge
                                        : nullptr,
            .panels = rows / kPanel};
  }

  // By one thread, with coordinates of the whole tile as the map has them.
  template <std::uint32_t rank>
  HEDDLE_DEVICE static void load(const Part& part, const Tile& tile, const std::int32_t (&at)[rank], MbarPtr bar,
                                 std::uint32_t number, std::uint16_t cta_mask, CallSite site = CallSite::here()) {
    if (part.map == nullptr) return;
    load_tile_part<sharing>(tile, part.map, at, bar, number, cta_mask, part.panels, site);
  }

  // By `threads` threads: zeros, or whatever is there, in what some tile does not bring. See prepare_gaps.
  template <std::uint32_t threads, bool clears>
  HEDDLE_DEVICE static void prepare_gap(const EdgeMaps& maps, const Tile& tile,
                                        CallSite site = CallSite::here()) {
    if constexpr (clears && major == Major::kK) clear_rows<threads>(tile, maps.kept, site);
    if constexpr (clears && major == Major::kMN) clear_panels<threads>(tile, maps.kept / kPanel, site);
    if constexpr (!clears && major == Major::kK) leave_rows<threads>(tile, maps.kept, site);
    if constexpr (!clears && major == Major::kMN) leave_panels<threads>(tile, maps.kept / kPanel, site);
  }

 private:
  static constexpr std::uint32_t kPanel = Tile::layout.panel_elems;
};

// By `threads` threads, ahead of the first copies: what is multiplied in place of what some tile does not bring.
// Where sums are stored as they are, it may be what it happens to be; an epilogue that looks at a whole row of
// sums must find numbers, and `clears`. A barrier for the threads follows. Orders: the zeros, through the
// fence and that barrier, before what the copy engine writes and a tensor core reads.
template <class LoadA, class LoadB, std::uint32_t threads, bool clears, std::uint32_t stages, class Payload>
HEDDLE_DEVICE void prepare_gaps(const EdgeMaps& a, const EdgeMaps& b, const Payload& payload,
                                CallSite site = CallSite::here()) {
  if constexpr (!clears && !kIsSimulated) return;
  if (a.kept == LoadA::kExtent && b.kept == LoadB::kExtent) return;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    LoadA::template prepare_gap<threads, clears>(a, payload.get_a_tile(stage), site);
    LoadB::template prepare_gap<threads, clears>(b, payload.get_b_tile(stage), site);
  }
  if constexpr (clears) isa::fence_proxy_async_shared_cta(site);
}

}  // namespace heddle::inline HEDDLE_TARGET
