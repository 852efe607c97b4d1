// SPDX-License-Identifier: Apache-2.0
//
// A matmul for Hopper in tiles: C = A * B^T, A [M, K] and B [N, K] in bf16, C in float. A warp loads; two
// warpgroups have every other tile of C each, and multiply in turn, one while the other stores.
// 03_hopper_tiles.cu runs it.
#pragma once

#include <heddle/kernel/barriers.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/named_barriers.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/scheduler.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/turns.h>
#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/store_to.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET::hopper_tiles {

constexpr std::uint32_t kM = 64;
constexpr std::uint32_t kN = 64;
constexpr std::uint32_t kK = 64;
constexpr std::uint32_t kStages = 4;

using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {kM, kK}, .b = {kN, kK}}>;
using Input = ArrivingInputPipeline<Payload, kStages>;
using Sums = WgmmaSums<WgmmaShape{.n = kN}>;  // of bf16
using CTiles = SMemTileArray2DRowMajor<float, TileShape{kM, kN}, 2>;
using Math = Role<"math", 8>;
using Load = Role<"load", 1>;
using Roles = WarpRoles<Math, Load>;
using Barriers = NamedBarriers<BarrierUse<"turns", 2>, BarrierUse<"store", 2>>;
constexpr ClusterConfig kCluster{};
constexpr TileSchedulerConfig kScheduler{};

struct Matmul {
  using ATile = Payload::ATile;
  using BTile = Payload::BTile;
  using CTile = CTiles::Tile;
  struct Params {
    isa::TensorMap a;
    isa::TensorMap b;
    isa::TensorMap c;
    std::uint32_t k_steps;
    TileSchedulerParams scheduler;
  };
  struct Shared {
    Input::Storage input;
    CTiles c_tiles[2];  // of each warpgroup
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());
  static constexpr std::uint32_t kThreads = Roles::kThreads;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const KernelContext<kCluster> ctx;
    // The two warpgroups take the stages of their tiles in turn.
    using Counts = RingCounts<Roles, OneThread<Load>, EachWarp<Math, 2>>;
    const KernelScope<kCluster> scope([&] { Input::init_barriers<Counts>(shared.input.barriers.ptr()); });
    if (Roles::enter<Load>()) {
      if (ctx.elect_one_thread()) load(params, shared);
    } else if (Roles::enter<Math>()) {
      multiply(params, shared);
    }
  }

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared) {
    Input input(shared.input);
    auto producer = input.producer();
    const PersistentTileScheduler<kScheduler> scheduler(params.scheduler);
    for (auto work : scheduler.tiles()) {
      for (std::uint32_t i = 0; i < params.k_steps; ++i) {
        auto tiles = producer.acquire();
        const auto k = static_cast<std::int32_t>(i * kK);
        load_tile(tiles.a_tile(), &params.a, {k, static_cast<std::int32_t>(work.m * kM)}, tiles.barrier());
        load_tile(tiles.b_tile(), &params.b, {k, static_cast<std::int32_t>(work.n * kN)}, tiles.barrier());
      }
    }
    producer.drain();
  }

  // [multiply]
  // Tile after tile, each warpgroup every other one.
  HEDDLE_DEVICE static void multiply(const Params& params, Shared& shared) {
    const std::uint32_t warpgroup = isa::warp_idx() / 4;
    Input input(shared.input);
    WarpgroupTurns<2, Barriers::first("turns")> turns(warpgroup);
    StoreTilePipeline<CTiles> stores(shared.c_tiles[warpgroup], Barriers::first("store") + warpgroup);
    Sums sums;
    const PersistentTileScheduler<kScheduler> scheduler(params.scheduler);
    if (warpgroup == 1) input.pipeline().consumer_skip(params.k_steps);
    for (auto work : scheduler.tiles(warpgroup, 2)) {
      auto turn = turns.wait();
      // While a product is under way the next stage is waited for; then the stage before it goes back.
      auto stage = input.acquire_consumer();
      auto pending = sums.multiply(stage.a_tile().operand(), stage.b_tile().operand());
      for (std::uint32_t i = 1; i < params.k_steps; ++i) {
        auto next = input.acquire_consumer();
        pending.add(next.a_tile().operand(), next.b_tile().operand());
        pending.wait_all_but<1>();
        std::move(stage).release_elected();
        stage = std::move(next);
      }
      std::move(turn).pass();
      auto& values = std::move(pending).wait();
      std::move(stage).release_elected();
      input.pipeline().consumer_skip(params.k_steps);  // the stages of the other warpgroup's tile
      auto c = stores.acquire();
      store_to(c.tile(), values);
      std::move(c).release(&params.c,
                           {static_cast<std::int32_t>(work.n * kN), static_cast<std::int32_t>(work.m * kM)});
    }
    stores.drain();
  }

  // [multiply]
};

}  // namespace heddle::inline HEDDLE_TARGET::hopper_tiles
