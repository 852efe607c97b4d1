// SPDX-License-Identifier: Apache-2.0
//
// What the Blackwell matmul kernels share: who does what, which tiles come next, how operands are copied in by
// the CTAs that share them, and how accumulators leave tensor memory. matmul_sm100_frame.h puts them together.
#pragma once

#include "matmul/api/matmul_element.h"

#include <heddle/isa/instruction_descriptor.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/tmem.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/clc_scheduler.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/scheduler.h>
#include <heddle/pipeline/output_tile_pipeline.h>
#include <heddle/pipeline/pipeline_bundle.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/layout.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/smem_array.h>
#include <heddle/tile/tmem_view.h>

#include <type_traits>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// Rows of C that one CTA has, unless its configuration says otherwise: all lanes of tensor memory. One MMA spans
// as many for each CTA of its group.
inline constexpr std::uint32_t kSm100TileM = 128;

// How operands lie: K contiguous ([M, K] and [N, K]), or the other extent ([K, M] and [K, N]).
struct OperandMajors {
  Major a = Major::kK;
  Major b = Major::kK;

  bool operator==(const OperandMajors&) const = default;
};

struct MatmulSm100Config {
  std::uint32_t tile_m = kSm100TileM;  // 64: for few rows, with cta_group 1 and a plain epilogue
  std::uint32_t tile_n = 128;
  std::uint32_t stages = 4;
  ClusterShape cluster = {};
  std::uint32_t cta_group = 1;
  std::uint32_t output_stages = 2;
  std::uint32_t clc_stages = 2;     // 0: tiles are shared out beforehand
  std::uint32_t store_tiles = 2;    // of 32 rows x 128 bytes, for each epilogue warp
  std::uint32_t group = 8;          // cluster tiles in a band of the raster
  std::uint32_t source_stages = 2;  // chunks of a residual, 128 rows x 128 bytes

  bool operator==(const MatmulSm100Config&) const = default;

  HEDDLE_HOST_DEVICE constexpr ClusterConfig cluster_config() const { return {cluster, cta_group}; }
  // Of an MMA, and what it takes of each CTA.
  HEDDLE_HOST_DEVICE constexpr AccumulatorShape accumulator() const {
    return {.m = cta_group * tile_m, .n = tile_n, .cta_group = static_cast<int>(cta_group)};
  }
  // CTAs that hold the same rows of A, and the same part of B: each copies an equal part of them to all.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t sharers_of_a() const { return cluster.n; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t sharers_of_b() const { return cluster.m / cta_group; }
};

// Epilogue warps come first: a warp reaches the quarter of tensor memory's lanes that its number says.
struct MatmulRoles {
  using Epilogue = Role<"epilogue", 4>;
  using Scheduler = Role<"scheduler", 1>;
  using Load = Role<"load", 1>;
  using Mma = Role<"mma", 1>;
  using EpilogueLoad = Role<"epilogue_load", 1>;

  template <bool has_clc, bool has_epilogue_load>
  using Warps = std::conditional_t<
      has_clc,
      std::conditional_t<has_epilogue_load, WarpRoles<Epilogue, Scheduler, Load, Mma, EpilogueLoad>,
                         WarpRoles<Epilogue, Scheduler, Load, Mma>>,
      std::conditional_t<has_epilogue_load, WarpRoles<Epilogue, Load, Mma, EpilogueLoad>,
                         WarpRoles<Epilogue, Load, Mma>>>;
};

// By which the main load of a tile goes ahead of the epilogue's; nothing in a kernel whose epilogue loads
// nothing.
template <class Bundle>
class LoadOrder : public LoadOrderBarrier<> {
 public:
  HEDDLE_DEVICE explicit LoadOrder(Bundle& pipelines) : LoadOrderBarrier<>(pipelines.load_order) {}
};
template <class Bundle>
requires(!Bundle::has_epi_load) class LoadOrder<Bundle> {
 public:
  HEDDLE_DEVICE explicit LoadOrder(Bundle&) {}
  HEDDLE_DEVICE void arrive() const {}
};

// The epilogue's side of the residual's ring, if there is one.
template <class Bundle>
class SourceRing : public ProducerConsumerPipeline<decltype(Bundle::epi_load)::num_stages> {
 public:
  HEDDLE_DEVICE explicit SourceRing(Bundle& pipelines)
      : ProducerConsumerPipeline<decltype(Bundle::epi_load)::num_stages>(pipelines.epi_load.barriers.ptr(),
                                                                         "epilogue load") {}
};
template <class Bundle>
requires(!Bundle::has_epi_load) class SourceRing<Bundle> {
 public:
  HEDDLE_DEVICE explicit SourceRing(Bundle&) {}
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

// The tiles of A and of B that a CTA has for its work, from `k` on. The CTAs that hold a tile copy an equal part
// of its rows each.
template <MatmulSm100Config config, Major major = Major::kK, class Tile, class Context>
HEDDLE_DEVICE void load_a(Tile tile, const isa::TensorMap* map, const Context& ctx, const TileWork& work,
                          std::uint32_t first_k, MbarPtr full) {
  const auto k = static_cast<std::int32_t>(first_k);
  const auto m = static_cast<std::int32_t>(work.m * config.tile_m);
  load_tile_part<TileSharing{.sharers = config.sharers_of_a(), .cta_group = config.cta_group}>(
      tile, map, {major == Major::kK ? k : m, major == Major::kK ? m : k, static_cast<std::int32_t>(work.batch)},
      full, ctx.cluster_n(), ctx.a_multicast_mask());
}
template <MatmulSm100Config config, Major major = Major::kK, class Tile, class Context>
HEDDLE_DEVICE void load_b(Tile tile, const isa::TensorMap* map, const Context& ctx, const TileWork& work,
                          std::uint32_t first_k, MbarPtr full) {
  const std::uint32_t half = ctx.cta_rank() % config.cta_group;  // of a pair's columns
  const auto k = static_cast<std::int32_t>(first_k);
  const auto n = static_cast<std::int32_t>(work.n * config.tile_n + half * (config.tile_n / config.cta_group));
  load_tile_part<TileSharing{.sharers = config.sharers_of_b(), .cta_group = config.cta_group}>(
      tile, map, {major == Major::kK ? k : n, major == Major::kK ? n : k, static_cast<std::int32_t>(work.batch)},
      full, ctx.cluster_m() / config.cta_group, ctx.b_multicast_mask());
}

// Where C goes. `map` has boxes of a warp's rows; with `ragged_out`, rows end inside of 16 bytes, where the copy
// engine would write past them: the chunks at that edge are stored element by element.
struct OutputTarget {
  isa::TensorMap map;
  MatmulElement type = MatmulElement::kBf16;
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  void* ragged_out = nullptr;
  std::uint64_t pitch = 0;         // elements
  std::uint64_t batch_stride = 0;  // elements
};

// A tile of C is handled in chunks of columns, a row of which is at most 128 bytes.
template <Element Out, std::uint32_t tile_n>
HEDDLE_HOST_DEVICE constexpr std::uint32_t output_chunk_cols() {
  constexpr std::uint32_t most = 128 / sizeof(Out);
  constexpr std::uint32_t cols = tile_n % most == 0 ? most : tile_n % (most / 2) == 0 ? most / 2 : most / 4;
  static_assert(tile_n % cols == 0, "the columns of a tile are whole chunks: make tile_n a multiple of 32");
  return cols;
}

// Of an epilogue warp, which has a quarter of the rows: tiles of 32 rows x 128 bytes, whatever is stored.
template <std::uint32_t store_tiles>
using StoreTiles = SMemTileArray2D<float, TileShape{kSm100TileM / 4, 32}, store_tiles>;

// How one epilogue warp stores its rows: chunk by chunk through a ring of small tiles that only it uses. A lane
// has a row of the chunk, or with 16 rows half of one: lane t and lane t + 16 have row t.
template <Element Out, std::uint32_t tile_n, class Stores, std::uint32_t tile_m = kSm100TileM>
class OutputWriter {
 public:
  static constexpr std::uint32_t rows = tile_m / 4;
  static_assert(rows == 32 || rows == 16, "a warp has 32 rows of C or 16: make tile_m 128 or 64");
  static constexpr std::uint32_t chunk_cols = output_chunk_cols<Out, tile_n>();
  static constexpr std::uint32_t lane_cols = chunk_cols * rows / 32;
  static constexpr std::uint32_t chunks = tile_n / chunk_cols;
  using Tile = TileTensor<Out, k_major_tile<Out>(rows, chunk_cols, Swizzle::k128B)>;

  HEDDLE_DEVICE OutputWriter(Stores& stores, const OutputTarget& target) : stores_(&stores), target_(&target) {}

  // The first row and column of a tile of C that the writer stores to from here on.
  HEDDLE_DEVICE void start_tile(std::uint32_t row, std::uint32_t col, std::uint32_t batch) {
    row_ = row + isa::warp_idx() * rows;
    col_ = col;
    batch_ = batch;
  }
  // The first column of a chunk that this lane has.
  HEDDLE_DEVICE std::uint32_t lane_column(std::uint32_t chunk) const {
    return col_ + chunk * chunk_cols + first_col();
  }

  HEDDLE_DEVICE std::uint32_t lane_row() const { return row_ + row_in_tile(); }

  // By the whole warp.
  HEDDLE_DEVICE void store(std::uint32_t chunk, const float (&values)[lane_cols]) {
    const std::uint32_t col = col_ + chunk * chunk_cols;
    const bool is_ragged = target_->ragged_out != nullptr && col + chunk_cols > target_->n;
    auto tile = stores_->template acquire_as<Tile>();
    if (is_ragged) {
      store_elements(lane_column(chunk), values);
    } else {
      fill_row(tile.tile(), row_in_tile(), first_col(), values);
    }
    std::move(tile).release_if(
        !is_ragged && row_ < target_->m && col < target_->n, &target_->map,
        {static_cast<std::int32_t>(col), static_cast<std::int32_t>(row_), static_cast<std::int32_t>(batch_)});
  }

 private:
  HEDDLE_DEVICE static std::uint32_t row_in_tile() { return isa::laneid() % rows; }
  HEDDLE_DEVICE static std::uint32_t first_col() { return isa::laneid() / rows * lane_cols; }

  HEDDLE_DEVICE void store_elements(std::uint32_t first, const float (&values)[lane_cols]) const {
    if (lane_row() >= target_->m) return;
    Out* const row =
        static_cast<Out*>(target_->ragged_out) + batch_ * target_->batch_stride + lane_row() * target_->pitch;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < lane_cols; ++i) {
      if (first + i < target_->n) isa::st_global(row + first + i, as_element<Out>(values[i]));
    }
  }

  Stores* stores_;
  const OutputTarget* target_;
  std::uint32_t row_ = 0;
  std::uint32_t col_ = 0;
  std::uint32_t batch_ = 0;
};

// Chunks of a residual on their way in, 128 rows x 128 bytes each, for all four epilogue warps.
template <std::uint32_t source_stages>
using SourceTiles = SMemArray<unsigned char, source_stages * kSm100TileM * 128, 1024>;

template <Element Out, std::uint32_t tile_n>
using SourceTileView =
    SMemTileView<Out, k_major_tile<Out>(kSm100TileM, output_chunk_cols<Out, tile_n>(), Swizzle::k128B)>;

// Sums in tensor memory to a lane's registers, in the order of OutputWriter.
template <std::uint32_t tile_m, std::uint32_t count>
HEDDLE_DEVICE void load_sums(std::uint32_t (&sums)[count], std::uint32_t from) {
  if constexpr (tile_m == 64) {
    isa::tcgen05_ld_16x32bx2<count>(sums, from);
  } else {
    isa::tcgen05_ld_32x32b(sums, from);
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
