// SPDX-License-Identifier: Apache-2.0
//
// ClcTileScheduler: the tiles of a CTA by cluster launch control (sm_100). The grid has one cluster for each work
// item. A cluster begins with its own; its scheduler warp, in the first CTA, asks for others that have not
// started, and every role of every CTA of the cluster reads the answers, in the same order, from a ring in shared
// memory. The walk ends for all of them at the first request that fails.
//
// The throttle keeps the scheduler from asking far ahead of what has been loaded: the load role of the first CTA
// gives leave for one request with every tile that it begins.
//
//   using Scheduler = ClcTileScheduler<config, Roles, 2>;          // Scheduler::Storage is in shared memory
//   Scheduler scheduler(params.scheduler, shared.clc);
//   const KernelScope<cluster> scope([&] { scheduler.init_mbars(); ... });
//   if (Roles::enter<SchedulerRole>()) scheduler.run_scheduler();
//   if (Roles::enter<Load>()) {
//     for (auto work : scheduler.tiles()) {
//       scheduler.throttle_signal(ctx.is_first_cta_in_cluster());
//       load(work);
//     }
//   }
//   if (Roles::enter<Mma>()) {
//     for (auto work : scheduler.tiles()) multiply(work);
//   }
#pragma once

#include <heddle/isa/annotate.h>
#include <heddle/isa/clc.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/scheduler.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>

#include <type_traits>

namespace heddle::inline HEDDLE_TARGET {

// One cluster for each work item; without any, one cluster that finds nothing to do.
template <TileSchedulerConfig config>
constexpr LaunchShape clc_launch_shape(const TileSchedulerParams& params) {
  const std::uint32_t clusters = params.cluster_tiles == 0 ? 1 : params.cluster_tiles;
  return {.grid = {clusters * config.cluster.m, config.cluster.n, 1},
          .cluster = {config.cluster.m, config.cluster.n, 1},
          .threads = 0};
}

// How the scheduler's roles signal. A test that wants to see a mistake explained gives the scheduler another one.
struct ClcSignals {
  // The barrier of the CTA with that rank counts the response that will come.
  HEDDLE_DEVICE static void expect_response(MbarPtr full, std::uint32_t cta_rank, CallSite site) {
    isa::mbarrier_arrive_expect_tx_cluster(isa::mapa(full, cta_rank, site), isa::kClcResponseBytes, site);
  }

  // For a whole warp: all its threads have read the response. They are counted one by one and told of together.
  // Orders: their reads before the next response, which comes through the async proxy.
  HEDDLE_DEVICE static void release_response(MbarPtr empty, CallSite site) {
    isa::fence_proxy_async_shared_cta(site);
    isa::syncwarp(isa::kFullMask, site);
    if (isa::elect_sync(isa::kFullMask, site)) {
      isa::mbarrier_arrive_cluster(isa::mapa(empty, 0, site), isa::kWarpThreads, site);
    }
  }

  template <class Throttle>
  HEDDLE_DEVICE static void take_leave(Throttle& throttle, CallSite site) {
    throttle.consumer_signal_and_step(site);
  }
};

// Every thread constructs one over the same storage. Not copyable: each has a place in the ring. Roles takes part
// with its scheduler, load, mma, epilogue and epilogue_load roles: each walks all tiles with all its threads.
template <TileSchedulerConfig config, class Roles, std::uint32_t stages, class Signals = ClcSignals>
class ClcTileScheduler {
  using Counts = ArrivalCounts<ClusterConfig{.cluster = config.cluster}, Roles>;
  static_assert(Roles::threads_named("scheduler") == isa::kWarpThreads,
                "cluster launch control needs a role named \"scheduler\" of one warp");
  static_assert(Roles::threads_named("load") > 0,
                "cluster launch control needs a role named \"load\": it gives the scheduler leave to go on");

 public:
  using Storage = ClcPipelineStorage<stages>;

  static constexpr LaunchShape launch_shape(const TileSchedulerParams& params, std::uint32_t = 0) {
    return clc_launch_shape<config>(params);
  }

  HEDDLE_DEVICE ClcTileScheduler(const TileSchedulerParams& params, Storage& storage)
      : params_(&params),
        storage_(&storage),
        responses_(storage.barriers.ptr(), "clc"),
        throttle_(storage.throttle.ptr(), "clc throttle"),
        cta_rank_(config.cluster.size() == 1 ? 0 : isa::cluster_ctarank()),
        index_(isa::ctaid().x / config.cluster.m) {}

  ClcTileScheduler(const ClcTileScheduler&) = delete;
  ClcTileScheduler& operator=(const ClcTileScheduler&) = delete;

  // In the initialisation of a KernelScope.
  HEDDLE_DEVICE void init_mbars(CallSite site = HEDDLE_HERE) const {
    responses_.init_mbars(Counts::clc_full, Counts::clc_empty, site);
    throttle_.init_mbars(Counts::clc_throttle_full, Counts::clc_throttle_empty, site);
  }

  // The tiles of this CTA, to be walked once. Going on to the next waits for the scheduler's answer.
  class TileRange {
   public:
    struct End {};

    // Not copyable: a copy would take answers from the walk.
    class Iterator {
     public:
      Iterator(const Iterator&) = delete;
      Iterator& operator=(const Iterator&) = delete;

      HEDDLE_DEVICE TileWork operator*() const {
        const TileWork work = scheduler_->work();
        isa::annotate_tile(work.m, work.n);
        return work;
      }
      HEDDLE_DEVICE void operator++() {
        isa::annotate_tile_end();
        scheduler_->take_response(site_);
      }
      HEDDLE_DEVICE bool operator!=(End) const { return scheduler_->has_work(); }

     private:
      friend class TileRange;
      HEDDLE_DEVICE Iterator(ClcTileScheduler* scheduler, CallSite site) : scheduler_(scheduler), site_(site) {}

      ClcTileScheduler* scheduler_;
      CallSite site_;
    };

    HEDDLE_DEVICE Iterator begin() const { return {scheduler_, site_}; }
    HEDDLE_DEVICE End end() const { return {}; }

   private:
    friend class ClcTileScheduler;
    HEDDLE_DEVICE TileRange(ClcTileScheduler* scheduler, CallSite site) : scheduler_(scheduler), site_(site) {}

    ClcTileScheduler* scheduler_;
    CallSite site_;
  };

  HEDDLE_DEVICE TileRange tiles(CallSite site = HEDDLE_HERE) { return {this, site}; }

  // By the load role, once for each tile, before it begins to load: the scheduler may ask for one more.
  HEDDLE_DEVICE void throttle_signal(bool is_first_cta_in_cluster, CallSite site = HEDDLE_HERE) {
    if (is_first_cta_in_cluster) throttle_.producer_signal_and_step(site);
  }

  // What the scheduler warp does, from the first tile to the last; nothing in CTAs other than the first. Returns
  // when every role of the cluster has read the last answer.
  HEDDLE_DEVICE void run_scheduler(CallSite site = HEDDLE_HERE) {
    if (cta_rank_ != 0) return;
    while (has_work()) {
      Signals::take_leave(throttle_, site);
      request(site);
      take_response(site);
    }
    responses_.drain_producer({}, site);
  }

 private:
  static constexpr std::uint32_t kNoWork = ~0u;

  HEDDLE_DEVICE bool has_work() const { return index_ < params_->cluster_tiles; }
  HEDDLE_DEVICE TileWork work() const { return tile_work<config>(*params_, index_, cta_rank_); }

  // Lane i arms the barrier of CTA i; one lane asks.
  HEDDLE_DEVICE void request(CallSite site) {
    responses_.wait_consumer({}, site);
    const std::uint32_t stage = responses_.producer_stage();
    const MbarPtr full = responses_.producer_mbar(stage);
    if (const std::uint32_t lane = isa::laneid(); lane < config.cluster.size()) {
      Signals::expect_response(full, lane, site);
    }
    if (isa::elect_sync(isa::kFullMask, site)) {
      if constexpr (config.cluster.size() == 1) {
        isa::clusterlaunchcontrol_try_cancel(storage_->response(stage), full, site);
      } else {
        isa::clusterlaunchcontrol_try_cancel_multicast(storage_->response(stage), full, site);
      }
    }
    responses_.producer_step();
  }

  // Every reader decodes the answer here, so that none of them can read it differently.
  HEDDLE_DEVICE void take_response(CallSite site) {
    responses_.wait_producer({}, site);
    const std::uint32_t stage = responses_.consumer_stage();
    const isa::Bytes16 response = isa::ld_shared(storage_->response(stage), site);
    index_ = kNoWork;
    if (isa::clusterlaunchcontrol_query_cancel_is_canceled(response, site)) {
      index_ = isa::clusterlaunchcontrol_query_cancel_get_first_ctaid(response, site).x / config.cluster.m;
    }
    Signals::release_response(responses_.consumer_mbar(stage), site);
    responses_.consumer_step();
  }

  const TileSchedulerParams* params_;
  Storage* storage_;
  // Peers arrive on the empty barriers of the first CTA, and it on the full barriers of theirs.
  ProducerConsumerPipeline<stages, MbarrierBackend<stages, PipelineScope::kCluster>> responses_;
  ProducerConsumerPipeline<stages, MbarrierBackend<stages>> throttle_;
  std::uint32_t cta_rank_;
  std::uint32_t index_;  // of the work item; kNoWork after the last
};

// By cluster launch control, or without stages for it shared out beforehand: the same calls for both.
template <TileSchedulerConfig config, class Roles, std::uint32_t clc_stages>
using TileScheduler = std::conditional_t<(clc_stages > 0), ClcTileScheduler<config, Roles, clc_stages>,
                                         PersistentTileScheduler<config>>;

template <class Scheduler, class Bundle>
HEDDLE_DEVICE Scheduler make_tile_scheduler(const TileSchedulerParams& params, Bundle& pipelines) {
  if constexpr (Bundle::has_clc) {
    return Scheduler(params, pipelines.clc);
  } else {
    return Scheduler(params);
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
