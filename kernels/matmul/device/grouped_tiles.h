// SPDX-License-Identifier: Apache-2.0
//
// Which tiles of a grouped matmul a CTA works on. The groups are runs of rows, whose lengths lie in the memory of
// the device: nobody on the host knows how many tiles there are. Every role walks the groups for itself, from the
// first to the last, and finds the tiles of its cluster on the way: cluster c of C has the cluster tiles c, c +
// C, c + 2C and so on of all groups, one group after the other.
//
//   const GroupedTiles<config> tiles(params.tiles);
//   for (const GroupedTile tile : tiles) load(tile.group, tile.row, tile.n);
//
// Inside a group tiles go in bands of `band` cluster tiles along M, down each band's columns, so that what runs
// at the same time shares rows of A and of B in the L2 cache.
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/kernel/cluster_shape.h>

namespace heddle::inline HEDDLE_TARGET {

struct GroupedTilesConfig {
  ClusterShape cluster = {};
  std::uint32_t tile_m = 128;
  std::uint32_t row_step =
      1;  // a power of two: tiles begin on multiples of it, so that some begin before their group

  bool operator==(const GroupedTilesConfig&) const = default;
};

// Where the rows of a group are. Whatever the numbers on the device say, a group lies inside of the rows that
// there are: its place is computed from them cut to what is possible, never from them alone.
struct GroupRowsParams {
  // Null: one group of all rows. Otherwise a number for each group: where it ends, or, where the groups have
  // places of their own, how many rows it has.
  const std::int32_t* numbers = nullptr;
  std::uint32_t groups = 1;
  std::uint32_t rows = 0;  // of all groups, or of the place of each
  bool has_places = false;
};

struct GroupedTilesParams {
  GroupRowsParams group_rows;
  std::uint32_t cluster_tiles_n = 0;
  std::uint32_t band = 8;
};

// What one CTA does next. A tile can lie outside of its group, or of N, where the cluster does not divide them:
// then it has no rows, or n is too large; the CTA still takes part in what its cluster does together.
struct GroupedTile {
  static constexpr std::uint32_t split = 0;  // K is in one part: as TileWork has it
  std::uint32_t group = 0;
  std::uint32_t row = 0;    // its first, of all rows
  std::uint32_t rows = 0;   // from there to the end of the group, in this tile and after it
  std::uint32_t begin = 0;  // the first row of the group
  std::uint32_t n = 0;

  friend constexpr bool operator==(const GroupedTile&, const GroupedTile&) = default;
};

// A run of rows. Ends that fall behind the end of the group before make a group empty, negative ones too, and
// those beyond all rows are cut: no number leads outside.
struct GroupRun {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

HEDDLE_HOST_DEVICE constexpr GroupRun group_run(const GroupRowsParams& params, std::uint32_t group,
                                                std::uint32_t end_before, std::int32_t number) {
  const std::uint32_t positive = number < 0 ? 0 : static_cast<std::uint32_t>(number);
  const std::uint32_t inside = positive < params.rows ? positive : params.rows;
  if (params.has_places) return {group * params.rows, group * params.rows + inside};
  return {end_before, inside < end_before ? end_before : inside};
}

template <GroupedTilesConfig config>
class GroupedTiles {
 public:
  struct End {};

  class Iterator {
   public:
    HEDDLE_DEVICE GroupedTile operator*() const { return tile_; }
    HEDDLE_DEVICE void operator++() {
      index_ += clusters_;
      find();
    }
    HEDDLE_DEVICE bool operator!=(End) const { return group_ < params_->group_rows.groups; }

   private:
    friend class GroupedTiles;
    HEDDLE_DEVICE Iterator(const GroupedTilesParams& params, std::uint32_t cluster_idx, std::uint32_t clusters,
                           std::uint32_t cta_rank)
        : params_(&params), index_(cluster_idx), clusters_(clusters), cta_rank_(cta_rank) {
      take_group();
      find();
    }

    HEDDLE_DEVICE void take_group() {
      const GroupRowsParams& rows = params_->group_rows;
      if (group_ >= rows.groups) return;
      run_ = rows.numbers == nullptr ? GroupRun{0, rows.rows}
                                     : group_run(rows, group_, run_.end, isa::ld_global(rows.numbers + group_));
      tiles_m_ = run_.end == run_.first ? 0 : (run_.end - first_row() + kClusterRows - 1) / kClusterRows;
    }

    HEDDLE_DEVICE std::uint32_t first_row() const { return run_.first & ~(config.row_step - 1); }

    // index_ counts from the first tile of the group on.
    HEDDLE_DEVICE void find() {
      while (group_ < params_->group_rows.groups && index_ >= tiles_m_ * params_->cluster_tiles_n) {
        index_ -= tiles_m_ * params_->cluster_tiles_n;
        ++group_;
        take_group();
      }
      if (group_ < params_->group_rows.groups) tile_ = place();
    }

    HEDDLE_DEVICE GroupedTile place() const {
      const std::uint32_t band = index_ / (params_->band * params_->cluster_tiles_n);
      const std::uint32_t in_band = index_ - band * params_->band * params_->cluster_tiles_n;
      const std::uint32_t left = tiles_m_ - band * params_->band;
      const std::uint32_t height = left < params_->band ? left : params_->band;
      const std::uint32_t n = in_band / height;
      const std::uint32_t m = band * params_->band + in_band - n * height;
      const ClusterCoordinates cta = coordinates_of<config.cluster>(cta_rank_);
      const std::uint32_t row = first_row() + m * kClusterRows + cta.m * config.tile_m;
      return {.group = group_,
              .row = row,
              .rows = row < run_.end ? run_.end - row : 0,
              .begin = run_.first,
              .n = n * config.cluster.n + cta.n};
    }

    const GroupedTilesParams* params_;
    std::uint32_t index_;
    std::uint32_t clusters_;
    std::uint32_t cta_rank_;
    std::uint32_t group_ = 0;
    std::uint32_t tiles_m_ = 0;
    GroupRun run_;
    // Kept, or ptxas computes it again wherever it is used.
    GroupedTile tile_;
  };

  // Borrows the parameters, which are the kernel's.
  HEDDLE_DEVICE explicit GroupedTiles(const GroupedTilesParams& params)
      : GroupedTiles(params, isa::ctaid().x / config.cluster.m, isa::nctaid().x / config.cluster.m,
                     config.cluster.size() == 1 ? 0 : isa::cluster_ctarank()) {}
  // As CTA `cta_rank` of cluster `cluster_idx` of `clusters`.
  HEDDLE_DEVICE GroupedTiles(const GroupedTilesParams& params, std::uint32_t cluster_idx, std::uint32_t clusters,
                             std::uint32_t cta_rank)
      : params_(&params), cluster_idx_(cluster_idx), clusters_(clusters), cta_rank_(cta_rank) {}

  // Every call begins with the first tile.
  HEDDLE_DEVICE Iterator begin() const { return Iterator(*params_, cluster_idx_, clusters_, cta_rank_); }
  HEDDLE_DEVICE End end() const { return {}; }

 private:
  static constexpr std::uint32_t kClusterRows = config.tile_m * config.cluster.m;

  const GroupedTilesParams* params_;
  std::uint32_t cluster_idx_;
  std::uint32_t clusters_;
  std::uint32_t cta_rank_;
};

}  // namespace heddle::inline HEDDLE_TARGET
