// SPDX-License-Identifier: Apache-2.0
//
// The order in which a persistent kernel takes its tiles. Clusters take consecutive numbers at the same time,
// so the order decides what they find in L2: numbers run through bands of `group` tiles along one axis, and
// within a band across it, so that the tiles of one moment form a block rather than a line.
//
//   const TileOrder order = make_tile_order({.m_tiles = 64, .n_tiles = 32, .group = 16, .bands_along_m = true});
//   for (TileWalk walk(order); walk.is_inside(); walk.next()) { const TileIndex tile = walk.tile(); ... }
#pragma once

#include <heddle/isa/cluster.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

// Division by a number that is known on the host, for dividends below 2^31.
struct Divisor {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 1u << 31;
  std::uint32_t shift = 31;

  HEDDLE_HOST_DEVICE constexpr std::uint32_t quotient(std::uint32_t dividend) const {
    return static_cast<std::uint32_t>(std::uint64_t{dividend} * multiplier >> shift);
  }
};

constexpr Divisor make_divisor(std::uint32_t divisor) {
  std::uint32_t log = 0;
  while ((std::uint64_t{1} << log) < divisor) ++log;
  const std::uint64_t power = std::uint64_t{1} << (31 + log);
  return {.divisor = divisor,
          .multiplier = static_cast<std::uint32_t>((power + divisor - 1) / divisor),
          .shift = 31 + log};
}

struct TileIndex {
  std::uint32_t m;
  std::uint32_t n;
};

struct TileOrder {
  Divisor band;        // tiles in a whole band
  Divisor group;       // tiles across a whole band
  Divisor last_group;  // and across the last one
  std::uint32_t last_band = 0;
  std::uint32_t tiles = 0;
  std::uint32_t bands_along_m = 0;  // 1: a band is a range of M

  HEDDLE_HOST_DEVICE constexpr TileIndex tile(std::uint32_t number) const {
    const std::uint32_t band_idx = band.quotient(number);
    const std::uint32_t inside = number - band_idx * band.divisor;
    const Divisor& width = band_idx == last_band ? last_group : group;
    const std::uint32_t along = width.quotient(inside);
    const std::uint32_t across = band_idx * group.divisor + inside - along * width.divisor;
    return bands_along_m != 0 ? TileIndex{across, along} : TileIndex{along, across};
  }
};

struct TileOrderSpec {
  std::uint32_t m_tiles = 1;
  std::uint32_t n_tiles = 1;
  std::uint32_t group = 1;
  bool bands_along_m = true;
};

constexpr TileOrder make_tile_order(const TileOrderSpec& spec) {
  const std::uint32_t across = spec.bands_along_m ? spec.m_tiles : spec.n_tiles;
  const std::uint32_t along = spec.bands_along_m ? spec.n_tiles : spec.m_tiles;
  const std::uint32_t group = spec.group < across ? spec.group : across;
  const std::uint32_t last_band = (across - 1) / group;
  return {.band = make_divisor(group * along),
          .group = make_divisor(group),
          .last_group = make_divisor(across - last_band * group),
          .last_band = last_band,
          .tiles = spec.m_tiles * spec.n_tiles,
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
