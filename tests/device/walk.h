// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose roles walk the tiles of a scheduler and write down what they see.
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/clc_scheduler.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/scheduler.h>
#include <heddle/pipeline/epilogue_load.h>
#include <heddle/pipeline/pipeline_bundle.h>

namespace heddle::inline HEDDLE_TARGET {

using WalkEpilogue = Role<"epilogue", 4>;
using WalkScheduler = Role<"scheduler", 1>;
using WalkLoad = Role<"load", 1>;
using WalkMma = Role<"mma", 1>;
using WalkEpilogueLoad = Role<"epilogue_load", 1>;
using WalkRoles = WarpRoles<WalkEpilogue, WalkScheduler, WalkLoad, WalkMma, WalkEpilogueLoad>;

struct WalkParams {
  TileSchedulerParams scheduler;
  std::uint32_t* visits;  // by tile
};

HEDDLE_DEVICE void write_down(const WalkParams& params, const TileWork& work) {
  if (work.is_inside && isa::elect_sync())
    isa::st_global(&params.visits[work.m * params.scheduler.tiles_n + work.n], 1);
}

template <TileSchedulerConfig config>
struct PersistentWalk {
  using Params = WalkParams;
  struct Shared {};
  static constexpr std::uint32_t kThreads = WalkRoles::kThreads;

  HEDDLE_DEVICE static void run(const Params& params, Shared&) {
    const PersistentTileScheduler<config> scheduler(params.scheduler);
    if (!WalkRoles::enter<WalkLoad>()) return;
    for (auto work : scheduler.tiles()) write_down(params, work);
  }
};

template <TileSchedulerConfig config, std::uint32_t stages>
struct ClcWalk {
  using Params = WalkParams;
  using Scheduler = ClcTileScheduler<config, WalkRoles, stages>;
  static constexpr ClusterConfig kCluster{.cluster = config.cluster};
  static constexpr std::uint32_t kThreads = WalkRoles::kThreads;

  static constexpr PipelineBundleConfig kPipelines{
      .input_stages = 2, .output_stages = 2, .clc_stages = stages, .epi_load_stages = 2};

  struct Shared {
    SmemPipelineBundle<kPipelines> pipelines;
  };

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const KernelContext<kCluster> ctx;
    Scheduler scheduler(params.scheduler, shared.pipelines.clc);
    LoadOrderBarrier order(shared.pipelines.load_order);
    const KernelScope<kCluster> scope(
        [&] { shared.pipelines.template init_mbars<ArrivalCounts<kCluster, WalkRoles>>(); });
    if (WalkRoles::enter<WalkScheduler>()) {
      scheduler.run_scheduler();
    } else if (WalkRoles::enter<WalkLoad>()) {
      for (auto work : scheduler.tiles()) {
        scheduler.throttle_signal(ctx.is_first_cta_in_cluster());
        write_down(params, work);
        order.arrive();
      }
    } else if (WalkRoles::enter<WalkEpilogueLoad>()) {
      for (auto work : scheduler.tiles()) {
        order.wait();
        write_down(params, work);
      }
    } else if (WalkRoles::enter<WalkMma>()) {
      for (auto work : scheduler.tiles()) write_down(params, work);
    } else if (WalkRoles::enter<WalkEpilogue>()) {
      for (auto work : scheduler.tiles()) write_down(params, work);
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
