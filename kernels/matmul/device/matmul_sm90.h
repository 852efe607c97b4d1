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
//
// Swapped, A is the caller's B and the other way round: wgmma's rows, 64 at a time, are then columns of the
// output, and the output's rows come in eights. A warpgroup stores its tiles together, transposed.
//
// Joined, the CTAs of a cluster have a part of K each of one tile, and add them up in shared memory.
#pragma once

#include "matmul/api/matmul_element.h"
#include "matmul_epilogue.h"
#include "matmul_sm90_join.h"

#include <heddle/isa/entry.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/registers.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/isa/wgmma.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/named_barriers.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/scheduler.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/turns.h>
#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/pipeline/wgmma_backend.h>
#include <heddle/tile/arbitrary_rows.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/fill_transposed.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

enum class MatmulForm : std::uint8_t {
  kCooperative,  // two math warpgroups share a tile and have half of its rows each
  kPingpong,     // two math warpgroups have a tile each: one stores while the other multiplies
  kSingle,       // one math warpgroup
};

struct MatmulSm90Config {
  std::uint32_t tile_m = 128;
  std::uint32_t tile_n = 128;
  std::uint32_t tile_k = 64;
  std::uint32_t stages = 4;
  std::uint32_t cluster_m = 1;  // CTAs along M that share rows of B
  std::uint32_t cluster_n = 1;  // CTAs along N that share rows of A
  MatmulForm form = MatmulForm::kCooperative;
  Major b_major = Major::kK;      // kMN: B is [K, N]
  bool is_swapped = false;        // the tile is one of the transposed output
  std::uint32_t store_tiles = 2;  // of 16 rows x 128 bytes, for each warp

  bool operator==(const MatmulSm90Config&) const = default;

  // Rows and columns of the output that a tile has.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t output_tile_m() const { return is_swapped ? tile_n : tile_m; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t output_tile_n() const { return is_swapped ? tile_m : tile_n; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t cluster() const { return cluster_m * cluster_n; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t math_warpgroups() const {
    return form == MatmulForm::kSingle ? 1 : 2;
  }
  // Rows of a tile that one warpgroup multiplies.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t warpgroup_rows() const {
    return form == MatmulForm::kCooperative ? tile_m / 2 : tile_m;
  }
  // Threads that have the sums of one tile.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t tile_threads() const {
    return form == MatmulForm::kCooperative ? 256 : 128;
  }
  // Whether a cluster of so many CTAs can have a part of K each: what they send each other goes where stages
  // were.
  HEDDLE_HOST_DEVICE constexpr bool joins(std::uint32_t parts) const {
    const std::uint32_t shares = warpgroup_rows() / 64 * ((tile_n + 63) / 64);
    const std::uint32_t received = (shares + parts - 1) / parts * (parts - 1);
    return cluster() == 1 && parts <= isa::kMaxPortableCluster &&
           received * tile_threads() * 128 <= stages * (tile_m + tile_n) * tile_k * 2;
  }
};

template <class Epilogue>
struct MatmulSm90Params {
  isa::TensorMap a;
  isa::TensorMap a_edge;  // boxes of the rows that are left at the end of M
  isa::TensorMap b;
  isa::TensorMap b_edge;  // and of N
  isa::TensorMap c;       // boxes of 16 rows x 128 bytes
  isa::TensorMap c_tail;  // boxes for what is left of a tile's columns
  TileSchedulerParams scheduler;
  std::uint32_t k_blocks;    // of a tile: all of K, or of a part of it
  std::uint32_t split_rows;  // of C for each part of K
  std::uint32_t joined;      // parts of K that a cluster adds up; or 1
  std::uint32_t a_kept;      // rows of A that every tile copies
  std::uint32_t b_kept;      // and of B, which are columns where it is [K, N]
  std::uint32_t m;
  std::uint32_t n;
  MatmulElement output;
  typename Epilogue::Params epilogue;
};

template <MatmulSm90Config config, Element In, class Epilogue = PlainEpilogue>
struct MatmulSm90 {
  static constexpr MatmulSm90Config kConfig = config;
  using Operand = In;
  static constexpr std::uint32_t kFolds = folds_of<Epilogue>();
  static constexpr std::uint32_t kOutCols = config.tile_n / kFolds;  // of a tile of C
  static_assert(config.tile_n % (8 * kFolds) == 0,
                "columns that are folded come in eights of each kind: make tile_n a multiple of 16");
  // Whether it stores rows that end inside of 16 bytes.
  static constexpr bool kStoresRagged = requires(typename Epilogue::Params p) { Epilogue::is_ragged(p, 0u, 0u); };
  static constexpr bool kIsBKMajor = config.b_major == Major::kK;
  static constexpr bool kTakesTurns = config.form == MatmulForm::kPingpong;
  static constexpr ClusterConfig kCluster{.cluster = {config.cluster_m, config.cluster_n}};
  static constexpr TileSchedulerConfig kScheduler{.cluster = kCluster.cluster, .is_split = true};
  using Params = MatmulSm90Params<Epilogue>;
  using Context = KernelContext<kCluster>;
  using Scheduler = PersistentTileScheduler<kScheduler>;

  // With two math warpgroups the loading warp has a warpgroup of its own, which hands its registers over.
  static constexpr bool kMovesRegisters = config.math_warpgroups() == 2;
  using Math = Role<"math", 4 * config.math_warpgroups()>;
  using Load = Role<"load", 1>;
  using Roles =
      std::conditional_t<kMovesRegisters, WarpRoles<Math, Load, Role<"idle", 3>>, WarpRoles<Math, Load>>;
  static constexpr std::uint32_t kThreads = Roles::kThreads;
  static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);

  using Payload =
      StandardTilePayload<In, In,
                          StandardTileConfig{.a = {config.tile_m, config.tile_k},
                                             .b = kIsBKMajor ? TileShape{config.tile_n, config.tile_k}
                                                             : TileShape{config.tile_k, config.tile_n}}>;
  using InputBackend = WgmmaInputBackend<config.stages, (config.cluster() > 1)>;
  using Input = InputTilePipeline<Payload, config.stages, 1, InputBackend>;
  // Of a warp: tiles of its 16 rows and 128 bytes, whatever is stored. Transposed, of a warpgroup: four times
  // that.
  static constexpr std::uint32_t kStoreWarps = config.is_swapped ? 4 : 1;
  static constexpr std::uint32_t kStoreRows = 16;
  using StoreTiles = SMemTileArray2D<float, TileShape{kStoreRows * kStoreWarps, 32}, config.store_tiles>;
  using Stores = StoreTilePipeline<StoreTiles, kStoreWarps>;
  using Barriers = NamedBarriers<BarrierUse<"turns", 2>, BarrierUse<"stores", 2>>;
  using Turns = WarpgroupTurns<kTakesTurns ? 2 : 1, Barriers::first("turns")>;

  struct Shared {
    typename Input::Storage input;
    StoreTiles output[Math::warps / kStoreWarps];
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const Context ctx;
    const Scheduler scheduler(params.scheduler);
    const KernelScope<kCluster, AtExit::kNothing> scope(
        [&] { Input::init_barriers(shared.input.barriers.ptr(), 1, kReadersOfStage); },
        [&] {
          if (Roles::template is<Load>() && ctx.elect_one_thread()) prefetch(params);
          prepare_gaps(params, shared.input.payload());
        });
    scope.wait_for_kernel_ahead();
    if (Roles::template enter<Math>()) {
      if constexpr (kMovesRegisters) isa::setmaxnreg_inc<kMathRegisters>();
      multiply(params, shared, ctx, scheduler);
    } else {
      if constexpr (kMovesRegisters) isa::setmaxnreg_dec<kLoadRegisters>();
      if (Roles::template enter<Load>() && ctx.elect_one_thread()) load(params, shared, ctx, scheduler);
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
    return kIsBKMajor ? rows : (rows + 63) / 64 * 64;
  }

 private:
  static constexpr std::uint32_t kRows = config.warpgroup_rows();
  static constexpr std::uint32_t kRowBlocks = kRows / kWgmmaM;
  static constexpr WgmmaShape kWgmma{
      .n = config.tile_n, .a = operand_type<In>(), .b = operand_type<In>(), .b_major = config.b_major};
  using Sums = WgmmaSums<kWgmma, kRowBlocks>;
  using Values = WgmmaValues<kWgmma, kRowBlocks>;
  static constexpr bool kJoins = config.cluster() == 1 && kFolds == 1;
  using Parts = PartsOfSums<config.tile_n, kRowBlocks, config.tile_threads()>;

  static constexpr std::uint32_t kStageBytesOfA = Payload::template Storage<1>::ATileArray::tile_stride_bytes;
  static constexpr std::uint32_t kStageBytesOfB = Payload::template Storage<1>::BTileArray::tile_stride_bytes;

  static constexpr bool kIsCrowded = Values::count > 168;
  static constexpr std::uint32_t kLoadRegisters = kIsCrowded ? 24 : 40;
  static constexpr std::uint32_t kMathRegisters = kIsCrowded ? 240 : 232;

  // A stage is empty when every warp that reads it has said so, in every CTA that this one sends a part to.
  static constexpr std::uint32_t kReadersOfStage =
      (config.form == MatmulForm::kCooperative ? 8 : 4) * ArrivalCounts<kCluster, Roles>::input_empty;

  static_assert(kRows % kWgmmaM == 0, "a math warpgroup multiplies 64 rows at a time");
  static_assert(config.tile_k % 64 == 0, "a stage holds whole rows of the 128-byte swizzle");
  static_assert(config.tile_m % config.cluster_n == 0 && config.tile_n % config.cluster_m == 0,
                "the CTAs that share a tile load equal parts of it");
  static_assert(
      !config.is_swapped || (is_plain_epilogue<Epilogue> && kIsBKMajor && config.cluster() == 1),
      "a transposed tile is stored as it is, by a CTA without others, and both operands have K contiguous");

  HEDDLE_DEVICE static void prefetch(const Params& params) {
    isa::prefetch_tensormap(&params.a);
    isa::prefetch_tensormap(&params.b);
    isa::prefetch_tensormap(&params.c);
  }

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, const Context& ctx,
                                 const Scheduler& scheduler) {
    Input input(shared.input);
    for (const TileWork work : scheduler.tiles()) {
      const Block block = block_of(params, work, ctx);
      for (std::uint32_t i = 0; i < params.k_blocks; ++i) {
        const auto tiles = input.produce();
        tiles.expect_bytes(block.tx_bytes);
        load_block(block, tiles, work, (part_of(work) * params.k_blocks + i) * config.tile_k, ctx);
      }
    }
    // Peers signal the barriers of this CTA until they have read all that it sent them.
    if constexpr (config.cluster() > 1) input.drain_producer();
  }

  // Which part of K: one that the scheduler deals out, or that of this CTA in its cluster.
  HEDDLE_DEVICE static std::uint32_t part_of(const TileWork& work) {
    return kJoins ? work.split + isa::ctaid().z : work.split;
  }

  // What this CTA copies of every block along K of a tile. The CTAs that need the same rows of A or B copy an
  // equal part each, for all of them: rows where K is contiguous, panels of 64 columns where it is not.
  struct Block {
    const isa::TensorMap* a;  // null: nothing, because its part is outside
    const isa::TensorMap* b;
    std::uint32_t b_panels;  // of B as [K, N]
    std::uint32_t tx_bytes;  // that arrive in a stage, from all who copy
  };

  HEDDLE_DEVICE static Block block_of(const Params& params, const TileWork& work, const Context& ctx) {
    const std::uint32_t a = rows_inside(work.m * config.tile_m, params.m, config.tile_m);
    const std::uint32_t b = b_inside(work.n * config.tile_n, params.n);
    return {.a = map_of(a, ctx.cluster_n() * kRowsOfA, kRowsOfA, params.a, params.a_edge),
            .b = map_of(b, ctx.cluster_m() * kRowsOfB, kRowsOfB, params.b, params.b_edge),
            .b_panels = b / 64,
            .tx_bytes = (a + b) * config.tile_k * static_cast<std::uint32_t>(sizeof(In))};
  }

  HEDDLE_DEVICE static const isa::TensorMap* map_of(std::uint32_t rows, std::uint32_t from, std::uint32_t part,
                                                    const isa::TensorMap& whole, const isa::TensorMap& edge) {
    return rows >= from + part ? &whole : rows > from ? &edge : nullptr;
  }

  template <class Tiles>
  HEDDLE_DEVICE static void load_block(const Block& block, const Tiles& tiles, const TileWork& work,
                                       std::uint32_t first_k, const Context& ctx) {
    constexpr TileSharing a_sharing{.sharers = config.cluster_n, .has_edge = true};
    constexpr TileSharing b_sharing{.sharers = config.cluster_m, .by_panels = !kIsBKMajor, .has_edge = true};
    const auto m = static_cast<std::int32_t>(work.m * config.tile_m);
    const auto n = static_cast<std::int32_t>(work.n * config.tile_n);
    const auto k = static_cast<std::int32_t>(first_k);
    if (block.a != nullptr) {
      load_tile_part<a_sharing>(tiles.a_tile(), block.a, {k, m}, tiles.barrier(), ctx.cluster_n(),
                                ctx.a_multicast_mask());
    }
    if (block.b != nullptr) {
      load_tile_part<b_sharing>(tiles.b_tile(), block.b, {kIsBKMajor ? k : n, kIsBKMajor ? n : k},
                                tiles.barrier(), ctx.cluster_m(), ctx.b_multicast_mask(), block.b_panels);
    }
  }

  // Rows that some tile does not copy are multiplied all the same. Where sums are stored as they are, they may be
  // what they happen to be. An epilogue that looks at a whole row of sums must find zeros. Orders: the zeros,
  // through the fence and the barrier behind, before what the copy engine writes and wgmma reads.
  HEDDLE_DEVICE static void prepare_gaps(const Params& params, const Payload& payload) {
    constexpr bool clears = !is_plain_epilogue<Epilogue>;
    if constexpr (!clears && !kIsSimulated) return;
    if (params.a_kept == config.tile_m && params.b_kept == config.tile_n) return;
    for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
      const auto a = payload.get_a_tile(stage);
      const auto b = payload.get_b_tile(stage);
      if constexpr (clears) {
        clear_rows<kThreads>(a, params.a_kept);
        if constexpr (kIsBKMajor) clear_rows<kThreads>(b, params.b_kept);
        if constexpr (!kIsBKMajor) clear_panels<kThreads>(b, params.b_kept / 64);
      } else {
        leave_rows<kThreads>(a, params.a_kept);
        if constexpr (kIsBKMajor) leave_rows<kThreads>(b, params.b_kept);
        if constexpr (!kIsBKMajor) leave_panels<kThreads>(b, params.b_kept / 64);
      }
    }
    if constexpr (clears) isa::fence_proxy_async_shared_cta();
  }

  HEDDLE_DEVICE static void multiply(const Params& params, Shared& shared, const Context& ctx,
                                     const Scheduler& scheduler) {
    const std::uint32_t warp = isa::warp_idx();
    const std::uint32_t warpgroup = warp / 4;
    const std::uint32_t row_slice = config.form == MatmulForm::kCooperative ? warpgroup : 0;
    const Payload payload = shared.input.payload();
    Input input(InputBackend(shared.input.barriers.ptr(), ctx.input_release_mask()), payload);
    Stores stores(shared.output[warp / kStoreWarps], Barriers::first("stores") + warpgroup);
    Turns turns(warpgroup);
    Sums sums;
    // Of the first stage; those of the others are so many bytes behind.
    const auto first_a = payload.get_a_tile(0).template slice<kRows, config.tile_k>(row_slice).operand();
    const auto first_b = payload.get_b_tile(0).template operand<config.b_major>();
    const auto a_of = [&](const auto& stage) { return first_a.later(stage.stage() * kStageBytesOfA); };
    const auto b_of = [&](const auto& stage) { return first_b.later(stage.stage() * kStageBytesOfB); };
    if (kTakesTurns && warpgroup == 1) input.pipeline().consumer_skip(params.k_blocks);
    const auto tiles = kTakesTurns ? scheduler.tiles(warpgroup, 2) : scheduler.tiles();
    for (auto tile = tiles.begin(); tile != tiles.end(); ++tile) {
      const TileWork work = *tile;
      auto turn = turns.wait();
      auto stage = input.acquire_consumer();
      auto pending = sums.multiply(a_of(stage), b_of(stage));
      for (std::uint32_t i = 1; i < params.k_blocks; ++i) {
        // A stage goes back while the multiplication of the next one is under way.
        auto next = input.acquire_consumer();
        pending.add(a_of(next), b_of(next));
        pending.template wait_all_but<1>();
        std::move(stage).release();
        stage = std::move(next);
      }
      std::move(turn).pass_if(tile.has_next());
      auto& values = std::move(pending).wait();
      std::move(stage).release();
      if (kTakesTurns) input.pipeline().consumer_skip(params.k_blocks);
      const Parts parts(&shared.input.tiles, params.joined, kJoins ? isa::ctaid().z : 0);
      if (kJoins && params.joined > 1) parts.join(values);
      with_output_of<Epilogue>(params.output, [&]<class Out>() {
        store<Out>(
            params, stores, values,
            {.row = work.m * config.tile_m + row_slice * kRows + (config.is_swapped ? 0 : warp % 4 * kStoreRows),
             .col = work.n * kOutCols,
             .rows_before = work.split * params.split_rows},
            parts);
      });
    }
    stores.drain_reads();
  }

  // Where the sums of one warp go: 16 rows of each block of 64, from `row` and `col` on. Transposed, those of a
  // warpgroup.
  struct Corner {
    std::uint32_t row;
    std::uint32_t col;
    std::uint32_t rows_before;  // in C, for other parts of K
  };

  // Share by share, and panel by panel: 128 bytes of each of the warp's rows. Their numbers are template
  // arguments, because registers can only be indexed by constants.
  template <class Out>
  HEDDLE_DEVICE static void store(const Params& params, Stores& stores, Values& sums, const Corner& at,
                                  const Parts& parts) {
    if constexpr (kFolds > 1) {
      HEDDLE_UNROLL
      for (std::uint32_t block = 0; block < kRowBlocks; ++block) {
        auto& folded = sums.block(block);
        fold_columns<Epilogue, kOutCols / 2, 4>(params.epilogue, folded, folded);
      }
    }
    constexpr std::uint32_t cols = 128 / sizeof(Out);
    constexpr std::uint32_t panels = (kOutCols + cols - 1) / cols;
    if constexpr (kJoins && cols <= Parts::kShareCols) {
      [&]<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
        (store_share<Out, i>(params, stores, sums, at, parts), ...);
      }
      (std::make_integer_sequence<std::uint32_t, Parts::kShares>());
    } else {
      [&]<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
        (store_panel<Out, i % panels * cols>(params, stores, sums.block(i / panels),
                                             at.row + i / panels * kWgmmaM, at),
         ...);
      }
      (std::make_integer_sequence<std::uint32_t, kRowBlocks * panels>());
    }
  }

  template <class Out, std::uint32_t share>
  HEDDLE_DEVICE static void store_share(const Params& params, Stores& stores, Values& sums, const Corner& at,
                                        const Parts& parts) {
    if (!parts.has(share)) return;
    constexpr std::uint32_t block = share / Parts::kSharesOfBlock;
    constexpr std::uint32_t from = share % Parts::kSharesOfBlock * Parts::kShareCols;
    constexpr std::uint32_t left = config.tile_n - from;
    constexpr std::uint32_t cols = 128 / sizeof(Out);
    constexpr std::uint32_t panels = ((left < Parts::kShareCols ? left : Parts::kShareCols) + cols - 1) / cols;
    const std::uint32_t row = at.row + block * kWgmmaM;
    [&]<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
      if constexpr (config.is_swapped) {
        (store_transposed<Out, from + i * cols>(params, stores, sums.block(block), row, at), ...);
      } else {
        (store_panel<Out, from + i * cols>(params, stores, sums.block(block), row, at), ...);
      }
    }
    (std::make_integer_sequence<std::uint32_t, panels>());
  }

  // Columns from `from` on, as many as a panel has, or the rest of the tile.
  template <class Out, std::uint32_t from>
  HEDDLE_DEVICE static void store_panel(const Params& params, Stores& stores, WgmmaAccumulators<kWgmma>& sums,
                                        std::uint32_t row, const Corner& at) {
    constexpr bool is_tail = kOutCols - from < 128 / sizeof(Out);
    constexpr std::uint32_t cols = is_tail ? kOutCols - from : 128 / sizeof(Out);
    const std::uint32_t col = at.col + from;
    bool is_stored = row < params.m && col < params.n / kFolds;
    auto tile =
        stores.template acquire_as<TileTensor<Out, k_major_tile<Out>(kStoreRows, cols, Swizzle::k128B)>>();
    if constexpr (is_plain_epilogue<Epilogue>) {
      fill_from_wgmma<from>(tile.tile(), sums);
    } else {
      const std::uint32_t lane = isa::laneid();
      WgmmaPanel<from / 2, cols / 2, WgmmaAccumulators<kWgmma>> panel(sums, row + lane / 4, col + lane % 4 * 2,
                                                                      params.m, params.n / kFolds);
      Epilogue::template apply<Out>(params.epilogue, panel);
      bool is_ragged = false;
      if constexpr (kStoresRagged) is_ragged = Epilogue::is_ragged(params.epilogue, col + cols, params.n);
      if (is_ragged) {
        if constexpr (kStoresRagged) Epilogue::template store<Out>(params.epilogue, panel);
        is_stored = false;
      } else {
        fill_from_wgmma<from>(tile.tile(), sums);
      }
    }
    std::move(tile).release_if(is_stored, is_tail ? &params.c_tail : &params.c,
                               {static_cast<std::int32_t>(col), static_cast<std::int32_t>(at.rows_before + row)});
  }

  // The same where they are rows of the output.
  template <class Out, std::uint32_t from>
  HEDDLE_DEVICE static void store_transposed(const Params& params, Stores& stores,
                                             WgmmaAccumulators<kWgmma>& sums, std::uint32_t row,
                                             const Corner& at) {
    constexpr bool is_tail = config.tile_n - from < 128 / sizeof(Out);
    constexpr std::uint32_t cols = is_tail ? config.tile_n - from : 128 / sizeof(Out);
    const std::uint32_t col = at.col + from;
    auto tile = stores.template acquire_as<TileTensor<Out, k_major_tile<Out>(cols, kWgmmaM, Swizzle::k128B)>>();
    fill_transposed_from_wgmma<from>(tile.tile(), sums);
    std::move(tile).release_if(row < params.m && col < params.n, is_tail ? &params.c_tail : &params.c,
                               {static_cast<std::int32_t>(row), static_cast<std::int32_t>(col)});
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
