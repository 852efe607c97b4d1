// SPDX-License-Identifier: Apache-2.0
//
// The order in which a persistent kernel takes its tiles. Clusters take consecutive numbers at the same time,
// so the order decides what they find in L2: numbers run through bands of `group` tiles along one axis, and
// within a band across it, so that the tiles of one moment form a block rather than a line. In contrast to
// PersistentTileScheduler, the height of a band is chosen at run time, and a walk can leave tiles out.
//
//   const TileOrder order = make_tile_order({.m_tiles = 64, .n_tiles = 32, .group = 16, .bands_along_m = true});
//   for (TileWalk walk(order, cluster, clusters); walk.is_inside(); walk.next()) multiply(walk.tile());
#pragma once

#include <heddle/isa/target.h>
#include <heddle/kernel/scheduler.h>

namespace heddle::inline HEDDLE_TARGET {

struct TileIndex {
  std::uint32_t m;
  std::uint32_t n;
  std::uint32_t split = 0;  // which part of K
};

struct TileOrder {
  FastDivisor by_split;
  FastDivisor by_band;
  FastDivisor by_group;
  FastDivisor by_last_group;
  std::uint32_t band_tiles = 1;  // of a whole band
  std::uint32_t group = 1;       // across a whole band
  std::uint32_t last_group = 1;  // and across the last one
  std::uint32_t last_band = 0;
  std::uint32_t split_tiles = 1;  // of one part of K
  std::uint32_t tiles = 0;
  std::uint32_t bands_along_m = 0;  // 1: a band is a range of M

  HEDDLE_HOST_DEVICE constexpr TileIndex tile(std::uint32_t number) const {
    const std::uint32_t split = by_split.quotient(number);
    const std::uint32_t in_split = number - split * split_tiles;
    const std::uint32_t band = by_band.quotient(in_split);
    const std::uint32_t inside = in_split - band * band_tiles;
    const bool is_last = band == last_band;
    const std::uint32_t along = is_last ? by_last_group.quotient(inside) : by_group.quotient(inside);
    const std::uint32_t across = band * group + inside - along * (is_last ? last_group : group);
    return bands_along_m != 0 ? TileIndex{across, along, split} : TileIndex{along, across, split};
  }
};

struct TileOrderSpec {
  std::uint32_t m_tiles = 1;
  std::uint32_t n_tiles = 1;
  std::uint32_t splits = 1;
  std::uint32_t group = 1;
  bool bands_along_m = true;
};

constexpr TileOrder make_tile_order(const TileOrderSpec& spec) {
  const std::uint32_t across = spec.bands_along_m ? spec.m_tiles : spec.n_tiles;
  const std::uint32_t along = spec.bands_along_m ? spec.n_tiles : spec.m_tiles;
  const std::uint32_t group = spec.group < across ? spec.group : across;
  const std::uint32_t last_band = (across - 1) / group;
  const std::uint32_t last_group = across - last_band * group;
  const std::uint32_t split_tiles = spec.m_tiles * spec.n_tiles;
  return {.by_split = FastDivisor(split_tiles),
          .by_band = FastDivisor(group * along),
          .by_group = FastDivisor(group),
          .by_last_group = FastDivisor(last_group),
          .band_tiles = group * along,
          .group = group,
          .last_group = last_group,
          .last_band = last_band,
          .split_tiles = split_tiles,
          .tiles = split_tiles * spec.splits,
          .bands_along_m = spec.bands_along_m ? 1u : 0u};
}

// The tiles of one cluster, of `clusters` that share them.
class TileWalk {
 public:
  HEDDLE_DEVICE TileWalk(const TileOrder& order, std::uint32_t cluster_idx, std::uint32_t clusters)
      : order_(order), number_(cluster_idx), step_(clusters) {}

  HEDDLE_DEVICE bool is_inside() const { return number_ < order_.tiles; }
  HEDDLE_DEVICE bool has_next() const { return number_ + step_ < order_.tiles; }
  HEDDLE_DEVICE TileIndex tile() const { return order_.tile(number_); }
  HEDDLE_DEVICE void next() { number_ += step_; }

 private:
  const TileOrder& order_;
  std::uint32_t number_;
  std::uint32_t step_;
};

}  // namespace heddle::inline HEDDLE_TARGET
