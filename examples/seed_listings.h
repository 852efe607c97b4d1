// SPDX-License-Identifier: Apache-2.0
//
// The listings of the seeds, in C++, as one kernel for Blackwell: C = A * B^T for a row of tiles, which cluster
// launch control hands out. A scheduler warp, a load warp in scopes, an MMA warp with linear handles, an epilogue
// in scopes; and the same with an accumulator for every step of K, which the epilogue scales and adds up in
// registers. 02_seed_listings.cu runs it.
#pragma once

#include <heddle/isa/arch.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/tma.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/clc_scheduler.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/warp_context.h>
#include <heddle/pipeline/tile_pipeline.h>
#include <heddle/tile/element.h>

namespace heddle::inline HEDDLE_TARGET::seed_listings {

constexpr std::uint32_t kM = 128;
constexpr std::uint32_t kN = 32;
constexpr std::uint32_t kK = 64;  // of a stage
constexpr std::uint32_t kStages = 3;

using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {kM, kK}, .b = {kN, kK}}>;
constexpr OutputPipelineConfig kOutput{.num_stages = 2, .stage_stride_cols = kN};
constexpr ClusterConfig kCluster{};

using Epilogue = Role<"epilogue", 4>;
using SchedulerWarp = Role<"scheduler", 1>;
using Load = Role<"load", 1>;
using Mma = Role<"mma", 1>;
using Roles = WarpRoles<Epilogue, SchedulerWarp, Load, Mma>;
using Counts = ArrivalCounts<kCluster, Roles>;
constexpr TileSchedulerConfig kScheduler{};
using Scheduler = ClcTileScheduler<kScheduler, Roles, 2>;
using Context = WarpContext<WarpContextConfig{.output = kOutput, .epilogue_threads = Epilogue::threads}>;

struct MyKernelSmem {
  HEDDLE_HOST_DEVICE auto& a_tiles() { return input_pipeline.tiles.a_tiles(); }
  HEDDLE_HOST_DEVICE auto& c_tiles() { return output_tiles.c_tiles(); }

  InputPipelineStorage<kStages, Payload> input_pipeline;
  OutputTileStorage<float, row_major<float>(kM, kN), 1> output_tiles;
  OutputPipelineStorage<kOutput.num_stages> output_pipeline;
  ClcPipelineStorage<2> clc_pipeline;
  TmemDeallocStorage tmem;
};
static_assert(check_shared_memory<MyKernelSmem, Arch::kSm100>());

using Input = InputTilePipeline<Payload, kStages, 1>;

// By one thread, for all of a stage.
template <class Tiles>
HEDDLE_DEVICE void multiply(const Tiles& tiles, std::uint32_t d, bool accumulate) {
  constexpr std::uint32_t descriptor = instruction_descriptor(InstructionDescriptor{
      .kind = MmaKind::kF16, .m = kM, .n = kN, .a_type = OperandType::kBf16, .b_type = OperandType::kBf16});
  for (std::uint32_t k = 0; k < kK; k += 16) {
    isa::tcgen05_mma<MmaKind::kF16, 1>(d, tiles.a_tile().tcgen05_descriptor(0, k),
                                       tiles.b_tile().tcgen05_descriptor(0, k), descriptor, accumulate || k != 0);
  }
}

// Adds this thread's row of the accumulator, times `scale`, to `row`.
HEDDLE_DEVICE void promote(const TmemStage<kOutput>& accumulator, float scale, float (&row)[kN]) {
  std::uint32_t bits[kN];
  isa::tcgen05_ld_32x32b(bits, accumulator.address().plus_lanes(isa::warp_idx() % 4 * 32).bits());
  isa::tcgen05_wait_ld();
  for (std::uint32_t n = 0; n < kN; ++n) row[n] += scale * __builtin_bit_cast(float, bits[n]);
}

enum class Form { kPerTile, kPerK };

template <Form form>
struct Listings {
  using Shared = MyKernelSmem;
  static constexpr std::uint32_t kThreads = Roles::kThreads;
  struct Params {
    isa::TensorMap a;
    isa::TensorMap b;
    float* c;  // tiles x kM x kN
    TileSchedulerParams scheduler;
    std::uint32_t num_iters;
  };

  // A grid of one CTA for each tile, of which those that have started take over the others.
  static LaunchShape launch_shape(const Params& params) { return clc_launch_shape<kScheduler>(params.scheduler); }

  HEDDLE_DEVICE static void run(const Params& params, Shared& smem) {
    const KernelContext<kCluster> ctx;
    Scheduler scheduler(params.scheduler, smem.clc_pipeline);
    const KernelScope<kCluster> scope([&] {
      const std::uint32_t empty = form == Form::kPerK ? Counts::input_empty_blockwise : Counts::input_empty;
      Input::init_barriers(smem.input_pipeline.barriers.ptr(), Counts::input_full, empty);
      Context::Output::init_barriers(smem.output_pipeline.barriers.ptr(), Counts::output_full,
                                     Counts::output_empty);
      smem.tmem.init(Counts::tmem_dealloc);
      scheduler.init_mbars();
    });
    if (Roles::enter<SchedulerWarp>()) {
      scheduler.run_scheduler();
    } else if (Roles::enter<Load>()) {
      load(params, smem, scheduler, ctx);
    } else if (Roles::enter<Mma>()) {
      mma(params, smem, scheduler, ctx);
    } else if (Roles::enter<Epilogue>()) {
      epilogue(params, smem, scheduler);
    }
  }

  // TMA load warp: scopes. All its threads walk the tiles, one of them copies.
  HEDDLE_DEVICE static void load(const Params& params, Shared& smem, Scheduler& scheduler,
                                 const KernelContext<kCluster>& ctx) {
    const bool copies = ctx.elect_one_thread();
    Input input_pipeline(smem.input_pipeline);
    auto producer = input_pipeline.producer();
    for (auto current : scheduler.tiles()) {
      scheduler.throttle_signal(ctx.is_first_cta_in_cluster());
      for (std::uint32_t i = 0; i < params.num_iters && copies; ++i) {
        auto tiles = producer.acquire();
        const auto k = static_cast<std::int32_t>(i * kK);
        isa::cp_async_bulk_tensor_load(tiles.a_tile().data(), &params.a, {k, 0}, tiles.barrier());
        isa::cp_async_bulk_tensor_load(tiles.b_tile().data(), &params.b,
                                       {k, static_cast<std::int32_t>(current.n * kN)}, tiles.barrier());
      }
    }
    if (copies) producer.drain();
  }

  // MMA warp: linear handles, flat. All its threads walk the tiles, one of them multiplies.
  HEDDLE_DEVICE static void mma(const Params& params, Shared& smem, Scheduler& scheduler,
                                const KernelContext<kCluster>& ctx) {
    const bool multiplies = ctx.elect_one_thread();
    Input input_pipeline(smem.input_pipeline);
    auto mma_handle = Context::MmaHandle::create(smem.tmem, smem.output_pipeline);
    for ([[maybe_unused]] auto current : scheduler.tiles()) {
      if (!multiplies) continue;
      if constexpr (form == Form::kPerK) {
        for (std::uint32_t i = 0; i < params.num_iters; ++i) {
          auto mma_stage = mma_handle.acquire_k_stage_linear();
          auto input_tiles = input_pipeline.acquire_consumer();
          multiply(input_tiles, mma_stage.tmem_offset(), false);
          std::move(input_tiles).release();
          std::move(mma_stage).release();
        }
      } else {
        auto mma_stage = mma_handle.acquire_k_stage_linear();
        for (std::uint32_t i = 0; i < params.num_iters; ++i) {
          auto input_tiles = input_pipeline.acquire_consumer();
          multiply(input_tiles, mma_stage.tmem_offset(), i != 0);
          std::move(input_tiles).release();
        }
        std::move(mma_stage).release();
      }
    }
    std::move(mma_handle).release();
  }

  // Epilogue warps: scopes.
  HEDDLE_DEVICE static void epilogue(const Params& params, Shared& smem, Scheduler& scheduler) {
    Context::EpilogueContext epi_ctx(smem.tmem, smem.output_pipeline);
    auto scales_pipeline = smem.input_pipeline.pipeline("input");
    for (auto current : scheduler.tiles()) {
      float row[kN] = {};
      if constexpr (form == Form::kPerK) {
        for (std::uint32_t i = 0; i < params.num_iters; ++i) {
          auto stage = epi_ctx.output().per_k_epilogue(scales_pipeline);
          // What the epilogue reads of the input itself: here one number of A instead of scales.
          const float scale = smem.a_tiles()[stage.input_stage()].load(0, 0).to_float();
          promote(stage.tmem(), scale, row);
        }
      } else {
        auto output_stage = epi_ctx.output().consumer();
        promote(output_stage.tmem(), 1.0f, row);
      }
      for (std::uint32_t n = 0; n < kN; ++n) {
        isa::st_global(&params.c[(current.n * kM + Roles::thread_in_role<Epilogue>()) * kN + n], row[n]);
      }
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET::seed_listings
