// SPDX-License-Identifier: Apache-2.0
//
// A matmul for Blackwell, grown from nothing: C = A * B^T, A [M, K] and B [N, K] in bf16, C in float. Each step
// is a kernel that runs; docs/guide.md tells what it adds. 08_blackwell_steps.cu runs them.
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/kernel/clc_scheduler.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/cta_life.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/warp_context.h>
#include <heddle/pipeline/tile_pipeline.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/row_writer.h>
#include <heddle/tile/tcgen05_mma.h>
#include <heddle/tile/tmem_rows.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET::blackwell_steps {

// [tiles]
constexpr std::uint32_t kM = 128;  // rows and columns of a tile of C, and how much of K a stage holds
constexpr std::uint32_t kN = 32;
constexpr std::uint32_t kK = 64;

using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {kM, kK}, .b = {kN, kK}}>;
using Input = InputTilePipeline<Payload, 4>;  // a release commits: the stage is empty when the MMAs are done
using Accumulator = TmemTensor<float, AccumulatorShape{.m = kM, .n = kN}>;
using Epilogue = Role<"epilogue", 4>;  // first: a warp reaches the lanes of tensor memory that its number says
using Load = Role<"load", 1>;
using Mma = Role<"mma", 1>;
constexpr ClusterConfig kCluster{};  // one CTA

// [tiles]
// [one tile]
// One tile of C, all of K. A warp copies into a ring of stages, a thread multiplies into tensor memory, four
// warps take the sums out of it, a row in each thread.
struct OneTile {
  using ATile = Payload::ATile;
  using BTile = Payload::BTile;
  using Roles = WarpRoles<Epilogue, Load, Mma>;
  using Counts = ArrivalCounts<kCluster, Roles>;  // how many arrivals each barrier waits for
  using Life = CtaLife<LifeConfig{.cluster = kCluster}, Roles>;
  using Warps = WarpContext<WarpContextConfig{.output = {.num_stages = 1, .stage_stride_cols = kN},
                                              .epilogue_threads = Epilogue::threads}>;
  struct Params {
    isa::TensorMap a;
    isa::TensorMap b;
    float* c;  // kM x kN
    std::uint32_t k_steps;
  };
  struct Shared {
    InputPipelineStorage<4, Payload> input;
    OutputPipelineStorage<1> output;
    TmemDeallocStorage tmem;
  };
  static constexpr std::uint32_t kThreads = Roles::kThreads;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Life::run(
        [&] {
          Input::init_barriers(shared.input.barriers.ptr(), Counts::input_full, Counts::input_empty);
          Warps::Output::init_barriers(shared.output.barriers.ptr(), Counts::output_full, Counts::output_empty);
          shared.tmem.init(Counts::tmem_dealloc);
        },
        [&] { Life::prefetch<Load>(params.a, params.b); }, as_role<Load>([&] {
          if (isa::elect_sync()) load(params, shared);
        }),
        as_role<Mma>([&] { multiply(params, shared); }), as_role<Epilogue>([&] { store(params, shared); }));
  }

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared) {
    Input input(shared.input);
    for (std::uint32_t i = 0; i < params.k_steps; ++i) {
      const auto tiles = input.produce();
      const auto k = static_cast<std::int32_t>(i * kK);
      load_tile(tiles.a_tile(), &params.a, {k, 0}, tiles.barrier());
      load_tile(tiles.b_tile(), &params.b, {k, 0}, tiles.barrier());
    }
    input.drain_producer();
  }

  HEDDLE_DEVICE static void multiply(const Params& params, Shared& shared) {
    Input input(shared.input);
    auto tmem = Warps::MmaHandle::create(shared.tmem, shared.output);  // allocates, and tells the epilogue where
    if (isa::elect_sync()) {
      auto sums = tmem.acquire_k_stage_linear();
      const Accumulator d(TmemAddress(sums.tmem_offset()));
      for (std::uint32_t i = 0; i < params.k_steps; ++i) {
        auto tiles = input.acquire_consumer();
        tcgen05_mma(d, tiles.a_tile().operand(), tiles.b_tile().operand(), i != 0);
        std::move(tiles).release();
      }
      std::move(sums).release();  // commits: the sums are there when all MMAs are done
    }
    std::move(tmem).release();  // waits for the epilogue, and frees
  }

  HEDDLE_DEVICE static void store(const Params& params, Shared& shared) {
    Warps::EpilogueContext tmem(shared.tmem, shared.output);
    auto sums = tmem.output().acquire_epilogue_linear();
    TmemRow<kN> row;
    load_row(Accumulator(sums.tmem().address()), row);
    std::move(sums).release();
    for (std::uint32_t n = 0; n < kN; ++n) isa::st_global(&params.c[row.row(n) * kN + row.col(n)], row[n]);
  }
};

// [one tile]
// [all tiles]
// All of C. Cluster launch control hands tiles out; two accumulators, so that one tile is stored while the next
// is multiplied; small tiles of shared memory on their way out, two for each warp.
struct AllTiles {
  using ATile = Payload::ATile;
  using BTile = Payload::BTile;
  using SchedulerWarp = Role<"scheduler", 1>;
  using Roles = WarpRoles<Epilogue, SchedulerWarp, Load, Mma>;
  using Counts = ArrivalCounts<kCluster, Roles>;
  using Life = CtaLife<LifeConfig{.cluster = kCluster}, Roles>;
  using Warps = WarpContext<WarpContextConfig{.output = {.num_stages = 2, .stage_stride_cols = kN},
                                              .epilogue_threads = Epilogue::threads}>;
  static constexpr TileSchedulerConfig kScheduler{};
  using Scheduler = ClcTileScheduler<kScheduler, Roles, 2>;
  using StoreTiles = SMemTileArray2D<float, TileShape{kM / 4, 32}, 2>;
  using Stores = StoreTilePipeline<StoreTiles, 1>;
  using Writer = RowWriter<float, kN, Stores>;
  using CTile = Writer::Tile;
  struct Params {
    isa::TensorMap a;
    isa::TensorMap b;
    RowTarget c;
    std::uint32_t k_steps;
    TileSchedulerParams scheduler;
  };
  struct Shared {
    InputPipelineStorage<4, Payload> input;
    StoreTiles c[Epilogue::warps];
    OutputPipelineStorage<2> output;
    ClcPipelineStorage<2> clc;
    TmemDeallocStorage tmem;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm100>());
  static constexpr std::uint32_t kThreads = Roles::kThreads;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Scheduler scheduler(params.scheduler, shared.clc);
    Life::run(
        [&] {
          Input::init_barriers(shared.input.barriers.ptr(), Counts::input_full, Counts::input_empty);
          Warps::Output::init_barriers(shared.output.barriers.ptr(), Counts::output_full, Counts::output_empty);
          shared.tmem.init(Counts::tmem_dealloc);
          scheduler.init_mbars();
        },
        [&] { Life::prefetch<Load>(params.a, params.b, params.c.map); },
        as_role<Load>([&] { load(params, shared, scheduler); }),
        as_role<Mma>([&] { multiply(params, shared, scheduler); }),
        as_role<Epilogue>([&] { store(params, shared, scheduler); }),
        as_role<SchedulerWarp>([&] { scheduler.run_scheduler(); }));
  }

  // Every role walks the tiles with all its threads; one of them copies, or multiplies.
  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, Scheduler& scheduler) {
    Input input(shared.input);
    const bool copies = isa::elect_sync();
    for (const TileWork work : scheduler.tiles()) {
      scheduler.throttle_signal(true);
      for (std::uint32_t i = 0; i < params.k_steps && copies; ++i) {
        const auto tiles = input.produce();
        const auto k = static_cast<std::int32_t>(i * kK);
        load_tile(tiles.a_tile(), &params.a, {k, static_cast<std::int32_t>(work.m * kM)}, tiles.barrier());
        load_tile(tiles.b_tile(), &params.b, {k, static_cast<std::int32_t>(work.n * kN)}, tiles.barrier());
      }
    }
    if (copies) input.drain_producer();
  }

  HEDDLE_DEVICE static void multiply(const Params& params, Shared& shared, Scheduler& scheduler) {
    Input input(shared.input);
    auto tmem = Warps::MmaHandle::create(shared.tmem, shared.output);
    const bool multiplies = isa::elect_sync();
    for ([[maybe_unused]] const TileWork work : scheduler.tiles()) {
      if (!multiplies) continue;
      auto sums = tmem.acquire_k_stage_linear();
      const Accumulator d(TmemAddress(sums.tmem_offset()));
      for (std::uint32_t i = 0; i < params.k_steps; ++i) {
        auto tiles = input.acquire_consumer();
        tcgen05_mma(d, tiles.a_tile().operand(), tiles.b_tile().operand(), i != 0);
        std::move(tiles).release();
      }
      std::move(sums).release();
    }
    std::move(tmem).release();
  }

  HEDDLE_DEVICE static void store(const Params& params, Shared& shared, Scheduler& scheduler) {
    Warps::EpilogueContext tmem(shared.tmem, shared.output);
    Stores stores(shared.c[isa::warp_idx()]);
    Writer writer(stores, params.c);
    for (const TileWork work : scheduler.tiles()) {
      writer.start_tile(work.m * kM, work.n * kN, 0);
      auto sums = tmem.output().acquire_epilogue_linear();
      TmemRow<kN> row;
      load_row(Accumulator(sums.tmem().address()), row);
      std::move(sums).release();
      writer.store(0, row.values);
    }
    stores.drain();
  }
};

// [all tiles]
}  // namespace heddle::inline HEDDLE_TARGET::blackwell_steps
