// SPDX-License-Identifier: Apache-2.0
//
// C = A * B for Hopper: A is [M, K], B is [N, K] (or [K, N]), both bf16 or fp16; sums are float, C is bf16, fp16
// or float. Ragged edges: behind the end of K the copy engine reads zeros; rows behind the end of M or N are not
// copied where EdgeLoad can leave them out.
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
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/warp.h>
#include <heddle/isa/wgmma.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/cta_life.h>
#include <heddle/kernel/named_barriers.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/scheduler.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/turns.h>
#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/pipeline/wgmma_backend.h>
#include <heddle/tile/early_rows.h>
#include <heddle/tile/edge_load.h>
#include <heddle/tile/panel_store.h>
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
  EdgeMaps a;
  EdgeMaps b;
  EarlyRows early_a;
  EarlyRows early_b;
  isa::TensorMap c;       // boxes of 16 rows x 128 bytes
  isa::TensorMap c_tail;  // boxes for what is left of a tile's columns
  TileSchedulerParams scheduler;
  std::uint32_t k_blocks;     // of a tile: all of K, or of a part of it
  std::uint32_t split_rows;   // of C for each part of K
  std::uint32_t joined;       // parts of K that a cluster adds up; or 1
  std::uint32_t early_lines;  // of each row of a first tile, brought nearer before the kernel ahead has ended
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
  static constexpr bool kStoresRagged = kStoresRaggedRows<Epilogue>;
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

  static constexpr bool kHasEdge = config.cluster() <= 2;  // see EdgeLoad
  using LoadA = EdgeLoad<typename Payload::ATile, Major::kK,
                         TileSharing{.sharers = config.cluster_n, .has_edge = kHasEdge}>;
  using LoadB = EdgeLoad<typename Payload::BTile, config.b_major,
                         TileSharing{.sharers = config.cluster_m, .has_edge = kHasEdge}>;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const Context ctx;
    const Scheduler scheduler(params.scheduler);
    Life::run_early(
        [&] { Input::template init_barriers<StageCounts>(shared.input.barriers.ptr()); },
        [&] {
          Life::template prefetch<Load>(params.a.whole, params.b.whole, params.c);
          prepare_gaps<LoadA, LoadB, kThreads, !is_plain_epilogue<Epilogue>, config.stages>(
              params.a, params.b, shared.input.payload());
        },
        [&] { fetch_early(params, ctx, scheduler); },
        // By word, because nvcc calls what is large, and wgmma does not go across a call (C7510).
        as_role<Math>([&]() __attribute__((always_inline)) { multiply(params, shared, ctx, scheduler); }),
        as_role<Load>([&] {
          if (ctx.elect_one_thread()) load(params, shared, ctx, scheduler);
        }));
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
  static constexpr RegisterSplit kSplit = kIsCrowded ? RegisterSplit{240, 24} : RegisterSplit{232, 40};
  using Life = CtaLife<LifeConfig{.cluster = kCluster,
                                  .at_exit = AtExit::kNothing,
                                  .registers = kMovesRegisters ? kSplit : RegisterSplit{}},
                       Roles>;

  // A stage is empty when every warp that reads it has said so, in every CTA that this one sends a part to.
  using StageCounts = RingCounts<Roles, OneThread<Load>, EachWarp<Math, kTakesTurns ? 2 : 1>, kCluster>;

  static_assert(kRows % kWgmmaM == 0, "a math warpgroup multiplies 64 rows at a time");
  static_assert(config.tile_k % 64 == 0, "a stage holds whole rows of the 128-byte swizzle");
  static_assert(!config.is_swapped || (is_plain_epilogue<Epilogue> && kIsBKMajor),
                "a transposed tile is stored as it is, and both operands have K contiguous");

  // Of the first tile, what is loaded first.
  HEDDLE_DEVICE static void fetch_early(const Params& params, const Context& ctx, const Scheduler& scheduler) {
    if constexpr (kIsBKMajor) {
      if (params.early_lines == 0) return;
      const TileWork work = scheduler.first();
      const std::uint32_t from =
          part_of(work) * params.k_blocks * static_cast<std::uint32_t>(config.tile_k * sizeof(In));
      fetch_rows_early<Math::threads, LoadA::kPart>(
          params.early_a, work.m * config.tile_m + ctx.cluster_n() * LoadA::kPart, from, params.early_lines);
      fetch_rows_early<Math::threads, LoadB::kPart>(
          params.early_b, work.n * config.tile_n + ctx.cluster_m() * LoadB::kPart, from, params.early_lines);
    }
  }

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, const Context& ctx,
                                 const Scheduler& scheduler) {
    Input input(shared.input);
    for (const TileWork work : scheduler.tiles()) {
      const std::uint32_t m = work.m * config.tile_m;
      const std::uint32_t n = work.n * config.tile_n;
      const auto a = LoadA::part(params.a, m, ctx.cluster_n());
      const auto b = LoadB::part(params.b, n, ctx.cluster_m());
      const std::uint32_t tx_bytes = LoadA::tx_bytes(params.a, m) + LoadB::tx_bytes(params.b, n);
      for (std::uint32_t i = 0; i < params.k_blocks; ++i) {
        const auto tiles = input.produce();
        tiles.expect_bytes(tx_bytes);
        const auto k = static_cast<std::int32_t>((part_of(work) * params.k_blocks + i) * config.tile_k);
        LoadA::load(a, tiles.a_tile(), {k, static_cast<std::int32_t>(m)}, tiles.barrier(), ctx.cluster_n(),
                    ctx.a_multicast_mask());
        LoadB::load(
            b, tiles.b_tile(),
            {kIsBKMajor ? k : static_cast<std::int32_t>(n), kIsBKMajor ? static_cast<std::int32_t>(n) : k},
            tiles.barrier(), ctx.cluster_m(), ctx.b_multicast_mask());
      }
    }
    // Peers signal the barriers of this CTA until they have read all that it sent them.
    if constexpr (config.cluster() > 1) input.drain_producer();
  }

  // Which part of K: one that the scheduler deals out, or that of this CTA in its cluster.
  HEDDLE_DEVICE static std::uint32_t part_of(const TileWork& work) {
    return kJoins ? work.split + isa::ctaid().z : work.split;
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
      const auto corner = [&]() -> Corner {
        return {
            .row = work.m * config.tile_m + row_slice * kRows + (config.is_swapped ? 0 : warp % 4 * kStoreRows),
            .col = work.n * kOutCols,
            .rows_before = work.split * params.split_rows};
      };
      if constexpr (kIsAppliedBefore<Epilogue>) apply_epilogue(params, values, corner(), parts);
      with_output_of<Epilogue>(params.output,
                               [&]<class Out>() { store<Out>(params, stores, values, corner(), parts); });
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

  // To what this CTA stores, some columns at a time.
  HEDDLE_DEVICE static void apply_epilogue(const Params& params, Values& sums, const Corner& at,
                                           const Parts& parts) {
    constexpr std::uint32_t cols = Parts::kShareCols / 2;
    constexpr std::uint32_t pieces = (config.tile_n + cols - 1) / cols;
    [&]<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
      (apply_to<i / pieces, i % pieces * cols, cols>(params, sums, at, parts), ...);
    }
    (std::make_integer_sequence<std::uint32_t, kRowBlocks * pieces>());
  }

  template <std::uint32_t block, std::uint32_t from, std::uint32_t most>
  HEDDLE_DEVICE static void apply_to(const Params& params, Values& sums, const Corner& at, const Parts& parts) {
    if (kJoins && !parts.has(block * Parts::kSharesOfBlock + from / Parts::kShareCols)) return;
    constexpr std::uint32_t cols = config.tile_n - from < most ? config.tile_n - from : most;
    const std::uint32_t lane = isa::laneid();
    WgmmaPanel<from / 2, cols / 2, WgmmaAccumulators<kWgmma>> panel(
        sums.block(block), at.row + block * kWgmmaM + lane / 4, at.col + from + lane % 4 * 2, params.m, params.n);
    Epilogue::apply_as(params.output, params.epilogue, panel);
  }

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
        (store_part<Out, i % panels * cols>(params, stores, sums.block(i / panels), at.row + i / panels * kWgmmaM,
                                            at),
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
      (store_part<Out, from + i * cols>(params, stores, sums.block(block), row, at), ...);
    }
    (std::make_integer_sequence<std::uint32_t, panels>());
  }

  // Columns from `from` on, as many as a panel has, or the rest of the tile.
  template <class Out, std::uint32_t from>
  HEDDLE_DEVICE static void store_part(const Params& params, Stores& stores, WgmmaAccumulators<kWgmma>& sums,
                                       std::uint32_t row, const Corner& at) {
    constexpr bool is_tail = kOutCols - from < 128 / sizeof(Out);
    constexpr std::uint32_t cols = is_tail ? kOutCols - from : 128 / sizeof(Out);
    const isa::TensorMap* const map = is_tail ? &params.c_tail : &params.c;
    const PanelPlace place{row, at.col + from, params.m, params.n / kFolds, at.rows_before};
    if constexpr (config.is_swapped) {
      store_panel_transposed<Out, from, cols>(stores, sums, map, place);
    } else {
      store_panel<Out, from, cols, Epilogue>(stores, sums, params.epilogue, map, place);
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
