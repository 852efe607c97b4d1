// SPDX-License-Identifier: Apache-2.0
//
// What the Blackwell matmul kernels share: who does what, which tiles come next, how operands are copied in by
// the CTAs that share them, and how accumulators leave tensor memory. matmul_sm100_frame.h puts them together.
#pragma once

#include "matmul/api/matmul_element.h"

#include <heddle/isa/instruction_descriptor.h>
#include <heddle/isa/tmem.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/clc_scheduler.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/scheduler.h>
#include <heddle/pipeline/output_tile_pipeline.h>
#include <heddle/pipeline/pipeline_bundle.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/tile/edge_load.h>
#include <heddle/tile/layout.h>
#include <heddle/tile/row_writer.h>
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

// What a family has in shared memory beside its payload, where it has nothing.
struct NothingShared {};

// Epilogue warps come first: a warp reaches the quarter of tensor memory's lanes that its number says.
struct MatmulRoles {
  using Epilogue = Role<"epilogue", 4>;
  using Scheduler = Role<"scheduler", 1>;
  using Load = Role<"load", 1>;
  using Mma = Role<"mma", 1>;
  using EpilogueLoad = Role<"epilogue_load", 1>;
  using Scales = Role<"scales", 1>;  // of families whose scales threads bring

  template <bool has_clc, bool has_epilogue_load>
  using Warps = std::conditional_t<
      has_clc,
      std::conditional_t<has_epilogue_load, WarpRoles<Epilogue, Scheduler, Load, Mma, EpilogueLoad>,
                         WarpRoles<Epilogue, Scheduler, Load, Mma>>,
      std::conditional_t<has_epilogue_load, WarpRoles<Epilogue, Load, Mma, EpilogueLoad>,
                         WarpRoles<Epilogue, Load, Mma>>>;
};

// The tiles of A and of B that a CTA has for its work. The CTAs that hold a tile copy an equal part of it each.
template <MatmulSm100Config config, class Payload, OperandMajors majors = OperandMajors{}>
struct OperandLoads {
  static constexpr bool kHasEdge = config.cluster.size() <= 2 && config.cta_group == 1;  // see EdgeLoad
  using A = EdgeLoad<typename Payload::ATile, majors.a,
                     TileSharing{config.sharers_of_a(), config.cta_group, false, kHasEdge}>;
  using B = EdgeLoad<typename Payload::BTile, majors.b,
                     TileSharing{config.sharers_of_b(), config.cta_group, false, kHasEdge}>;
  static constexpr std::uint32_t kTileN = B::kExtent;  // of a CTA: in a pair half of the MMA's columns

  // Of one tile of C: what this CTA copies of every stage.
  template <class Operands, class Context>
  HEDDLE_DEVICE OperandLoads(const Operands& operands, const Context& ctx, const TileWork& work)
      : m_(work.m * config.tile_m),
        n_(work.n * config.tile_n + ctx.cta_rank() % config.cta_group * kTileN),
        batch_(static_cast<std::int32_t>(work.batch)),
        a_(A::part(operands.a, m_, ctx.cluster_n())),
        b_(B::part(operands.b, n_, ctx.cluster_m() / config.cta_group)),
        tx_bytes_(Payload::tx_bytes - A::Tile::tx_bytes() - B::Tile::tx_bytes() + A::tx_bytes(operands.a, m_) +
                  B::tx_bytes(operands.b, n_)) {}

  // That a stage gets.
  HEDDLE_DEVICE std::uint32_t tx_bytes() const { return tx_bytes_; }

  template <class Context, class Tiles>
  HEDDLE_DEVICE void load(const Context& ctx, const Tiles& tiles, std::uint32_t k) const {
    load_a(ctx, tiles, k);
    const auto [b_col, b_row] = coordinates<majors.b>(k, n_);
    B::load(b_, tiles.b_tile(), {b_col, b_row, batch_}, tiles.barrier(), ctx.cluster_m() / config.cta_group,
            ctx.b_multicast_mask());
  }

  template <class Context, class Tiles>
  HEDDLE_DEVICE void load_a(const Context& ctx, const Tiles& tiles, std::uint32_t k) const {
    const auto [a_col, a_row] = coordinates<majors.a>(k, m_);
    A::load(a_, tiles.a_tile(), {a_col, a_row, batch_}, tiles.barrier(), ctx.cluster_n(), ctx.a_multicast_mask());
  }

 private:
  struct Coordinates {
    std::int32_t col;
    std::int32_t row;
  };
  template <Major major>
  HEDDLE_DEVICE static Coordinates coordinates(std::uint32_t k, std::uint32_t outer) {
    const auto k_at = static_cast<std::int32_t>(k);
    const auto outer_at = static_cast<std::int32_t>(outer);
    return major == Major::kK ? Coordinates{k_at, outer_at} : Coordinates{outer_at, k_at};
  }

  std::uint32_t m_;
  std::uint32_t n_;
  std::int32_t batch_;
  typename A::Part a_;
  typename B::Part b_;
  std::uint32_t tx_bytes_;
};

// Where C goes, and as what.
struct OutputTarget : RowTarget {
  MatmulElement type = MatmulElement::kBf16;
};

// Of an epilogue warp, which has a quarter of the rows: tiles of 32 rows x 128 bytes, whatever is stored.
template <std::uint32_t store_tiles>
using StoreTiles = SMemTileArray2D<float, TileShape{kSm100TileM / 4, 32}, store_tiles>;

// Chunks of a residual on their way in, 128 rows x 128 bytes each, for all four epilogue warps.
template <std::uint32_t source_stages>
using SourceTiles = SMemArray<unsigned char, source_stages * kSm100TileM * 128, 1024>;

template <Element Out, std::uint32_t tile_n>
using SourceTileView =
    SMemTileView<Out, k_major_tile<Out>(kSm100TileM, row_chunk_cols<Out, tile_n>(), Swizzle::k128B)>;

// Sums in tensor memory to a lane's registers, in the order of RowWriter.
template <std::uint32_t tile_m, std::uint32_t count>
HEDDLE_DEVICE void load_sums(std::uint32_t (&sums)[count], std::uint32_t from) {
  if constexpr (tile_m == 64) {
    isa::tcgen05_ld_16x32bx2<count>(sums, from);
  } else {
    isa::tcgen05_ld_32x32b(sums, from);
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
