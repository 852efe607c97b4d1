// SPDX-License-Identifier: Apache-2.0
//
// C = A * B for Hopper: A is [M, K], B is [N, K] (or [K, N]), both bf16 or fp16; sums are float, C is bf16, fp16
// or float. Ragged edges: behind the end of K the copy engine reads zeros. Rows behind the end of M or N are not
// copied, because the copy engine makes zeros more slowly than it copies; what is multiplied in their place goes
// into elements of C that do not exist, and are not stored.
//
// Persistent, with one warp that loads and one or two warpgroups that multiply. Loads go through a ring of
// stages; with a cluster, the CTAs that need the same rows of A or B load a part each and multicast it. Results
// go through small tiles of shared memory, which each warp has for itself, to the copy engine, which stores them
// while the next tile is multiplied.
#pragma once

#include "matmul_element.h"
#include "matmul_epilogue.h"
#include "tile_order.h"

#include <heddle/isa/annotate.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/convert.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/matrix.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/registers.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/isa/wgmma.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/pipeline/payload.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>

namespace heddle::inline HEDDLE_TARGET {

enum class MatmulForm : std::uint8_t {
  kCooperative,  // two math warpgroups share a tile and have half of its rows each
  kPingpong,     // two math warpgroups have a tile each: one stores while the other multiplies
  kSingle,       // one math warpgroup
};

enum class MatmulOutput : std::uint8_t { kBf16, kFp16, kFp32 };

constexpr MatmulOutput matmul_output(MatmulElement type) {
  switch (type) {
    case MatmulElement::kBf16: return MatmulOutput::kBf16;
    case MatmulElement::kFp16: return MatmulOutput::kFp16;
    default: return MatmulOutput::kFp32;
  }
}

struct MatmulSm90Config {
  std::uint32_t tile_m = 128;
  std::uint32_t tile_n = 128;
  std::uint32_t tile_k = 64;
  std::uint32_t stages = 4;
  std::uint32_t cluster_m = 1;  // CTAs along M that share rows of B
  std::uint32_t cluster_n = 1;  // CTAs along N that share rows of A
  MatmulForm form = MatmulForm::kCooperative;
  Major b_major = Major::kK;      // kMN: B is [K, N]
  std::uint32_t store_tiles = 2;  // of 16 rows x 128 bytes, for each warp

  bool operator==(const MatmulSm90Config&) const = default;

  HEDDLE_HOST_DEVICE constexpr std::uint32_t cluster() const { return cluster_m * cluster_n; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t math_warpgroups() const {
    return form == MatmulForm::kSingle ? 1 : 2;
  }
  // Rows of a tile that one warpgroup multiplies.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t warpgroup_rows() const {
    return form == MatmulForm::kCooperative ? tile_m / 2 : tile_m;
  }
};

template <class Epilogue>
struct MatmulSm90Params {
  isa::TensorMap a;
  isa::TensorMap a_edge;  // boxes of the rows that are left at the end of M
  isa::TensorMap b;
  isa::TensorMap b_edge;     // and of N
  isa::TensorMap c;          // boxes of 16 rows x 128 bytes
  isa::TensorMap c_tail;     // boxes for what is left of a tile's columns
  TileOrder order;           // of clusters' tiles
  std::uint32_t k_blocks;    // of a tile: all of K, or of a part of it
  std::uint32_t split_rows;  // of C for each part of K
  std::uint32_t a_kept;      // rows of A that every tile copies
  std::uint32_t b_kept;      // and of B, which are columns where it is [K, N]
  bool a_is_short;           // no tile copies more of A
  std::uint32_t m;
  std::uint32_t n;
  MatmulOutput output;
  typename Epilogue::Params epilogue;
};

template <MatmulSm90Config config, Element In, class Epilogue = PlainEpilogue>
struct MatmulSm90 {
  using Params = MatmulSm90Params<Epilogue>;
  using Payload = StandardTilePayload<In, In,
                                      StandardTileConfig{.a = {config.tile_m, config.tile_k},
                                                         .b = config.b_major == Major::kK
                                                                  ? TileShape{config.tile_n, config.tile_k}
                                                                  : TileShape{config.tile_k, config.tile_n}}>;
  using ATile = typename Payload::ATile;
  using BTile = typename Payload::BTile;

  static constexpr std::uint32_t kMathWarps = 4 * config.math_warpgroups();
  static constexpr std::uint32_t kStoreTileRows = 16;
  static constexpr std::uint32_t kStoreTileBytes = kStoreTileRows * 128;

  struct Shared {
    InputPipelineStorage<config.stages, Payload> input;
    SMemArray<unsigned char, kMathWarps * config.store_tiles * kStoreTileBytes, 1024> output;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());

  // With two math warpgroups the loading warp has a warpgroup of its own, which hands its registers over.
  static constexpr bool kMovesRegisters = config.math_warpgroups() == 2;
  static constexpr std::uint32_t kThreads = 128 * config.math_warpgroups() + (kMovesRegisters ? 128 : 32);
  static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Pipeline pipeline = shared.input.template pipeline<kScope>("input");
    if (isa::tid_x() == 0) {
      pipeline.init_mbars(1, kArrivalsPerStage);
      isa::fence_mbarrier_init();
    }
    const bool has_gaps = params.a_kept < config.tile_m && !params.a_is_short;
    if (has_gaps || params.b_kept < config.tile_n) clear_gaps(params, shared.input.payload());
    if constexpr (config.cluster() > 1) {
      isa::cluster_sync();
    } else {
      isa::syncthreads();
    }
    isa::griddepcontrol_launch_dependents();
    isa::griddepcontrol_wait();
    const std::uint32_t warp = isa::warp_idx();
    if (warp >= kMathWarps) {
      if constexpr (kMovesRegisters) isa::setmaxnreg_dec<kLoadRegisters>();
      if (warp == kMathWarps && isa::elect_sync()) load(params, shared, pipeline);
    } else {
      if constexpr (kMovesRegisters) isa::setmaxnreg_inc<kMathRegisters>();
      multiply(params, shared, pipeline, warp);
    }
  }

  // Rows of a tile that one CTA copies, of those that share it.
  static constexpr std::uint32_t kRowsOfA = config.tile_m / config.cluster_n;
  static constexpr std::uint32_t kRowsOfB = config.tile_n / config.cluster_m;

  // How many rows of a tile that begins at `first` are copied: those inside of the matrix, in eights.
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t rows_inside(std::uint32_t first, std::uint32_t extent,
                                                                std::uint32_t tile_rows) {
    const std::uint32_t rows = first < extent ? (extent - first + 7) / 8 * 8 : 0;
    return rows < tile_rows ? rows : tile_rows;
  }
  // The same for columns of B, which come in whole panels.
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t b_inside(std::uint32_t first, std::uint32_t n) {
    const std::uint32_t rows = rows_inside(first, n, config.tile_n);
    return config.b_major == Major::kK ? rows : (rows + 63) / 64 * 64;
  }

 private:
  static constexpr std::uint32_t kRowBlocks = config.warpgroup_rows() / kWgmmaM;
  static constexpr WgmmaShape kWgmma{.n = config.tile_n,
                                     .a = std::is_same_v<In, bf16> ? OperandType::kBf16 : OperandType::kF16,
                                     .b = std::is_same_v<In, bf16> ? OperandType::kBf16 : OperandType::kF16,
                                     .b_major = config.b_major};
  using Sums = WgmmaAccumulators<kWgmma>[kRowBlocks];

  static constexpr bool kIsCrowded = kRowBlocks * kWgmma.d_registers() > 168;
  static constexpr std::uint32_t kLoadRegisters = kIsCrowded ? 24 : 40;
  static constexpr std::uint32_t kMathRegisters = kIsCrowded ? 240 : 232;

  // In the pingpong form, the barrier on which a warpgroup waits for its turn to multiply.
  static constexpr std::uint32_t kTurnBarrier = 1;
  static constexpr std::uint32_t kTurnThreads = 2 * kWarpgroupThreads;
  static constexpr std::uint32_t kClearBarrier = 3;

  // A stage is empty when every warp that reads it has said so, in every CTA that this one sends a part to.
  static constexpr std::uint32_t kReadingWarps = config.form == MatmulForm::kCooperative ? 8 : 4;
  static constexpr std::uint32_t kArrivalsPerStage = kReadingWarps * (config.cluster_m + config.cluster_n - 1);
  static constexpr PipelineScope kScope =
      config.cluster() > 1 ? PipelineScope::kClusterAsync : PipelineScope::kCta;
  using Pipeline = ProducerConsumerPipeline<config.stages, MbarrierBackend<config.stages, kScope>>;
  using ConsumerHandle = typename Pipeline::ConsumerHandle;

  static_assert(config.warpgroup_rows() % kWgmmaM == 0, "a math warpgroup multiplies 64 rows at a time");
  static_assert(config.tile_k % 64 == 0, "a stage holds whole rows of the 128-byte swizzle");
  static_assert(config.tile_m % config.cluster_n == 0 && config.tile_n % config.cluster_m == 0,
                "the CTAs that share a tile load equal parts of it");
  static_assert(config.b_major == Major::kK || BTile::panels() % config.cluster_m == 0,
                "the CTAs that share a tile load equal numbers of its panels");

  // Where this CTA stands in its cluster, and who shares with it.
  using Place = KernelContext<ClusterConfig{.cluster = {config.cluster_m, config.cluster_n}}>;

  HEDDLE_DEVICE static TileWalk tiles_of_cluster(const Params& params) {
    if constexpr (config.cluster() > 1) {
      return TileWalk(params.order, isa::clusterid().x, isa::nctaid().x / config.cluster());
    } else {
      return TileWalk(params.order, isa::ctaid().x, isa::nctaid().x);
    }
  }

  // The first row and column of this CTA's tile.
  HEDDLE_DEVICE static TileIndex origin(TileIndex cluster_tile, const Place& place) {
    return {(cluster_tile.m * config.cluster_m + place.cluster_m()) * config.tile_m,
            (cluster_tile.n * config.cluster_n + place.cluster_n()) * config.tile_n, cluster_tile.split};
  }

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, Pipeline& pipeline) {
    isa::annotate_role("load");
    const Payload payload = shared.input.payload();
    const Place place;
    for (TileWalk walk = tiles_of_cluster(params); walk.is_inside(); walk.next()) {
      const TileIndex first = origin(walk.tile(), place);
      const Block block = block_of(params, first, place);
      const std::uint32_t first_block = first.split * params.k_blocks;
      for (std::uint32_t k_block = first_block; k_block < first_block + params.k_blocks; ++k_block) {
        auto stage = pipeline.acquire_producer();
        stage.expect_bytes(block.tx_bytes);
        copy_block(block, payload.get_a_tile(stage.index()), payload.get_b_tile(stage.index()), first,
                   k_block * config.tile_k, place, stage.mbar());
        std::move(stage).release();
      }
    }
    // Peers signal the barriers of this CTA until they have read all that it sent them.
    if constexpr (config.cluster() > 1) pipeline.drain_producer();
  }

  // What this CTA copies of every block along K of a tile. The CTAs that need the same rows of A or B copy an
  // equal part each, for all of them: rows where K is contiguous, panels of 64 columns where it is not.
  struct Block {
    const isa::TensorMap* a;  // null: nothing, because its part is outside
    const isa::TensorMap* b;
    std::uint32_t b_panels;  // of B as [K, N]
    std::uint32_t tx_bytes;  // that arrive in a stage, from all who copy
  };

  HEDDLE_DEVICE static Block block_of(const Params& params, TileIndex first, const Place& place) {
    const std::uint32_t a = rows_inside(first.m, params.m, config.tile_m);
    const std::uint32_t b = b_inside(first.n, params.n);
    return {.a = map_of(a, place.cluster_n() * kRowsOfA, kRowsOfA, params.a, params.a_edge),
            .b = map_of(b, place.cluster_m() * kRowsOfB, kRowsOfB, params.b, params.b_edge),
            .b_panels = b / 64,
            .tx_bytes = (a + b) * config.tile_k * static_cast<std::uint32_t>(sizeof(In))};
  }

  HEDDLE_DEVICE static const isa::TensorMap* map_of(std::uint32_t rows, std::uint32_t from, std::uint32_t part,
                                                    const isa::TensorMap& whole, const isa::TensorMap& edge) {
    return rows >= from + part ? &whole : rows > from ? &edge : nullptr;
  }

  HEDDLE_DEVICE static void copy_block(const Block& block, ATile a, BTile b, TileIndex first, std::uint32_t k,
                                       const Place& place, MbarPtr full) {
    if (block.a != nullptr) {
      HEDDLE_UNROLL
      for (std::uint32_t panel = 0; panel < ATile::panels(); ++panel) {
        copy_box<config.cluster_n>(a.panel_data(panel) + place.cluster_n() * kRowsOfA * 64, *block.a,
                                   k + panel * 64, first.m + place.cluster_n() * kRowsOfA,
                                   place.a_multicast_mask(), full);
      }
    }
    if (block.b == nullptr) return;
    if constexpr (config.b_major == Major::kK) {
      HEDDLE_UNROLL
      for (std::uint32_t panel = 0; panel < BTile::panels(); ++panel) {
        copy_box<config.cluster_m>(b.panel_data(panel) + place.cluster_m() * kRowsOfB * 64, *block.b,
                                   k + panel * 64, first.n + place.cluster_m() * kRowsOfB,
                                   place.b_multicast_mask(), full);
      }
    } else {
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < kRowsOfB / 64; ++i) {
        const std::uint32_t panel = place.cluster_m() * (kRowsOfB / 64) + i;
        if (panel >= block.b_panels) continue;
        copy_box<config.cluster_m>(b.panel_data(panel), *block.b, first.n + panel * 64, k,
                                   place.b_multicast_mask(), full);
      }
    }
  }

  template <std::uint32_t sharers>
  HEDDLE_DEVICE static void copy_box(In* to, const isa::TensorMap& map, std::uint32_t inner, std::uint32_t outer,
                                     [[maybe_unused]] std::uint16_t mask, MbarPtr full) {
    const std::int32_t at[2] = {static_cast<std::int32_t>(inner), static_cast<std::int32_t>(outer)};
    if constexpr (sharers > 1) {
      isa::cp_async_bulk_tensor_load_multicast(to, &map, at, full, mask);
    } else {
      isa::cp_async_bulk_tensor_load(to, &map, at, full);
    }
  }

  HEDDLE_DEVICE static void multiply(const Params& params, Shared& shared, Pipeline& pipeline,
                                     std::uint32_t warp) {
    isa::annotate_role("math");
    const std::uint32_t warpgroup = warp / 4;
    const std::uint32_t first_row =
        config.form == MatmulForm::kCooperative ? warpgroup * config.warpgroup_rows() : 0;
    const Payload payload = shared.input.payload();
    const Operands operands{.a = payload.get_a_tile(0).template wgmma_descriptor<Major::kK>(first_row),
                            .b = payload.get_b_tile(0).template wgmma_descriptor<config.b_major>()};
    const Place place;
    const std::uint16_t readers = place.input_release_mask();
    unsigned char* const store_tiles = shared.output.ptr(warp * config.store_tiles * kStoreTileBytes);

    if (params.a_is_short) {
      clear_end_of_a(params, payload);
      isa::bar_sync(kClearBarrier, kMathWarps * isa::kWarpThreads);
    }
    Sums sums;
    TileWalk walk = tiles_of_cluster(params);
    if (config.form == MatmulForm::kPingpong && warpgroup == 1) {
      walk.next();
      pipeline.consumer_skip(params.k_blocks);
    }
    bool is_first = warpgroup == 0;
    while (walk.is_inside()) {
      const TileIndex first = origin(walk.tile(), place);
      if constexpr (config.form == MatmulForm::kPingpong) {
        if (!is_first) isa::bar_sync(kTurnBarrier + warpgroup, kTurnThreads);
        is_first = false;
      }
      multiply_tile(params, pipeline, operands, readers, walk.has_next(), warpgroup, sums);
      if constexpr (config.form == MatmulForm::kPingpong) {
        pipeline.consumer_skip(params.k_blocks);
        walk.next();
      }
      walk.next();
      store(sums, {.params = params,
                   .tiles = store_tiles,
                   .row = first.m + first_row + warp % 4 * kStoreTileRows,
                   .col = first.n,
                   .rows_before = first.split * params.split_rows,
                   .is_elected = isa::elect_sync()});
    }
    if (isa::elect_sync()) isa::cp_async_bulk_wait_group<0>();
  }

  // Rows that no tile of A copies, by the math warps, while the first stages are filled.
  HEDDLE_DEVICE static void clear_end_of_a(const Params& params, const Payload& payload) {
    for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
      HEDDLE_UNROLL
      for (std::uint32_t panel = 0; panel < ATile::panels(); ++panel) {
        clear<kMathWarps * 32>(payload.get_a_tile(stage).panel_data(panel), params.a_kept, config.tile_m);
      }
    }
    isa::fence_proxy_async_shared_cta();
  }

  // Rows that some tile does not copy are multiplied all the same. They must be something, though.
  // Orders: the zeros, through the fence and the barrier behind, before what the copy engine writes and wgmma
  // reads.
  HEDDLE_DEVICE static void clear_gaps(const Params& params, const Payload& payload) {
    for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
      HEDDLE_UNROLL
      for (std::uint32_t panel = 0; panel < ATile::panels() && !params.a_is_short; ++panel) {
        clear<kThreads>(payload.get_a_tile(stage).panel_data(panel), params.a_kept, config.tile_m);
      }
      HEDDLE_UNROLL
      for (std::uint32_t panel = 0; panel < BTile::panels(); ++panel) {
        In* const data = payload.get_b_tile(stage).panel_data(panel);
        if constexpr (config.b_major == Major::kK) {
          clear<kThreads>(data, params.b_kept, config.tile_n);
        } else {
          clear<kThreads>(data, params.b_kept > panel * 64 ? config.tile_k : 0, config.tile_k);
        }
      }
    }
    isa::fence_proxy_async_shared_cta();
  }

  // Rows of 128 bytes.
  template <std::uint32_t threads>
  HEDDLE_DEVICE static void clear(In* panel, std::uint32_t from, std::uint32_t to) {
    auto* const bytes = reinterpret_cast<unsigned char*>(panel);
    for (std::uint32_t at = from * 128 + isa::tid_x() * 16; at < to * 128; at += threads * 16) {
      isa::st_shared(reinterpret_cast<isa::Bytes16*>(bytes + at), isa::Bytes16{});
    }
  }

  // Descriptors of the operands in stage 0.
  struct Operands {
    std::uint64_t a;
    std::uint64_t b;
  };

  // One tile. A stage goes back while the multiplication of the next one is under way.
  HEDDLE_DEVICE static void multiply_tile(const Params& params, Pipeline& pipeline, const Operands& operands,
                                          std::uint16_t readers, bool passes_turn, std::uint32_t warpgroup,
                                          Sums& sums) {
    fence_sums(sums);
    auto previous = pipeline.acquire_consumer();
    multiply_stage<true>(operands, previous.index(), sums);
    isa::wgmma_commit_group();
    for (std::uint32_t k_block = 1; k_block < params.k_blocks; ++k_block) {
      auto stage = pipeline.acquire_consumer();
      multiply_stage<false>(operands, stage.index(), sums);
      isa::wgmma_commit_group();
      isa::wgmma_wait_group<1>();
      release(std::move(previous), readers);
      previous = std::move(stage);
    }
    if constexpr (config.form == MatmulForm::kPingpong) {
      if (passes_turn) isa::bar_arrive(kTurnBarrier + 1 - warpgroup, kTurnThreads);
    }
    isa::wgmma_wait_group<0>();
    fence_sums(sums);
    release(std::move(previous), readers);
  }

  template <bool starts_sums>
  HEDDLE_DEVICE static void multiply_stage(const Operands& operands, std::uint32_t stage, Sums& sums) {
    const std::uint64_t a = advanced_descriptor(operands.a, stage * a_stage_bytes);
    const std::uint64_t b = advanced_descriptor(operands.b, stage * b_stage_bytes);
    isa::wgmma_fence();
    HEDDLE_UNROLL
    for (std::uint32_t k = 0; k < config.tile_k; k += kWgmma.k()) {
      HEDDLE_UNROLL
      for (std::uint32_t block = 0; block < kRowBlocks; ++block) {
        isa::wgmma_mma_async<kWgmma>(
            sums[block], advanced_descriptor(a, operand_bytes<ATile, Major::kK>(block * kWgmmaM, k)),
            advanced_descriptor(b, operand_bytes<BTile, config.b_major>(0, k)), !(starts_sums && k == 0));
      }
    }
  }

  static constexpr std::uint32_t a_stage_bytes = Payload::template Storage<1>::ATileArray::tile_stride_bytes;
  static constexpr std::uint32_t b_stage_bytes = Payload::template Storage<1>::BTileArray::tile_stride_bytes;

  template <class Tile, Major major>
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t operand_bytes(std::uint32_t row, std::uint32_t k) {
    return Tile::template smem_descriptor<major>(0, row, k).start_address;
  }

  HEDDLE_DEVICE static void fence_sums(Sums& sums) {
    HEDDLE_UNROLL
    for (std::uint32_t block = 0; block < kRowBlocks; ++block) isa::wgmma_fence_operands(sums[block]);
  }

  HEDDLE_DEVICE static void release(ConsumerHandle&& stage, std::uint16_t readers) {
    if constexpr (config.cluster() > 1) {
      std::move(stage).release_to(readers);
    } else {
      std::move(stage).release_elected();
    }
  }

  // Where the sums of one warp go: 16 rows of each block of 64, from `row` and `col` on.
  struct Store {
    const Params& params;
    unsigned char* tiles;
    std::uint32_t row;
    std::uint32_t col;
    std::uint32_t rows_before;  // in C, for other parts of K
    bool is_elected;
  };

  HEDDLE_DEVICE static void store(Sums& sums, const Store& to) {
    switch (to.params.output) {
      case MatmulOutput::kBf16: return store_panels<bf16>(to, sums, typename PanelsOf<bf16>::Turns());
      case MatmulOutput::kFp16: return store_panels<fp16>(to, sums, typename PanelsOf<fp16>::Turns());
      default: return store_panels<float>(to, sums, typename PanelsOf<float>::Turns());
    }
  }

  // A panel is 128 bytes of each of the warp's rows. Their numbers are template arguments, because registers can
  // only be indexed by constants.
  template <class Out>
  struct PanelsOf {
    static constexpr std::uint32_t cols = 128 / sizeof(Out);
    static constexpr std::uint32_t per_row = (config.tile_n + cols - 1) / cols;
    static constexpr std::uint32_t chunk_cols = sizeof(Out) == 2 ? 16 : 8;  // put into shared memory together
    using Turns = std::make_index_sequence<kRowBlocks * per_row>;
  };

  template <class Out, std::size_t... turn>
  HEDDLE_DEVICE static void store_panels(const Store& to, Sums& sums, std::index_sequence<turn...>) {
    (store_panel<Out, static_cast<std::uint32_t>(turn)>(to, sums), ...);
  }

  template <class Out, std::uint32_t turn>
  HEDDLE_DEVICE static void store_panel(const Store& to, Sums& sums) {
    constexpr std::uint32_t block = turn / PanelsOf<Out>::per_row;
    constexpr std::uint32_t from = turn % PanelsOf<Out>::per_row * PanelsOf<Out>::cols;
    constexpr bool is_tail = config.tile_n - from < PanelsOf<Out>::cols;
    constexpr std::uint32_t width = is_tail ? config.tile_n - from : PanelsOf<Out>::cols;
    const Params& params = to.params;
    unsigned char* const tile = to.tiles + turn % config.store_tiles * kStoreTileBytes;
    const std::uint32_t row = to.row + block * kWgmmaM;
    const std::uint32_t col = to.col + from;
    if (to.is_elected) {
      // What the last tile left is stored long since. From then on the tiles take turns.
      if constexpr (turn == 0) {
        isa::cp_async_bulk_wait_group_read<0>();
      } else if constexpr (turn >= config.store_tiles) {
        isa::cp_async_bulk_wait_group_read<config.store_tiles - 1>();
      }
    }
    isa::syncwarp();
    bool is_ragged = false;
    if constexpr (!Epilogue::kIsPlain) {
      is_ragged = Epilogue::is_ragged(params.epilogue, col + width, params.n);
      const std::uint32_t lane = isa::laneid();
      Epilogue::template apply_panel<Out, from / 2, width / 4>(
          params.epilogue, {.row = row + lane / 4, .col = col + lane % 4 * 2, .m = params.m, .n = params.n},
          sums[block]);
    }
    put_chunks<Out, from>(
        params, sums[block], tile, row, col, is_ragged,
        std::make_index_sequence<(width + PanelsOf<Out>::chunk_cols - 1) / PanelsOf<Out>::chunk_cols>());
    isa::fence_proxy_async_shared_cta();
    isa::syncwarp();
    if (to.is_elected) {
      if (row < params.m && col < params.n && !is_ragged) {
        isa::cp_async_bulk_tensor_store(
            is_tail ? &params.c_tail : &params.c,
            {static_cast<std::int32_t>(col), static_cast<std::int32_t>(to.rows_before + row)}, tile);
      }
      isa::cp_async_bulk_commit_group();
    }
  }

  template <class Out, std::uint32_t from, std::size_t... chunk>
  HEDDLE_DEVICE static void put_chunks(const Params& params, const WgmmaAccumulators<kWgmma>& sums,
                                       unsigned char* tile, std::uint32_t row, std::uint32_t col, bool is_ragged,
                                       std::index_sequence<chunk...>) {
    (put_chunk<Out, from, static_cast<std::uint32_t>(chunk) * PanelsOf<Out>::chunk_cols>(params, sums, tile, row,
                                                                                         col, is_ragged),
     ...);
  }

  // Columns from + at and on of the sums, to column `at` of the tile, which has the 128-byte swizzle.
  template <class Out, std::uint32_t from, std::uint32_t at>
  HEDDLE_DEVICE static void put_chunk(const Params& params, const WgmmaAccumulators<kWgmma>& sums,
                                      unsigned char* tile, std::uint32_t row, std::uint32_t col, bool is_ragged) {
    const std::uint32_t lane = isa::laneid();
    if constexpr (sizeof(Out) == 2) {
      constexpr std::uint32_t matrices = config.tile_n - from - at >= 16 ? 4 : 2;
      std::uint32_t pairs[matrices];
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < matrices; ++i) {
        const float value[2] = {sums[(from + at) / 2 + 2 * i], sums[(from + at) / 2 + 2 * i + 1]};
        pairs[i] = std::is_same_v<Out, bf16> ? isa::cvt_rn_bf16x2_f32(value[1], value[0])
                                             : isa::cvt_rn_f16x2_f32(value[1], value[0]);
        if constexpr (!Epilogue::kIsPlain) {
          if (is_ragged) {
            const OutputPair pair =
                pair_at(params, row + lane / 4 + i % 2 * 8, col + at + i / 2 * 8 + lane % 4 * 2);
            Epilogue::store(params.epilogue, pair, Out{static_cast<std::uint16_t>(pairs[i])},
                            Out{static_cast<std::uint16_t>(pairs[i] >> 16)});
          }
        }
      }
      unsigned char* const line = tile + lane % 16 * 128;
      if constexpr (matrices == 4) {
        isa::stmatrix_x4(line + ((at / 8 + lane / 16) ^ lane % 8) * 16, pairs);
      } else {
        isa::stmatrix_x2(line + ((at / 8) ^ lane % 8) * 16, pairs);
      }
    } else {
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < 2; ++i) {
        const std::uint32_t tile_row = lane / 4 + i * 8;
        const std::uint32_t tile_col = at + lane % 4 * 2;
        const float value[2] = {sums[(from + at) / 2 + 2 * i], sums[(from + at) / 2 + 2 * i + 1]};
        if constexpr (!Epilogue::kIsPlain) {
          if (is_ragged) {
            Epilogue::store(params.epilogue, pair_at(params, row + tile_row, col + tile_col), value[0], value[1]);
          }
        }
        unsigned char* const line = tile + tile_row * 128;
        isa::st_shared(reinterpret_cast<Pair*>(line + (tile_col / 4 ^ tile_row % 8) * 16 + tile_col % 4 * 4),
                       {value[0], value[1]});
      }
    }
  }

  struct alignas(8) Pair {
    float first;
    float second;
  };

  HEDDLE_DEVICE static OutputPair pair_at(const Params& params, std::uint32_t row, std::uint32_t col) {
    return {
        .row = row, .col = col, .is_inside = row < params.m && col < params.n, .has_second = col + 1 < params.n};
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
