// SPDX-License-Identifier: Apache-2.0
//
// A kernel whose roles do nothing but walk the tiles of a ClcTileScheduler, with the hand-offs of a matmul's
// roles between them, and the check that all of them see the same tiles, each exactly once.
#pragma once

#include <heddle/isa/annotate.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/clc_scheduler.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/scheduler.h>
#include <heddle/pipeline/pipeline_storage.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedule_share.h"
#include "tiny_kernel.h"

namespace heddle::test {

struct ClcCase {
  ClusterShape cluster = {};
  std::uint32_t stages = 2;
  std::uint32_t group = 4;
  bool gives_leave = true;        // the load role signals the throttle
  std::uint32_t mma_tiles = ~0u;  // after so many the MMA role stops

  bool operator==(const ClcCase&) const = default;
};

using ClcEpilogue = Role<"epilogue", 2>;
using ClcSchedulerRole = Role<"scheduler", 1>;
using ClcLoad = Role<"load", 1>;
using ClcMma = Role<"mma", 1>;
using ClcRoles = WarpRoles<ClcEpilogue, ClcSchedulerRole, ClcLoad, ClcMma>;

// What each role of each CTA has seen, in order; lane 0 of each warp writes down.
using TileLog = std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<TileWork>>;  // by CTA and warp

template <ClcCase test_case, class Signals = ClcSignals>
struct ClcWalk {
  static constexpr TileSchedulerConfig kTiles{.cluster = test_case.cluster, .group = test_case.group};
  static constexpr ClusterConfig kCluster{.cluster = test_case.cluster};
  using Scheduler = ClcTileScheduler<kTiles, ClcRoles, test_case.stages, Signals>;

  struct Shared {
    typename Scheduler::Storage clc;
    BarrierPair<2> input;
    BarrierPair<1> output;
  };

  const TileSchedulerParams* params;
  TileLog* log;

  void note(const TileWork& work) const {
    const std::uint32_t cta = isa::ctaid().x + isa::nctaid().x * isa::ctaid().y;
    if (isa::laneid() == 0) (*log)[{cta, isa::tid_x() / 32}].push_back(work);
  }

  void operator()(Shared& shared) const {
    const KernelContext<kCluster> ctx;
    Scheduler scheduler(*params, shared.clc);
    auto input = shared.input.pipeline("input");
    auto output = shared.output.pipeline("output");
    const KernelScope<kCluster> scope([&] {
      scheduler.init_mbars();
      input.init_mbars(1, 1);
      output.init_mbars(1, ClcEpilogue::warps);
    });
    if (ClcRoles::enter<ClcSchedulerRole>()) {
      scheduler.run_scheduler();
    } else if (ClcRoles::enter<ClcLoad>()) {
      for (auto work : scheduler.tiles()) {
        if (test_case.gives_leave) scheduler.throttle_signal(ctx.is_first_cta_in_cluster());
        auto stage = input.acquire_producer();
        note(work);
        std::move(stage).release_elected();
      }
      input.drain_producer();
    } else if (ClcRoles::enter<ClcMma>()) {
      std::uint32_t tiles = 0;
      for (auto work : scheduler.tiles()) {
        if (tiles++ == test_case.mma_tiles) break;
        auto tile = input.acquire_consumer();
        auto accumulator = output.acquire_producer();
        note(work);
        std::move(tile).release_elected();
        std::move(accumulator).release_elected();
      }
      output.drain_producer();
    } else if (ClcRoles::enter<ClcEpilogue>()) {
      for (auto work : scheduler.tiles()) {
        auto accumulator = output.acquire_consumer();
        note(work);
        std::move(accumulator).release_elected();
      }
    }
  }
};

struct ClcRun {
  sim::Report report;
  TileLog log;
};

template <ClcCase test_case, class Signals = ClcSignals>
ClcRun walk_tiles(const TileGrid& grid, std::uint32_t sms, const sim::Schedule& schedule) {
  using Walk = ClcWalk<test_case, Signals>;
  const TileSchedulerParams params = make_tile_scheduler_params<Walk::kTiles>(grid);
  const LaunchShape shape = clc_launch_shape<Walk::kTiles>(params);
  ClcRun run;
  run.report = run_kernel<typename Walk::Shared>({.threads = ClcRoles::kThreads,
                                                  .grid = shape.grid,
                                                  .cluster = shape.cluster,
                                                  .schedule = schedule,
                                                  .arch = Arch::kSm100,
                                                  .sms = sms},
                                                 Walk{&params, &run.log});
  return run;
}

// Every role of a CTA sees the same tiles in the same order, and all CTAs together every tile once.
inline void check_log(const TileLog& log, const TileGrid& grid) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> visits;
  for (const auto& [who, tiles] : log) {
    const auto [cta, warp] = who;
    const auto load = log.find({cta, ClcRoles::first_warp<ClcLoad>});
    ASSERT_NE(load, log.end());
    ASSERT_EQ(tiles, load->second) << "warp " << warp << " of CTA " << cta;
    if (warp != load->first.second) continue;
    for (const TileWork& work : tiles) {
      if (work.is_inside) ++visits[{work.m, work.n}];
    }
  }
  ASSERT_EQ(visits.size(), std::size_t{grid.tiles_m} * grid.tiles_n);
  for (const auto& [tile, times] : visits) ASSERT_EQ(times, 1) << "tile " << tile.first << ", " << tile.second;
}

// Under round robin and `seeds` random schedules, or the share of them that this run takes; returns how many runs
// that were.
template <ClcCase test_case>
std::uint32_t expect_each_tile_once(const TileGrid& grid, std::uint32_t sms, std::uint64_t seeds,
                                    std::uint64_t first_seed = 1) {
  std::vector<sim::Schedule> schedules = {sim::Schedule::round_robin()};
  for (std::uint64_t s = 0; s < schedule_share(seeds); ++s)
    schedules.push_back(sim::Schedule::random(first_seed + s));
  for (const sim::Schedule& schedule : schedules) {
    const ClcRun run = walk_tiles<test_case>(grid, sms, schedule);
    const bool is_fine = run.report.ok();
    EXPECT_TRUE(is_silent(run.report)) << grid.tiles_m << " x " << grid.tiles_n << " tiles on " << sms << " SMs";
    if (is_fine) check_log(run.log, grid);
    if (!is_fine || ::testing::Test::HasFatalFailure()) break;
  }
  return static_cast<std::uint32_t>(schedules.size());
}

}  // namespace heddle::test
