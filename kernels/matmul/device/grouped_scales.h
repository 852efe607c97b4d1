// SPDX-License-Identifier: Apache-2.0
//
// What FP8 matmuls of Hopper do with scales, in the registers of a warpgroup.
//
// Promotion: the tensor cores add products of FP8 with few bits more than the sums of bf16 have, so that errors
// grow with K. Every 128 numbers along K are summed by themselves and added to totals in float, times the scales
// of those numbers where there are such.
#pragma once

#include "grouped_tiles.h"

#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/backend.h>
#include <heddle/tile/wgmma_sums.h>

namespace heddle::inline HEDDLE_TARGET {

// Sums in float, as WgmmaValues has them: `row_blocks` times 64 rows.
template <WgmmaShape shape, std::uint32_t row_blocks>
class PromotedSums {
 public:
  static constexpr std::uint32_t count = row_blocks * shape.d_registers();

  HEDDLE_DEVICE void clear() {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < count; ++i) totals_[i / shape.d_registers()][i % shape.d_registers()] = 0.0f;
  }
  HEDDLE_DEVICE WgmmaAccumulators<shape>& block(std::uint32_t i) { return totals_[i]; }

  // Adds the sums of 64 rows, times a factor for each of the two rows that a thread has a part of, and for each
  // run of n / runs columns.
  template <std::uint32_t runs>
  HEDDLE_DEVICE void add(std::uint32_t row_block, const WgmmaValues<shape>& sums,
                         const RowPair (&factors)[runs]) {
    static_assert(shape.n % (8 * runs) == 0, "columns of wgmma's sums come in eights: make runs of whole eights");
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < shape.d_registers(); ++i) {
      const RowPair& factor = factors[i / (shape.d_registers() / runs)];
      totals_[row_block][i] += sums[i] * factor[WgmmaValues<shape>::row_of_pair(i)];
    }
  }

  HEDDLE_DEVICE void add(std::uint32_t row_block, const WgmmaValues<shape>& sums) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < shape.d_registers(); ++i) totals_[row_block][i] += sums[i];
  }

 private:
  WgmmaAccumulators<shape> totals_[row_blocks];
};

// Scales of whole operands, or of their rows, which the sums are multiplied by at the end.
struct OperandScales {
  const float* a = nullptr;  // one, or one for each row of A
  const float* b = nullptr;  // for each group: one, or one for each row of B
  bool are_of_rows = false;

  // Of a panel: `cols` columns, whose sums begin at number `first`. Those of a thread are at `row` and 8 below
  // it, and from `col` on two of each 8 columns. What is at or after `end` and `n` is not there and has no scale.
  template <std::uint32_t first, std::uint32_t cols, class Sums>
  HEDDLE_DEVICE void apply(Sums& sums, std::uint32_t group, std::uint32_t row, std::uint32_t end,
                           std::uint32_t col, std::uint32_t n) const {
    if (!are_of_rows) {
      const float factor = isa::ld_global(a) * isa::ld_global(b + group);
      HEDDLE_UNROLL
      for (std::uint32_t i = first; i < first + cols / 2; ++i) sums[i] *= factor;
      return;
    }
    const RowPair of_row{
        {row < end ? isa::ld_global(a + row) : 0.0f, row + 8 < end ? isa::ld_global(a + row + 8) : 0.0f}};
    const float* const of_cols = b + std::uint64_t{group} * n + col;
    HEDDLE_UNROLL
    for (std::uint32_t at = 0; at < cols; at += 8) {
      Pair of_col{};
      if (col + at < n) of_col = isa::ld_global(reinterpret_cast<const Pair*>(of_cols + at));  // n is in eights
      const std::uint32_t i = first + at / 2;
      sums[i] *= of_row[0] * of_col.left;
      sums[i + 1] *= of_row[0] * of_col.right;
      sums[i + 2] *= of_row[1] * of_col.left;
      sums[i + 3] *= of_row[1] * of_col.right;
    }
  }

 private:
  struct alignas(8) Pair {
    float left;
    float right;
  };
};

// Those of whole operands for a matmul of one group, as the epilogue of MatmulSm90.
struct ScaledByTensors {
  using Params = OperandScales;

  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
    const float factor = isa::ld_global(params.a) * isa::ld_global(params.b);
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < f.count; ++i) f[i] *= factor;
  }
};

// The factors of one stage for the rows of a thread: products of the scales of A and B, blockwise. Of B's, a tile
// of up to 128 columns that divide 128 has one, and others have two.
template <std::uint32_t tile_n, std::uint32_t row_blocks>
class BlockFactors {
  static constexpr bool has_two = 128 % tile_n != 0;
  static constexpr std::uint32_t step = tile_n % 128 == 0  ? 128
                                        : tile_n % 64 == 0 ? 64
                                        : tile_n % 32 == 0 ? 32
                                                           : 16;
  static constexpr std::uint32_t runs = has_two ? tile_n / step : 1;  // of columns with one scale each
  static_assert(
      tile_n % 16 == 0 && (!has_two || 128 - step + tile_n <= 256),
      "a tile reaches into two blocks of 128 columns at most: make tile_n 16, 32, 64, 96, 128, 160 or 192");

 public:
  // For a tile of `group` from column `col` on, of `n`, and for the rows of this thread from `row` of the tile
  // on.
  HEDDLE_DEVICE BlockFactors(const float* b_scales, std::uint32_t group, std::uint32_t col, std::uint32_t n,
                             std::uint32_t k_blocks, std::uint32_t row)
      : last_(k_blocks - 1), row_(row), split_(128 - col % 128) {
    // Where there is no such column nothing is stored, and the last block's will do.
    const std::uint32_t blocks = (n + 127) / 128;
    const auto scales_of = [&](std::uint32_t block) {
      const std::uint32_t inside = block < blocks ? block : blocks - 1;
      return b_scales + (std::uint64_t{group} * blocks + inside) * k_blocks;
    };
    left_ = scales_of(col / 128);
    right_ = scales_of(col / 128 + 1);
    fetch(0);
  }

  // Before stages from `k` on, of which there are no more than up to the next multiple of 32.
  HEDDLE_DEVICE void fetch_if_due(std::uint32_t k) {
    if (k % isa::kWarpThreads != 0) return;
    left_batch_ = next_left_;
    right_batch_ = next_right_;
    fetch(k + isa::kWarpThreads);
  }

  // Reads the scales of A out of the stage.
  template <class Stage>
  HEDDLE_DEVICE void take(const Stage& stage, std::uint32_t k) {
    const auto of_a = stage.a_scales_tile();
    HEDDLE_UNROLL
    for (std::uint32_t block = 0; block < row_blocks; ++block) {
      of_a_[block] = {{of_a.load(0, row_ + block * kWgmmaM), of_a.load(0, row_ + block * kWgmmaM + 8)}};
    }
    of_left_ = of_lane(left_batch_, k);
    if constexpr (has_two) of_right_ = of_lane(right_batch_, k);
  }

  // Those of the stage whose scales were taken last, for 64 rows.
  struct Products {
    RowPair of_runs[runs];

    template <class Totals, class Values>
    HEDDLE_DEVICE void add(Totals& totals, std::uint32_t row_block, const Values& values) const {
      totals.add(row_block, values, of_runs);
    }
  };
  HEDDLE_DEVICE Products products(std::uint32_t row_block) const {
    const RowPair& a = of_a_[row_block];
    Products products;
    HEDDLE_UNROLL
    for (std::uint32_t run = 0; run < runs; ++run) {
      const float b = !has_two || run * step < split_ ? of_left_ : of_right_;
      products.of_runs[run] = {{a[0] * b, a[1] * b}};
    }
    return products;
  }

 private:
  // B's scales come 32 at a time, one for each lane.
  HEDDLE_DEVICE void fetch(std::uint32_t first) {
    const std::uint32_t k = first + isa::laneid() < last_ ? first + isa::laneid() : last_;
    next_left_ = isa::ld_global(left_ + k);
    if constexpr (has_two) next_right_ = isa::ld_global(right_ + k);
  }
  HEDDLE_DEVICE static float of_lane(float batch, std::uint32_t k) {
    return __builtin_bit_cast(
        float, isa::shfl_sync_idx(__builtin_bit_cast(std::uint32_t, batch), k % isa::kWarpThreads));
  }

  std::uint32_t last_;
  std::uint32_t row_;
  std::uint32_t split_;  // columns of the tile in the first of two blocks
  const float* left_;
  const float* right_;
  float next_left_ = 0;
  float next_right_ = 0;
  float left_batch_ = 0;
  float right_batch_ = 0;
  float of_left_ = 0;
  float of_right_ = 0;
  RowPair of_a_[row_blocks] = {};
};

// In place of them where sums are added as they are: a multiplication by 1 instead took 6 % more time on an H200.
struct NoFactors {
  HEDDLE_DEVICE void fetch_if_due(std::uint32_t) {}
  template <class Stage>
  HEDDLE_DEVICE void take(const Stage&, std::uint32_t) {}
  struct Products {
    template <class Totals, class Values>
    HEDDLE_DEVICE void add(Totals& totals, std::uint32_t row_block, const Values& values) const {
      totals.add(row_block, values);
    }
  };
  HEDDLE_DEVICE Products products(std::uint32_t) const { return {}; }
};

// As WgmmaInputBackend, for stages of which threads read a part, too: scales, which only this CTA's own copies
// write. Other CTAs have read by tensor cores alone, and their arrivals are relaxed; arrivals in this CTA release
// what its warps have read.
template <std::uint32_t stages, bool is_multicast>
class ScaledInputBackend : public MbarrierBackend<stages> {
  using Base = MbarrierBackend<stages>;

 public:
  using Base::num_stages;
  static constexpr bool signals_by_warp = true;

  // `release_mask`: the CTAs whose copies this one reads, its own among them. Lane i tells CTA i.
  HEDDLE_DEVICE explicit ScaledInputBackend(MbarPtr storage, std::uint16_t release_mask = 1)
      : Base(storage), tells_own_(isa::laneid() == (is_multicast ? isa::cluster_ctarank() : 0)) {
    const std::uint32_t lane = isa::laneid();
    tells_peer_ = is_multicast && !tells_own_ && (std::uint32_t{release_mask} >> lane & 1u) != 0;
    peers_empty_ = tells_peer_ ? isa::mapa(Base::empty_mbar(0), lane) : Base::empty_mbar(0);
  }

  // Orders: what this CTA's warps have read, ahead of the copies that this thread starts next.
  HEDDLE_DEVICE void wait_empty(std::uint32_t stage, std::uint32_t phase, Name name, SuspendHint hint,
                                CallSite site) const {
    Base::wait_empty(stage, phase, name, hint, site);
    isa::fence_proxy_async_shared_cta(site);
  }

  // By a whole warp, which has waited for its wgmmas.
  // Orders: what every thread of the warp did before, ahead of what this CTA's load warp does after its wait.
  HEDDLE_DEVICE void arrive_empty(std::uint32_t stage, CallSite site) const {
    isa::syncwarp(isa::kFullMask, site);
    if (tells_own_) isa::mbarrier_arrive(Base::empty_mbar(stage), 1, site);
    if (is_multicast && tells_peer_) isa::mbarrier_arrive_cluster_relaxed(peers_empty_ + stage, site);
  }

 private:
  // Found out once: a warp that releases a stage has its sums to add next, and the tensor cores may wait for
  // that.
  bool tells_own_;
  bool tells_peer_;
  MbarPtr peers_empty_;
};

}  // namespace heddle::inline HEDDLE_TARGET
