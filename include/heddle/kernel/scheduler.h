// SPDX-License-Identifier: Apache-2.0
//
// Which tiles a CTA works on, and in which order. A matrix of tiles is walked in bands, so that the tiles which
// are worked on at the same time share rows of A and columns of B in the L2 cache: a band is `group` tiles high,
// and is walked column by column. All CTAs of a cluster walk the same cluster tiles (cluster.m x cluster.n tiles,
// one to a CTA), and every role of a CTA sees the same tiles in the same order.
//
//   constexpr TileSchedulerConfig config{.cluster = {2, 1}, .group = 8};
//   // host
//   const auto params = make_tile_scheduler_params<config>({.tiles_m = 64, .tiles_n = 32});
//   launch<Kernel>(persistent_launch_shape<config>(params, resident_ctas), {params, ...});
//   // each role
//   const PersistentTileScheduler<config> scheduler(params.scheduler);
//   for (auto work : scheduler.tiles()) load(work.m, work.n);
#pragma once

#include <heddle/isa/annotate.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/kernel/cluster_shape.h>

namespace heddle::inline HEDDLE_TARGET {

// Along which side of the matrix consecutive tiles follow one another, inside a band.
enum class Raster : std::uint8_t {
  kAlongM,       // a band is `group` tiles of M, for all of N
  kAlongN,       // a band is `group` tiles of N, for all of M
  kShorterSide,  // the host chooses: the side with fewer tiles
  kConfigured,   // of a TileGrid: as the configuration says
};

// Bands are counted in cluster tiles: a group of 4 with a cluster of 2 x 1 is a band of 8 tiles. A launch may
// choose another order than the configuration's.
struct TileSchedulerConfig {
  ClusterShape cluster = {};
  Raster raster = Raster::kShorterSide;
  std::uint32_t group = 8;
  bool is_batched = false;  // more than one matrix
  bool is_split = false;    // more than one CTA along K for a tile

  bool operator==(const TileSchedulerConfig&) const = default;
};

// The work of a launch, in tiles of one CTA. Any of them may be 0.
struct TileGrid {
  std::uint32_t tiles_m = 0;
  std::uint32_t tiles_n = 0;
  std::uint32_t batches = 1;
  std::uint32_t splits = 1;
  std::uint32_t group = 0;  // 0: as the configuration says
  Raster raster = Raster::kConfigured;
};

// What one CTA does next. Where the cluster does not divide the matrix, some CTAs of the last clusters have a
// tile outside it: they must take part in what their cluster does together, and have nothing to compute.
struct TileWork {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t batch = 0;
  std::uint32_t split = 0;
  bool is_inside = true;

  friend constexpr bool operator==(const TileWork&, const TileWork&) = default;
};

// Division by a number that is known on the host only: a multiplication and a shift, for dividends below 2^31.
class FastDivisor {
 public:
  constexpr FastDivisor() = default;
  HEDDLE_HOST_DEVICE constexpr explicit FastDivisor(std::uint32_t divisor) {
    while ((std::uint64_t{1} << shift_) < divisor) ++shift_;
    multiplier_ = static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + shift_)) + divisor - 1) / divisor);
  }

  // With e = multiplier * divisor - 2^(31 + shift) the result is dividend / divisor, too large by less than
  // dividend * e / 2^(31 + shift) / divisor; that is less than 1 / divisor, since e < divisor <= 2^shift.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t quotient(std::uint32_t dividend) const {
    return static_cast<std::uint32_t>(std::uint64_t{2 * dividend} * multiplier_ >> 32) >> shift_;
  }

 private:
  std::uint32_t multiplier_ = 1u << 31;  // divides by 1
  std::uint32_t shift_ = 0;
};

// Made on the host by make_tile_scheduler_params, part of a kernel's parameters. Counts cluster tiles, `along`
// the raster and across it.
struct TileSchedulerParams {
  std::uint32_t tiles_m = 0;
  std::uint32_t tiles_n = 0;
  std::uint32_t cluster_tiles = 0;  // in all: how many work items the clusters share
  std::uint32_t matrix_tiles = 0;   // cluster tiles of one matrix
  std::uint32_t band_tiles = 0;     // cluster tiles of a whole band
  std::uint32_t whole_bands = 0;    // the band after them is lower
  std::uint32_t tail = 1;           // height of that band, or 1
  std::uint32_t group = 1;          // height of a whole band
  std::uint32_t splits = 1;
  FastDivisor by_matrix;
  FastDivisor by_band;
  FastDivisor by_group;
  FastDivisor by_tail;
  FastDivisor by_splits;
  bool is_along_m = true;
};

// How K is shared out: each work item has `share` blocks of a stage's depth, the last of them what is left. None
// is legal: then the sums are zero.
struct KBlocks {
  std::uint32_t all = 0;
  std::uint32_t share = 0;

  struct Range {
    std::uint32_t first;
    std::uint32_t count;
  };
  HEDDLE_HOST_DEVICE constexpr Range of_split(std::uint32_t split) const {
    const std::uint32_t first = split * share;
    const std::uint32_t left = first < all ? all - first : 0;
    return {first, left < share ? left : share};
  }
};

// The most cluster tiles of a launch, over all batches and splits.
inline constexpr std::uint64_t kMaxClusterTiles = (std::uint64_t{1} << 31) - 1;

// How many cluster tiles the grid has; with more than kMaxClusterTiles there are no parameters for it.
template <TileSchedulerConfig config>
constexpr std::uint64_t cluster_tiles_of(const TileGrid& grid) {
  const std::uint64_t matrix = std::uint64_t{detail::ceil_div(grid.tiles_m, config.cluster.m)} *
                               detail::ceil_div(grid.tiles_n, config.cluster.n);
  const std::uint64_t matrices = std::uint64_t{grid.batches} * grid.splits;
  // Saturates instead of wrapping round.
  if (matrix != 0 && matrices > ~std::uint64_t{0} / matrix) return ~std::uint64_t{0};
  return matrix * matrices;
}

// The grid has at most kMaxClusterTiles cluster tiles; batches and splits are 1 unless the configuration says
// that there are several.
template <TileSchedulerConfig config>
constexpr TileSchedulerParams make_tile_scheduler_params(const TileGrid& grid) {
  static_assert(config.group > 0, "a band needs a tile: make TileSchedulerConfig::group 1 or more");
  const std::uint32_t m = detail::ceil_div(grid.tiles_m, config.cluster.m);
  const std::uint32_t n = detail::ceil_div(grid.tiles_n, config.cluster.n);
  const Raster raster = grid.raster == Raster::kConfigured ? config.raster : grid.raster;
  const std::uint32_t group = grid.group == 0 ? config.group : grid.group;
  TileSchedulerParams params;
  params.is_along_m = raster == Raster::kAlongM || (raster != Raster::kAlongN && m <= n);
  params.tiles_m = grid.tiles_m;
  params.tiles_n = grid.tiles_n;
  params.cluster_tiles = static_cast<std::uint32_t>(cluster_tiles_of<config>(grid));
  params.splits = grid.splits;
  if (params.cluster_tiles == 0) return params;
  const std::uint32_t along = params.is_along_m ? m : n;
  const std::uint32_t across = params.is_along_m ? n : m;
  params.matrix_tiles = m * n;
  params.whole_bands = along / group;
  // A band that no tile reaches may be as large as it likes: it must not wrap round.
  params.band_tiles = params.whole_bands == 0 ? params.matrix_tiles + 1 : group * across;
  params.group = group;
  params.tail = along % group == 0 ? 1 : along % group;
  params.by_matrix = FastDivisor(params.matrix_tiles);
  params.by_band = FastDivisor(params.band_tiles);
  params.by_group = FastDivisor(group);
  params.by_tail = FastDivisor(params.tail);
  params.by_splits = FastDivisor(grid.splits);
  return params;
}

// The place of the work item `index` (below params.cluster_tiles) for the CTA of that rank in its cluster.
template <TileSchedulerConfig config>
HEDDLE_HOST_DEVICE constexpr TileWork tile_work(const TileSchedulerParams& params, std::uint32_t index,
                                                std::uint32_t cta_rank) {
  TileWork work;
  std::uint32_t in_matrix = index;
  if constexpr (config.is_batched || config.is_split) {
    const std::uint32_t matrix = params.by_matrix.quotient(index);
    in_matrix -= matrix * params.matrix_tiles;
    if constexpr (!config.is_split) {
      work.batch = matrix;
    } else if constexpr (!config.is_batched) {
      work.split = matrix;
    } else {
      work.batch = params.by_splits.quotient(matrix);
      work.split = matrix - work.batch * params.splits;
    }
  }
  const std::uint32_t band = params.by_band.quotient(in_matrix);
  const std::uint32_t in_band = in_matrix - band * params.band_tiles;
  const bool is_tail = band == params.whole_bands;
  const std::uint32_t height = is_tail ? params.tail : params.group;
  const std::uint32_t across = is_tail ? params.by_tail.quotient(in_band) : params.by_group.quotient(in_band);
  const std::uint32_t along = band * params.group + in_band - across * height;
  const ClusterCoordinates cta = coordinates_of<config.cluster>(cta_rank);
  work.m = (params.is_along_m ? along : across) * config.cluster.m + cta.m;
  work.n = (params.is_along_m ? across : along) * config.cluster.n + cta.n;
  work.is_inside = work.m < params.tiles_m && work.n < params.tiles_n;
  return work;
}

// A launch in which as many clusters as run at once share the tiles. `resident_ctas` is how many CTAs the device
// holds at the same time. Without tiles there is one cluster, which finds nothing to do.
template <TileSchedulerConfig config>
constexpr LaunchShape persistent_launch_shape(const TileSchedulerParams& params, std::uint32_t resident_ctas) {
  const std::uint32_t resident = resident_ctas / config.cluster.size();
  std::uint32_t clusters = params.cluster_tiles < resident ? params.cluster_tiles : resident;
  if (clusters == 0) clusters = 1;
  return {.grid = {clusters * config.cluster.m, config.cluster.n, 1},
          .cluster = {config.cluster.m, config.cluster.n, 1},
          .threads = 0};
}

// Cluster c of C takes the work items c, c + C, c + 2C, ... Launch with persistent_launch_shape.
template <TileSchedulerConfig config>
class PersistentTileScheduler {
 public:
  // What is left of the work of one cluster, for one of its CTAs.
  class TileRange {
   public:
    struct End {};

    class Iterator {
     public:
      HEDDLE_DEVICE TileWork operator*() const {
        isa::annotate_tile(work_.m, work_.n);
        return work_;
      }
      HEDDLE_DEVICE void operator++() {
        isa::annotate_tile_end();
        index_ += every_ * clusters_;
        if (index_ < params_->cluster_tiles) work_ = tile_work<config>(*params_, index_, cta_rank_);
      }
      HEDDLE_DEVICE bool operator!=(End) const { return index_ < params_->cluster_tiles; }

      // Whether the cluster has another tile after this one, whichever walk takes it.
      HEDDLE_DEVICE bool has_next() const { return index_ + clusters_ < params_->cluster_tiles; }

     private:
      friend class PersistentTileScheduler;
      HEDDLE_DEVICE Iterator(const PersistentTileScheduler& scheduler, std::uint32_t first, std::uint32_t every)
          : params_(scheduler.params_),
            index_(scheduler.cluster_idx_ + first * scheduler.clusters_),
            clusters_(scheduler.clusters_),
            every_(every),
            cta_rank_(scheduler.cta_rank_),
            work_(tile_work<config>(*params_, index_, cta_rank_)) {}

      const TileSchedulerParams* params_;
      std::uint32_t index_;
      std::uint32_t clusters_;
      std::uint32_t every_;
      std::uint32_t cta_rank_;
      // Kept, or ptxas computes it again wherever it is used.
      TileWork work_;
    };

    HEDDLE_DEVICE Iterator begin() const { return begin_; }
    HEDDLE_DEVICE End end() const { return {}; }

   private:
    friend class PersistentTileScheduler;
    HEDDLE_DEVICE explicit TileRange(const Iterator& begin) : begin_(begin) {}

    Iterator begin_;
  };

  static constexpr LaunchShape launch_shape(const TileSchedulerParams& params, std::uint32_t resident_ctas) {
    return persistent_launch_shape<config>(params, resident_ctas);
  }

  // Borrows the parameters, which are the kernel's.
  HEDDLE_DEVICE explicit PersistentTileScheduler(const TileSchedulerParams& params)
      : PersistentTileScheduler(params, isa::ctaid().x / config.cluster.m, isa::nctaid().x / config.cluster.m,
                                config.cluster.size() == 1 ? 0 : isa::cluster_ctarank()) {}

  // As CTA `cta_rank` of cluster `cluster_idx` of `clusters`.
  HEDDLE_DEVICE PersistentTileScheduler(const TileSchedulerParams& params, std::uint32_t cluster_idx,
                                        std::uint32_t clusters, std::uint32_t cta_rank)
      : params_(&params), cluster_idx_(cluster_idx), clusters_(clusters), cta_rank_(cta_rank) {}

  // Every call begins with the first tile. Walks that share the tiles of a CTA take one in `every` each,
  // from number `first` on: two warpgroups in turn have tiles(warpgroup, 2).
  HEDDLE_DEVICE TileRange tiles(std::uint32_t first = 0, std::uint32_t every = 1) const {
    return TileRange(typename TileRange::Iterator(*this, first, every));
  }

  // The first tile, where there is one.
  HEDDLE_DEVICE TileWork first() const { return tile_work<config>(*params_, cluster_idx_, cta_rank_); }

  // As ClcTileScheduler has it: here nobody asks for tiles ahead.
  HEDDLE_DEVICE void throttle_signal(bool) const {}

 private:
  const TileSchedulerParams* params_;
  std::uint32_t cluster_idx_;
  std::uint32_t clusters_;
  std::uint32_t cta_rank_;
};

}  // namespace heddle::inline HEDDLE_TARGET
