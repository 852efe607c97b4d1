// SPDX-License-Identifier: Apache-2.0
//
// The frame of the Blackwell matmuls: everything but what is multiplied. A CTA has tile_m rows and tile_n columns
// of C at a time. With cta_group 2, two CTAs on neighbouring SMs multiply together: each holds its own rows of A
// and half of the columns of B, and the leader issues the MMAs for both. CTAs of a cluster that need the same
// rows of A or B copy a part each and multicast it.
//
//   scheduler      asks for the next tile (cluster launch control)
//   load           copies the operands into a ring of stages              input pipeline
//   mma            multiplies stage by stage into tensor memory           output pipeline
//   epilogue       tensor memory to registers, to shared memory, to global memory by the copy engine
//   epilogue_load  copies in what C had and a residual, if the policy takes them     epilogue-load pipeline
//
// Ragged edges: behind the end of K the copy engine reads zeros; rows behind the end of M or N are not copied
// where EdgeLoad can leave them out, and outside C nothing is written.
//
// What is multiplied is a family:
//
//   struct Family {
//     static constexpr MatmulSm100Config config;
//     using Payload;                     // the tiles of a stage
//     using Loads;                       // OperandLoads: how they are copied
//     struct Operands;                   // tensor maps, part of the kernel's parameters
//     static constexpr std::uint32_t tmem_cols;   // to allocate; 0: the accumulators alone
//     static constexpr bool has_sums_of_steps;    // every step of K is an accumulator of its own
//     static void load(const Operands&, const Loads&, const Context&, const Tiles&, const TileWork&,
//                      std::uint32_t k_block);
//     static void multiply(const Operands&, const Tiles&, TmemAddress tmem, std::uint32_t accumulator,
//                          bool accumulate);
//   };
#pragma once

#include "matmul_sm100_epilogue.h"
#include "matmul_sm100_parts.h"

#include <heddle/isa/arch.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/tma.h>
#include <heddle/kernel/cta_life.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/warp_context.h>
#include <heddle/pipeline/tile_pipeline.h>

namespace heddle::inline HEDDLE_TARGET {

template <class Operands, class Epilogue>
struct MatmulSm100Params {
  Operands operands;
  OutputTarget c;
  TileSchedulerParams scheduler;
  KBlocks k_blocks;
  isa::TensorMap c_before;  // added, times beta, between the policy's turns; {column, row, batch}
  isa::TensorMap residual;  // added behind everything that the policy does
  bool has_c_before;
  bool has_residual;
  typename Epilogue::Params epilogue;
};

template <class Family, class Epilogue>
struct MatmulSm100Frame {
  using FamilyType = Family;
  static constexpr MatmulSm100Config config = Family::config;
  static constexpr ClusterConfig kCluster = config.cluster_config();
  static constexpr bool kHasSource = requires { requires Epilogue::has_source; };
  static constexpr std::uint32_t kFolds = folds_of<Epilogue>();
  static constexpr std::uint32_t kOutCols = config.tile_n / kFolds;  // of a tile of C
  static_assert(config.tile_n % (16 * config.cta_group) == 0 && config.tile_n <= 256,
                "an MMA has 16 to 256 columns in steps of 16, a pair's in steps of 32: change tile_n");
  static_assert(config.tile_m == kSm100TileM || (config.cta_group == 1 && !kHasSource),
                "64 rows go with one CTA and an epilogue that loads nothing: make tile_m 128");
  static_assert(kFolds == 1 || (config.tile_m == kSm100TileM && config.tile_n % 16 == 0),
                "columns that are folded come in eights of each kind, of 128 rows");

  using Payload = typename Family::Payload;
  using Loads = typename Family::Loads;
  static constexpr bool kHasScaleWarp = requires { requires Family::has_scale_warp; };
  using Roles = std::conditional_t<
      kHasScaleWarp, WarpRoles<MatmulRoles::Epilogue, MatmulRoles::Load, MatmulRoles::Mma, MatmulRoles::Scales>,
      MatmulRoles::Warps<(config.clc_stages > 0), kHasSource>>;
  static_assert(!kHasScaleWarp || (config.clc_stages == 0 && !kHasSource),
                "a warp for scales goes with tiles that are shared out beforehand and a plain epilogue");
  using Counts = ArrivalCounts<kCluster, Roles>;
  using Context = KernelContext<kCluster>;
  using Life = CtaLife<LifeConfig{.cluster = kCluster}, Roles>;
  using Warps = WarpContext<WarpContextConfig{.output = {.num_stages = config.output_stages,
                                                         .stage_stride_cols = config.tile_n,
                                                         .cta_group = config.cta_group},
                                              .tmem_cols = Family::tmem_cols,
                                              .epilogue_threads = MatmulRoles::Epilogue::threads}>;
  using InputBackend = MmaInputBackend<config.stages, CommitConfig{.cta_group = config.cta_group,
                                                                   .is_multicast = (config.cluster.size() > 1)}>;
  using Input = InputTilePipeline<Payload, config.stages, 1, InputBackend>;
  static constexpr TileSchedulerConfig kScheduler{
      .cluster = config.cluster, .group = config.group, .is_batched = true, .is_split = true};
  using Scheduler = TileScheduler<kScheduler, Roles, config.clc_stages>;
  using Stores = StoreTilePipeline<StoreTiles<config.store_tiles>, 1>;
  template <Element Out>
  using Writer = RowWriter<Out, kOutCols, Stores, config.tile_m>;

  using Params = MatmulSm100Params<typename Family::Operands, Epilogue>;
  struct Shared {
    PipelineBundle<PipelineBundleConfig{.input_stages = config.stages,
                                        .output_stages = config.output_stages,
                                        .clc_stages = config.clc_stages,
                                        .epi_load_stages = kHasSource ? config.source_stages : 0},
                   Payload>
        pipelines;
    StoreTiles<config.store_tiles> output_tiles[MatmulRoles::Epilogue::warps];
    std::conditional_t<kHasSource, SourceTiles<config.source_stages>, NoEpiLoad> source_tiles;
    typename Family::OwnShared own;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm100>());
  static constexpr std::uint32_t kThreads = Roles::kThreads;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    run_as<MatmulSm100Frame>(params, shared);
  }

  // With the barriers, the loads and the epilogue of another kernel.
  template <class Kernel>
  HEDDLE_DEVICE static void run_as(const Params& params, Shared& shared) {
    const Context ctx;
    auto scheduler = make_tile_scheduler<Scheduler>(params.scheduler, shared.pipelines);
    Life::run([&] { Kernel::init(shared); }, [&] { prepare(params, shared); },
              as_role<MatmulRoles::Load>([&] { Kernel::load(params, shared, ctx, scheduler); }),
              as_role<MatmulRoles::Mma>([&] { multiply(params, shared, ctx, scheduler); }),
              as_role<MatmulRoles::Epilogue>([&] { Kernel::finish(params, shared, ctx, scheduler); }),
              as_role<MatmulRoles::Scheduler>([&] {
                if constexpr (config.clc_stages > 0) scheduler.run_scheduler();
              }),
              as_role<MatmulRoles::EpilogueLoad>([&] {
                if constexpr (kHasSource) {
                  with_output_type(params.c.type,
                                   [&]<class Out>() { load_source<Out>(params, shared, ctx, scheduler); });
                }
              }));
  }

  HEDDLE_DEVICE static void init(Shared& shared) { shared.pipelines.template init_mbars<Counts>(); }

  HEDDLE_DEVICE static void prepare(const Params& params, Shared& shared) {
    Life::template prefetch<MatmulRoles::Load>(params.c.map);
    if (params.k_blocks.all == 0) return;  // the operands have no maps
    Life::template prefetch<MatmulRoles::Load>(params.operands.a.whole, params.operands.b.whole);
    // Zeros even where sums of the gaps are not stored: once for a CTA, and as PTX the simulated SM follows
    // unwritten operands through a whole accumulator, not by its rows.
    prepare_gaps<typename Loads::A, typename Loads::B, kThreads, true, config.stages>(
        params.operands.a, params.operands.b, shared.pipelines.input.payload());
  }

  // The work of these two may be another scheduler's, with parameters that name K's blocks and the operands
  // alike.
  template <class AnyParams, class AnyScheduler>
  HEDDLE_DEVICE static void load(const AnyParams& params, Shared& shared, const Context& ctx,
                                 AnyScheduler& scheduler) {
    load_by(params, shared, ctx, scheduler, [](const auto&, std::uint32_t) {});
  }
  // `also` is called after the copies of each block along K.
  template <class AnyParams, class AnyScheduler, class Also>
  HEDDLE_DEVICE static void load_by(const AnyParams& params, Shared& shared, const Context& ctx,
                                    AnyScheduler& scheduler, const Also& also) {
    Input input(InputBackend(shared.pipelines.input.barriers.ptr()), shared.pipelines.input.payload());
    LoadOrder order(shared.pipelines);
    const bool is_elected = ctx.elect_one_thread();
    for (const auto work : scheduler.tiles()) {
      scheduler.throttle_signal(ctx.is_first_cta_in_cluster());
      const KBlocks::Range range = params.k_blocks.of_split(work.split);
      const std::uint32_t ahead = range.count < config.stages ? range.count : config.stages;
      const Loads loads(params.operands, ctx, work);
      const auto load_blocks = [&](std::uint32_t first, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
          const auto tiles = input.produce();
          tiles.expect_bytes(loads.tx_bytes());
          Family::load(params.operands, loads, ctx, tiles, work, first + i);
          also(work, first + i);
        }
      };
      if (is_elected) load_blocks(range.first, ahead);
      if constexpr (kHasSource) {
        if (params.has_c_before || params.has_residual) order.arrive();
      }
      if (is_elected) load_blocks(range.first + ahead, range.count - ahead);
    }
    if (is_elected) input.drain_producer();
  }

  template <class AnyParams, class AnyScheduler>
  HEDDLE_DEVICE static void multiply(const AnyParams& params, Shared& shared, const Context& ctx,
                                     AnyScheduler& scheduler) {
    Input input(InputBackend(shared.pipelines.input.barriers.ptr(), ctx.input_release_mask()),
                shared.pipelines.input.payload());
    auto tmem = Warps::MmaHandle::create(shared.pipelines.tmem, shared.pipelines.output, ctx.mma_complete_mask());
    const bool issues = ctx.elect_one_thread() && ctx.is_leader_cta();
    for (const auto work : scheduler.tiles()) {
      if (!issues) continue;
      const std::uint32_t steps = params.k_blocks.of_split(work.split).count;
      const std::uint32_t accumulators = Family::has_sums_of_steps ? steps : 1;
      for (std::uint32_t a = 0; a < accumulators; ++a) {
        auto accumulator = tmem.acquire_k_stage_linear();
        for (std::uint32_t i = 0; i < (Family::has_sums_of_steps ? 1 : steps); ++i) {
          auto tiles = input.acquire_consumer();
          Family::multiply(params.operands, tiles, tmem.tmem().address(), accumulator.tmem_offset(), i != 0);
          std::move(tiles).release();
        }
        std::move(accumulator).release();
      }
    }
    std::move(tmem).release();
  }

  HEDDLE_DEVICE static void finish(const Params& params, Shared& shared, const Context& ctx,
                                   Scheduler& scheduler) {
    with_output_of<Epilogue>(params.c.type, [&]<class Out>() { store<Out>(params, shared, ctx, scheduler); });
  }

  template <Element Out>
  HEDDLE_DEVICE static void store(const Params& params, Shared& shared, const Context& ctx,
                                  Scheduler& scheduler) {
    typename Warps::EpilogueContext tmem(shared.pipelines.tmem, shared.pipelines.output, ctx.mma_complete_mask());
    constexpr std::uint32_t chunks = Writer<Out>::chunks;
    constexpr std::uint32_t chunk_cols = kFolds * Writer<Out>::chunk_cols;  // of the sums
    Stores stores(shared.output_tiles[isa::warp_idx()]);
    Finisher<Out> finisher(params, shared, stores);
    for (const TileWork work : scheduler.tiles()) {
      finisher.start_tile(work);
      auto accumulator = tmem.output().acquire_epilogue_linear();
      const std::uint32_t from = accumulator.tmem().address().of_warp(isa::warp_idx()).bits();
      std::uint32_t sums[kFolds * Writer<Out>::lane_cols] = {};  // they stay zero where K is empty
      for (std::uint32_t chunk = 0; chunk + 1 < chunks; ++chunk) {
        if (finisher.has_sums()) load_sums<config.tile_m>(sums, from + chunk * chunk_cols);
        isa::tcgen05_wait_ld();
        finisher.finish_chunk(chunk, sums);
      }
      // The accumulator goes back as soon as its last columns are in registers.
      if (finisher.has_sums()) load_sums<config.tile_m>(sums, from + (chunks - 1) * chunk_cols);
      std::move(accumulator).release();
      finisher.finish_chunk(chunks - 1, sums);
    }
    stores.drain();
  }

  template <Element Out>
  HEDDLE_DEVICE static void load_source(const Params& params, Shared& shared, const Context& ctx,
                                        Scheduler& scheduler) {
    auto source = shared.pipelines.epi_load.pipeline("epilogue load");
    const SourceTileView<Out, config.tile_n> tiles(shared.source_tiles.ptr());
    LoadOrder order(shared.pipelines);
    const bool is_elected = ctx.elect_one_thread();
    const auto load_chunk = [&](const isa::TensorMap* map, const TileWork& work, std::uint32_t chunk) {
      auto stage = source.acquire_producer();
      stage.expect_bytes(tiles[0].tx_bytes());
      // Orders: what the epilogue has read of the stage before, ahead of the copy.
      isa::fence_proxy_async_shared_cta();
      load_tile(tiles[stage.index()], map,
                {static_cast<std::int32_t>(work.n * config.tile_n + chunk * Writer<Out>::chunk_cols),
                 static_cast<std::int32_t>(work.m * kSm100TileM), static_cast<std::int32_t>(work.batch)},
                stage.mbar());
      std::move(stage).release();
    };
    for (const TileWork work : scheduler.tiles()) {
      if (!params.has_c_before && !params.has_residual) continue;
      order.wait();
      if (!is_elected) continue;
      for (std::uint32_t chunk = 0; chunk < Writer<Out>::chunks; ++chunk) {
        if (params.has_c_before) load_chunk(&params.c_before, work, chunk);
        if (params.has_residual) load_chunk(&params.residual, work, chunk);
      }
    }
    if (is_elected) source.drain_producer();
  }

 private:
  // What an epilogue warp does to sums in registers: the policy, the residual, the store.
  template <Element Out>
  class Finisher {
   public:
    HEDDLE_DEVICE Finisher(const Params& params, Shared& shared, Stores& stores)
        : params_(params),
          source_tiles_(source_storage(shared)),
          source_(shared.pipelines),
          writer_(stores, params.c) {}

    HEDDLE_DEVICE void start_tile(const TileWork& work) {
      has_sums_ = params_.k_blocks.of_split(work.split).count > 0;
      writer_.start_tile(work.m * config.tile_m, work.n * kOutCols,
                         work.batch * params_.scheduler.splits + work.split);
    }
    // False: K is empty, and nobody has written the accumulator.
    HEDDLE_DEVICE bool has_sums() const { return has_sums_; }

    HEDDLE_DEVICE void finish_chunk(std::uint32_t chunk,
                                    const std::uint32_t (&sums)[kFolds * Writer<Out>::lane_cols]) {
      const auto& epilogue = params_.epilogue;
      float values[Writer<Out>::lane_cols];
      if constexpr (kFolds > 1) {
        float unfolded[kFolds * Writer<Out>::lane_cols];
        as_floats(sums, unfolded);
        fold_columns<Epilogue, Writer<Out>::lane_cols, 8>(epilogue, unfolded, values);
      } else {
        as_floats(sums, values);
      }
      RowPart<Writer<Out>::lane_cols, kSm100TileM / config.tile_m> part(
          values, writer_.lane_row(), writer_.lane_column(chunk), params_.c.m, params_.c.n);
      if constexpr (kHasSource) {
        Epilogue::template scale<Out>(epilogue, part);
        if (params_.has_c_before) add_source(epilogue.beta, values);
        Epilogue::template apply<Out>(epilogue, part);
        if (params_.has_residual) add_source(1.0f, values);
      } else {
        Epilogue::template apply<Out>(epilogue, part);
      }
      writer_.store(chunk, values);
    }

   private:
    template <std::uint32_t count>
    HEDDLE_DEVICE static void as_floats(const std::uint32_t (&words)[count], float (&values)[count]) {
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < count; ++i) values[i] = __builtin_bit_cast(float, words[i]);
    }
    HEDDLE_DEVICE void add_source(float factor, float (&values)[Writer<Out>::lane_cols]) requires(kHasSource) {
      auto stage = source_.acquire_consumer();
      add_row(source_tiles_[stage.index()], Roles::template thread_in_role<MatmulRoles::Epilogue>(), factor,
              values);
      std::move(stage).release();
    }
    HEDDLE_DEVICE static unsigned char* source_storage(Shared& shared) {
      if constexpr (kHasSource) return shared.source_tiles.ptr();
      return nullptr;
    }

    const Params& params_;
    SourceTileView<Out, config.tile_n> source_tiles_;
    SourceRing<decltype(Shared::pipelines)> source_;
    Writer<Out> writer_;
    bool has_sums_ = true;
  };
};

}  // namespace heddle::inline HEDDLE_TARGET
