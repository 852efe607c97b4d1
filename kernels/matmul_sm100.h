// SPDX-License-Identifier: Apache-2.0
//
// C = A * B^T for Blackwell: A is [M, K], B is [N, K], row-major, bf16, fp16, tf32 or fp8; sums are float, C is bf16,
// fp16 or float. One matrix or a batch of them; K in one go or split over several work items.
//
// A CTA has 128 rows and tile_n columns of C at a time. With cta_group 2, two CTAs on neighbouring SMs multiply
// together: each holds its own rows of A and half of the columns of B, and the leader issues the MMAs for both. CTAs of
// a cluster that need the same rows of A or B copy a part each and multicast it.
//
//   scheduler  asks for the next tile (cluster launch control)
//   load       copies A and B into a ring of stages                      input pipeline
//   mma        multiplies stage by stage into tensor memory              output pipeline
//   epilogue   tensor memory to registers, to shared memory, to global memory by the copy engine
//
// Ragged edges are the copy engine's business: it reads zeros outside of A and B and writes nothing outside of C.
#pragma once

#include "matmul_sm100_parts.h"

#include <heddle/isa/arch.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/warp_context.h>
#include <heddle/pipeline/tile_pipeline.h>

namespace heddle::inline HEDDLE_TARGET {

struct MatmulSm100Config {
  std::uint32_t tile_n = 128;
  std::uint32_t stages = 4;
  ClusterShape cluster = {};
  std::uint32_t cta_group = 1;
  std::uint32_t output_stages = 2;
  std::uint32_t clc_stages = 2;   // 0: tiles are shared out beforehand
  std::uint32_t store_tiles = 2;  // of 32 rows x 128 bytes, for each epilogue warp
  std::uint32_t group = 8;        // cluster tiles in a band of the raster

  bool operator==(const MatmulSm100Config&) const = default;
};

template <class Epilogue>
struct MatmulSm100Params {
  isa::TensorMap a;  // {k, row, batch}
  isa::TensorMap b;
  OutputTarget c;
  TileSchedulerParams scheduler;
  KBlocks k_blocks;
  typename Epilogue::Params epilogue;
};

template <MatmulSm100Config config, Element In, Element Out, class Epilogue = PlainEpilogue>
struct MatmulSm100 {
  static constexpr std::uint32_t kTileK = 128 / sizeof(In);  // one swizzle span
  static constexpr ClusterConfig kCluster{.cluster = config.cluster, .cta_group = config.cta_group};
  static constexpr std::uint32_t kSharersOfA = config.cluster.n;
  static constexpr std::uint32_t kSharersOfB = config.cluster.m / config.cta_group;
  static_assert(config.tile_n % (16 * config.cta_group) == 0 && config.tile_n <= 256,
                "an MMA has 16 to 256 columns in steps of 16, a pair's in steps of 32: change tile_n");

  using Payload = StandardTilePayload<In, In,
                                      StandardTileConfig{.a = {kSm100TileM, kTileK},
                                                         .b = {config.tile_n / config.cta_group, kTileK}}>;
  using Roles = MatmulRoles::Warps<(config.clc_stages > 0), false>;
  using Counts = ArrivalCounts<kCluster, Roles>;
  using Context = KernelContext<kCluster>;
  using Warps = WarpContext<WarpContextConfig{.output = {.num_stages = config.output_stages,
                                                         .stage_stride_cols = config.tile_n,
                                                         .cta_group = config.cta_group},
                                              .epilogue_threads = MatmulRoles::Epilogue::threads}>;
  using InputBackend =
      MmaInputBackend<config.stages,
                      CommitConfig{.cta_group = config.cta_group, .is_multicast = (config.cluster.size() > 1)}>;
  using Input = InputTilePipeline<Payload, config.stages, 1, InputBackend>;
  static constexpr TileSchedulerConfig kScheduler{
      .cluster = config.cluster, .group = config.group, .is_batched = true, .is_split = true};
  using Scheduler = MatmulScheduler<kScheduler, Roles, config.clc_stages>;
  using Writer = OutputWriter<Out, config.tile_n, config.store_tiles>;

  using Params = MatmulSm100Params<Epilogue>;
  struct Shared {
    typename BundleOf<PipelineBundleConfig{.input_stages = config.stages,
                                           .output_stages = config.output_stages,
                                           .clc_stages = config.clc_stages},
                      Payload>::type pipelines;
    typename Writer::Storage output_tiles;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm100>());
  static constexpr std::uint32_t kThreads = Roles::kThreads;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const Context ctx;
    Scheduler scheduler(params.scheduler, shared.pipelines);
    const KernelScope<kCluster> scope([&] { shared.pipelines.template init_mbars<Counts>(); });
    if (Roles::template enter<MatmulRoles::Load>()) {
      load(params, shared, ctx, scheduler);
    } else if (Roles::template enter<MatmulRoles::Mma>()) {
      multiply(params, shared, ctx, scheduler);
    } else if (Roles::template enter<MatmulRoles::Epilogue>()) {
      store(params, shared, ctx, scheduler);
    } else if constexpr (config.clc_stages > 0) {
      if (Roles::template enter<MatmulRoles::Scheduler>()) scheduler.run_scheduler();
    }
  }

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, const Context& ctx, Scheduler& scheduler) {
    Input input(InputBackend(shared.pipelines.input.barriers.ptr()), shared.pipelines.input.payload());
    const std::uint32_t b_part = ctx.cluster_m() / config.cta_group;
    const bool is_elected = ctx.elect_one_thread();
    for (const TileWork work : scheduler.tiles()) {
      scheduler.throttle_signal(ctx.is_first_cta_in_cluster());
      if (!is_elected) continue;
      const std::uint32_t row = work.m * kSm100TileM;
      const std::uint32_t col = work.n * config.tile_n + ctx.cta_rank() % config.cta_group * Payload::BTile::rows();
      const KBlocks::Range range = params.k_blocks.of_split(work.split);
      for (std::uint32_t i = 0; i < range.count; ++i) {
        auto tiles = input.produce();
        const auto k = static_cast<std::int32_t>((range.first + i) * kTileK);
        load_operand<config.cta_group, kSharersOfA>(tiles.a_tile(), &params.a, k, row, work.batch, ctx.cluster_n(),
                                                    ctx.a_multicast_mask(), tiles.barrier());
        load_operand<config.cta_group, kSharersOfB>(tiles.b_tile(), &params.b, k, col, work.batch, b_part,
                                                    ctx.b_multicast_mask(), tiles.barrier());
      }
    }
    if (is_elected) input.drain_producer();
  }

  HEDDLE_DEVICE static void multiply(const Params& params, Shared& shared, const Context& ctx, Scheduler& scheduler) {
    Input input(InputBackend(shared.pipelines.input.barriers.ptr(), ctx.input_release_mask()),
                shared.pipelines.input.payload());
    auto tmem = Warps::MmaHandle::create(shared.pipelines.tmem, shared.pipelines.output, ctx.mma_complete_mask());
    const bool issues = ctx.elect_one_thread() && ctx.is_leader_cta();
    for (const TileWork work : scheduler.tiles()) {
      if (!issues) continue;
      const KBlocks::Range range = params.k_blocks.of_split(work.split);
      auto accumulator = tmem.acquire_k_stage_linear();
      for (std::uint32_t i = 0; i < range.count; ++i) {
        auto tiles = input.acquire_consumer();
        multiply_stage(tiles, accumulator.tmem_offset(), i != 0);
        std::move(tiles).release();
      }
      std::move(accumulator).release();
    }
    std::move(tmem).release();
  }

  HEDDLE_DEVICE static void store(const Params& params, Shared& shared, const Context& ctx, Scheduler& scheduler) {
    typename Warps::EpilogueContext tmem(shared.pipelines.tmem, shared.pipelines.output, ctx.mma_complete_mask());
    const std::uint32_t warp = isa::warp_idx();
    Writer writer(shared.output_tiles, params.c, warp);
    for (const TileWork work : scheduler.tiles()) {
      const bool has_sums = params.k_blocks.of_split(work.split).count > 0;
      writer.start_tile(work.m * kSm100TileM, work.n * config.tile_n, work.batch * params.scheduler.splits + work.split);
      auto accumulator = tmem.output().acquire_epilogue_linear();
      const std::uint32_t from = accumulator.tmem().address().offset_lanes(warp * Writer::rows).raw();
      std::uint32_t sums[Writer::chunk_cols];
      for (std::uint32_t chunk = 0; chunk + 1 < Writer::chunks; ++chunk) {
        isa::tcgen05_ld_32x32b(sums, from + chunk * Writer::chunk_cols);
        isa::tcgen05_wait_ld();
        store_chunk(params, writer, chunk, sums, has_sums);
      }
      // The accumulator goes back as soon as its last columns are in registers.
      isa::tcgen05_ld_32x32b(sums, from + (Writer::chunks - 1) * Writer::chunk_cols);
      std::move(accumulator).release();
      store_chunk(params, writer, Writer::chunks - 1, sums, has_sums);
    }
    Writer::drain();
  }

 private:
  static constexpr std::uint32_t kInstruction =
      instruction_descriptor(InstructionDescriptor{.kind = mma_kind<In>(),
                                                   .m = config.cta_group * kSm100TileM,
                                                   .n = config.tile_n,
                                                   .a_type = operand_type<In>(),
                                                   .b_type = operand_type<In>()});

  template <class Tiles>
  HEDDLE_DEVICE static void multiply_stage(const Tiles& tiles, std::uint32_t d, bool accumulate) {
    const std::uint64_t a = tiles.a_tile().tcgen05_descriptor();
    const std::uint64_t b = tiles.b_tile().tcgen05_descriptor();
    HEDDLE_UNROLL
    for (std::uint32_t k_bytes = 0; k_bytes < 128; k_bytes += 32) {
      isa::tcgen05_mma<mma_kind<In>(), static_cast<int>(config.cta_group)>(
          d, advanced_descriptor(a, k_bytes), advanced_descriptor(b, k_bytes), kInstruction, accumulate || k_bytes != 0);
    }
  }

  HEDDLE_DEVICE static void store_chunk(const Params& params, Writer& writer, std::uint32_t chunk,
                                        const std::uint32_t (&sums)[Writer::chunk_cols], bool has_sums) {
    float values[Writer::chunk_cols];
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < Writer::chunk_cols; i += 2) {
      float pair[2] = {has_sums ? __builtin_bit_cast(float, sums[i]) : 0.0f,
                       has_sums ? __builtin_bit_cast(float, sums[i + 1]) : 0.0f};
      Epilogue::template apply<Out>(params.epilogue, writer.pair(chunk, i), pair);
      values[i] = pair[0];
      values[i + 1] = pair[1];
    }
    writer.store(chunk, values);
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
