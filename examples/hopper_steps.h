// SPDX-License-Identifier: Apache-2.0
//
// A matmul for Hopper, grown from nothing: C = A * B^T, A [M, K] and B [N, K] in bf16, C in float. Each step is a
// kernel that runs; docs/guide.md tells what it adds. 07_hopper_steps.cu runs them.
#pragma once

#include <heddle/kernel/context.h>
#include <heddle/kernel/cta_life.h>
#include <heddle/kernel/named_barriers.h>
#include <heddle/kernel/scheduler.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/store_to.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET::hopper_steps {

// [tiles]
constexpr std::uint32_t kM = 64;  // rows and columns of a tile of C, and how much of K a stage holds
constexpr std::uint32_t kN = 64;
constexpr std::uint32_t kK = 64;

using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {kM, kK}, .b = {kN, kK}}>;
using Sums = WgmmaSums<WgmmaShape{.n = kN}>;  // of bf16, in float
using CTiles = SMemTileArray2DRowMajor<float, TileShape{kM, kN}, 1>;
using Stores = StoreTilePipeline<CTiles>;
using Barriers = NamedBarriers<BarrierUse<"store">>;
constexpr ClusterConfig kCluster{};  // one CTA
constexpr TileSchedulerConfig kScheduler{};

struct MatmulParams {
  isa::TensorMap a;
  isa::TensorMap b;
  isa::TensorMap c;
  std::uint32_t k_steps;
  TileSchedulerParams scheduler;
};

// [tiles]
// [one tile]
// One tile of C, and as much of K as a stage holds: a thread copies, a warpgroup multiplies and stores.
struct OneTile {
  using ATile = Payload::ATile;
  using BTile = Payload::BTile;
  using CTile = CTiles::Tile;
  using Params = MatmulParams;
  using Input = ArrivingInputPipeline<Payload, 1>;
  struct Shared {
    Input::Storage input;
    CTiles c;
  };
  static constexpr std::uint32_t kThreads = 128;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Input input(shared.input);
    // Full: the arrival of the thread that copies, and its bytes. Empty: an arrival of each warp.
    const KernelScope<kCluster> scope([&] { Input::init_barriers(shared.input.barriers.ptr(), 1, 4); });
    if (isa::tid_x() == 0) {
      const auto tiles = input.produce();
      load_tile(tiles.a_tile(), &params.a, {0, 0}, tiles.barrier());
      load_tile(tiles.b_tile(), &params.b, {0, 0}, tiles.barrier());
    }
    isa::syncwarp();
    Sums sums;
    auto stage = input.acquire_consumer();
    auto& values = sums.multiply(stage.a_tile().operand(), stage.b_tile().operand()).wait();
    std::move(stage).release_elected();
    Stores stores(shared.c, Barriers::first("store"));
    auto c = stores.acquire();
    store_to(c.tile(), values);
    std::move(c).release(&params.c, {0, 0});
    stores.drain();
  }
};

// [one tile]
// [ring]
// One tile of C, all of K: a warp of its own copies into a ring of stages, ahead of the warpgroup that
// multiplies.
struct Ring {
  using ATile = Payload::ATile;
  using BTile = Payload::BTile;
  using CTile = CTiles::Tile;
  using Params = MatmulParams;
  using Input = ArrivingInputPipeline<Payload, 4>;
  using Math = Role<"math", 4>;
  using Load = Role<"load", 1>;
  using Roles = WarpRoles<Math, Load>;
  using Counts = RingCounts<Roles, OneThread<Load>, EachWarp<Math>>;  // who fills a stage, and who empties it
  using Life = CtaLife<LifeConfig{.cluster = kCluster}, Roles>;
  struct Shared {
    Input::Storage input;
    CTiles c;
  };
  static constexpr std::uint32_t kThreads = Roles::kThreads;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Life::run([&] { Input::init_barriers<Counts>(shared.input.barriers.ptr()); },
              [&] { Life::prefetch<Load>(params.a, params.b, params.c); },
              as_role<Math>([&] { multiply(params, shared); }), as_role<Load>([&] {
                if (isa::elect_sync()) load(params, shared);
              }));
  }

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared) {
    Input input(shared.input);
    for (std::uint32_t i = 0; i < params.k_steps; ++i) {
      const auto tiles = input.produce();
      const auto k = static_cast<std::int32_t>(i * kK);
      load_tile(tiles.a_tile(), &params.a, {k, 0}, tiles.barrier());
      load_tile(tiles.b_tile(), &params.b, {k, 0}, tiles.barrier());
    }
  }

  HEDDLE_DEVICE static void multiply(const Params& params, Shared& shared) {
    Input input(shared.input);
    Sums sums;
    auto stage = input.acquire_consumer();
    auto pending = sums.multiply(stage.a_tile().operand(), stage.b_tile().operand());
    for (std::uint32_t i = 1; i < params.k_steps; ++i) {
      // The next product is started before the last one has ended; then the stage of that one goes back.
      auto next = input.acquire_consumer();
      pending.add(next.a_tile().operand(), next.b_tile().operand());
      pending.wait_all_but<1>();
      std::move(stage).release_elected();
      stage = std::move(next);
    }
    auto& values = std::move(pending).wait();
    std::move(stage).release_elected();
    Stores stores(shared.c, Barriers::first("store"));
    auto c = stores.acquire();
    store_to(c.tile(), values);
    std::move(c).release(&params.c, {0, 0});
    stores.drain();
  }
};

// [ring]
// [persistent]
// All of C: as many CTAs as run at once share its tiles out. The loads of a tile begin while the one before it is
// multiplied, and a tile is on its way out while the next one is multiplied.
struct Persistent : Ring {
  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const PersistentTileScheduler<kScheduler> scheduler(params.scheduler);
    Life::run([&] { Input::init_barriers<Counts>(shared.input.barriers.ptr()); },
              [&] { Life::prefetch<Load>(params.a, params.b, params.c); },
              as_role<Math>([&] { multiply(params, shared, scheduler); }), as_role<Load>([&] {
                if (isa::elect_sync()) load(params, shared, scheduler);
              }));
  }

  template <class Scheduler>
  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, const Scheduler& scheduler) {
    Input input(shared.input);
    for (const TileWork work : scheduler.tiles()) {
      for (std::uint32_t i = 0; i < params.k_steps; ++i) {
        const auto tiles = input.produce();
        const auto k = static_cast<std::int32_t>(i * kK);
        load_tile(tiles.a_tile(), &params.a, {k, static_cast<std::int32_t>(work.m * kM)}, tiles.barrier());
        load_tile(tiles.b_tile(), &params.b, {k, static_cast<std::int32_t>(work.n * kN)}, tiles.barrier());
      }
    }
  }

  template <class Scheduler>
  HEDDLE_DEVICE static void multiply(const Params& params, Shared& shared, const Scheduler& scheduler) {
    Input input(shared.input);
    Stores stores(shared.c, Barriers::first("store"));
    Sums sums;
    for (const TileWork work : scheduler.tiles()) {
      auto stage = input.acquire_consumer();
      auto pending = sums.multiply(stage.a_tile().operand(), stage.b_tile().operand());
      for (std::uint32_t i = 1; i < params.k_steps; ++i) {
        auto next = input.acquire_consumer();
        pending.add(next.a_tile().operand(), next.b_tile().operand());
        pending.wait_all_but<1>();
        std::move(stage).release_elected();
        stage = std::move(next);
      }
      auto& values = std::move(pending).wait();
      std::move(stage).release_elected();
      auto c = stores.acquire();  // waits until the copy engine has read the tile before
      store_to(c.tile(), values);
      std::move(c).release(&params.c,
                           {static_cast<std::int32_t>(work.n * kN), static_cast<std::int32_t>(work.m * kM)});
    }
    stores.drain();
  }
};

// [persistent]
}  // namespace heddle::inline HEDDLE_TARGET::hopper_steps
