// SPDX-License-Identifier: Apache-2.0
//
// Roles, the place of a CTA in its cluster, arrival counts, and set-up and exit of a kernel.
#include <heddle/isa/cluster.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/cta_life.h>
#include <heddle/kernel/roles.h>
#include <heddle/pipeline/pipeline_storage.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

using Epilogue = Role<"epilogue", 4>;
using Scheduler = Role<"scheduler", 1>;
using Load = Role<"load", 1>;
using Mma = Role<"mma", 1, 6>;
using EpilogueLoad = Role<"epilogue_load", 1>;
using Roles = WarpRoles<Epilogue, Scheduler, Load, Mma>;
using AllRoles = WarpRoles<Epilogue, Scheduler, Load, Mma, EpilogueLoad>;

TEST(WarpRoles, PlacesRolesOneBehindTheOther) {
  EXPECT_EQ(Roles::kWarps, 7u);
  EXPECT_EQ(Roles::kThreads, 224u);
  EXPECT_EQ(Roles::first_warp<Epilogue>, 0u);
  EXPECT_EQ(Roles::first_warp<Scheduler>, 4u);
  EXPECT_EQ(Roles::first_warp<Load>, 5u);
  EXPECT_EQ(Roles::first_warp<Mma>, 6u);
  EXPECT_EQ(Roles::first_thread<Mma>, 192u);
  EXPECT_EQ(Roles::threads_named("epilogue"), 128u);
  EXPECT_EQ(Roles::threads_named("epilogue_load"), 0u);
  EXPECT_TRUE(Roles::is_warpgroups<Epilogue>);
  EXPECT_FALSE(Roles::is_warpgroups<Load>);
  EXPECT_FALSE(Roles::has<EpilogueLoad>);
}

TEST(WarpRoles, EveryWarpHasExactlyOneRole) {
  std::map<std::string, std::vector<std::uint32_t>> threads;
  EXPECT_TRUE(is_silent(run_kernel<NoShared>({.threads = AllRoles::kThreads}, [&](NoShared&) {
    const bool roles[] = {AllRoles::enter<Epilogue>(), AllRoles::enter<Scheduler>(), AllRoles::enter<Load>(),
                          AllRoles::enter<Mma>(), AllRoles::enter<EpilogueLoad>()};
    EXPECT_EQ(roles[0] + roles[1] + roles[2] + roles[3] + roles[4], 1);
    if (roles[0]) threads["epilogue"].push_back(AllRoles::thread_in_role<Epilogue>());
    if (roles[3]) threads["mma"].push_back(AllRoles::thread_in_role<Mma>());
    if (roles[4]) threads["epilogue_load"].push_back(AllRoles::warp_in_role<EpilogueLoad>());
  })));
  for (auto& [name, numbers] : threads) std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(threads["epilogue"].size(), 128u);
  EXPECT_EQ(threads["epilogue"].back(), 127u);
  EXPECT_EQ(threads["epilogue_load"], std::vector<std::uint32_t>(32, 0));
  EXPECT_EQ(threads["mma"].size(), 32u);
  EXPECT_EQ(threads["mma"].front(), 0u);
}

TEST(WarpRoles, ReportsNameTheRole) {
  const sim::Report report = run_kernel<NoShared>({.threads = Roles::kThreads}, [](NoShared&) {
    if (Roles::enter<Load>()) isa::bar_sync(1, 64);
  });
  EXPECT_TRUE(report.has("deadlock"));
  EXPECT_NE(report.text().find("load, warp 5"), std::string::npos) << report.text();
}

template <ClusterConfig config>
void expect_masks() {
  for (std::uint32_t rank = 0; rank < config.size(); ++rank) {
    const KernelContext<config> ctx(rank);
    std::uint32_t row = 0, column = 0;
    for (std::uint32_t other = 0; other < config.size(); ++other) {
      const KernelContext<config> peer(other);
      if (peer.cluster_m() == ctx.cluster_m()) row |= 1u << other;
      if (peer.cluster_n() == ctx.cluster_n() && other % config.cta_group == rank % config.cta_group) {
        column |= 1u << other;
      }
    }
    EXPECT_EQ(ctx.a_multicast_mask(), row) << "rank " << rank;
    EXPECT_EQ(ctx.b_multicast_mask(), column) << "rank " << rank;
    EXPECT_EQ(ctx.mma_complete_mask(), 1u << rank | 1u << ctx.peer_rank()) << "rank " << rank;
    EXPECT_EQ(ctx.is_leader_cta(), config.cta_group == 1 || rank % 2 == 0);
    EXPECT_EQ(ctx.leader_rank(), config.cta_group == 1 ? rank : rank & ~1u);
    EXPECT_EQ(ctx.peer_rank(), config.cta_group == 1 ? rank : rank ^ 1u);
    EXPECT_EQ(ctx.is_first_cta_in_cluster(), rank == 0);
  }
}

TEST(KernelContext, MasksAreRowsColumnsAndPairs) {
  expect_masks<ClusterConfig{}>();
  expect_masks<ClusterConfig{.cluster = {2, 1}}>();
  expect_masks<ClusterConfig{.cluster = {2, 1}, .cta_group = 2}>();
  expect_masks<ClusterConfig{.cluster = {1, 2}}>();
  expect_masks<ClusterConfig{.cluster = {2, 2}}>();
  expect_masks<ClusterConfig{.cluster = {2, 2}, .cta_group = 2}>();
  expect_masks<ClusterConfig{.cluster = {4, 2}}>();
  expect_masks<ClusterConfig{.cluster = {4, 2}, .cta_group = 2}>();
  expect_masks<ClusterConfig{.cluster = {3, 4}}>();
  expect_masks<ClusterConfig{.cluster = {2, 8}, .cta_group = 2}>();
}

TEST(KernelContext, MasksOfFourByTwoInPairs) {
  const KernelContext<ClusterConfig{.cluster = {4, 2}, .cta_group = 2}> ctx(2);
  EXPECT_EQ(ctx.a_multicast_mask(), 0b0100'0100u);
  EXPECT_EQ(ctx.b_multicast_mask(), 0b0000'0101u);
  EXPECT_EQ(ctx.mma_complete_mask(), 0b0000'1100u);
  EXPECT_EQ(ctx.input_release_mask(), 0b1100'1111u);
}

TEST(KernelContext, KnowsItsRankFromTheHardware) {
  std::vector<std::uint32_t> ranks(8);
  constexpr ClusterConfig kConfig{.cluster = {4, 2}};
  EXPECT_TRUE(is_silent(
      run_kernel<NoShared>({.threads = 32, .grid = {4, 2}, .cluster = {4, 2}, .sms = 8}, [&](NoShared&) {
        const KernelContext<kConfig> ctx;
        EXPECT_EQ(ctx.cluster_m(), isa::cluster_ctaid().x);
        EXPECT_EQ(ctx.cluster_n(), isa::cluster_ctaid().y);
        if (ctx.elect_one_thread()) ++ranks[ctx.cta_rank()];
        EXPECT_TRUE(ctx.elect_one_warp());
      })));
  EXPECT_EQ(ranks, std::vector<std::uint32_t>(8, 1));
}

// The counts as published kernels have them, with 128 epilogue threads.
struct CountRow {
  std::uint32_t input_empty, input_empty_blockwise, output_empty, clc_empty, clc_empty_with_load, tmem_dealloc;
};

template <ClusterConfig config>
void expect_counts(const CountRow& row) {
  using Counts = ArrivalCounts<config, Roles>;
  using CountsWithLoad = ArrivalCounts<config, AllRoles>;
  const std::string name = std::to_string(config.cluster.m) + "x" + std::to_string(config.cluster.n) + " group " +
                           std::to_string(config.cta_group);
  EXPECT_EQ(Counts::input_full, 1u) << name;
  EXPECT_EQ(Counts::input_empty, row.input_empty) << name;
  EXPECT_EQ(Counts::input_empty_blockwise, row.input_empty_blockwise) << name;
  EXPECT_EQ(Counts::output_full, 1u) << name;
  EXPECT_EQ(Counts::output_empty, row.output_empty) << name;
  EXPECT_EQ(Counts::clc_full, 1u) << name;
  EXPECT_EQ(Counts::clc_empty, row.clc_empty) << name;
  EXPECT_EQ(CountsWithLoad::clc_empty, row.clc_empty_with_load) << name;
  EXPECT_EQ(Counts::clc_throttle_full, 32u) << name;
  EXPECT_EQ(Counts::clc_throttle_empty, 32u) << name;
  EXPECT_EQ(CountsWithLoad::epilogue_load_full, 1u) << name;
  EXPECT_EQ(CountsWithLoad::epilogue_load_empty, 128u) << name;
  EXPECT_EQ(Counts::tmem_dealloc, row.tmem_dealloc) << name;
}

TEST(RingCounts, FollowFromWhoSignalsAndHow) {
  using Copies = OneThread<Load>;
  using ToThreads = RingCounts<Roles, Copies, EachThread<Epilogue>>;
  EXPECT_EQ(ToThreads::full, 1u);
  EXPECT_EQ(ToThreads::empty, 128u);
  EXPECT_EQ((RingCounts<Roles, Copies, EachThread<Epilogue, 2>>::empty), 64u);
  EXPECT_EQ((RingCounts<Roles, Copies, EachWarp<Epilogue>>::empty), 4u);
  EXPECT_EQ((RingCounts<Roles, Copies, EachWarp<Epilogue, 2>>::empty), 2u);
  EXPECT_EQ((RingCounts<Roles, EachWarp<Epilogue>, OneThread<Mma>>::full), 4u);
  EXPECT_EQ((RingCounts<Roles, EachWarp<Epilogue>, OneThread<Mma>>::empty), 1u);
  // Every CTA that a copy goes to says that it has read it.
  EXPECT_EQ((RingCounts<Roles, Copies, EachWarp<Epilogue>, ClusterConfig{.cluster = {2, 1}}>::empty), 8u);
  EXPECT_EQ((RingCounts<Roles, Copies, EachWarp<Epilogue>, ClusterConfig{.cluster = {4, 2}}>::empty), 20u);
  EXPECT_EQ(
      (RingCounts<Roles, Copies, EachWarp<Epilogue>, ClusterConfig{.cluster = {4, 2}, .cta_group = 2}>::empty),
      12u);
}

TEST(ArrivalCounts, AreThoseOfThePublishedTable) {
  expect_counts<ClusterConfig{.cluster = {1, 1}}>({1, 5, 128, 224, 256, 128});
  expect_counts<ClusterConfig{.cluster = {2, 1}}>({2, 6, 128, 416, 480, 128});
  expect_counts<ClusterConfig{.cluster = {1, 2}}>({2, 6, 128, 416, 480, 128});
  expect_counts<ClusterConfig{.cluster = {2, 2}}>({3, 7, 128, 800, 928, 128});
  expect_counts<ClusterConfig{.cluster = {4, 2}}>({5, 9, 128, 1568, 1824, 128});
  expect_counts<ClusterConfig{.cluster = {2, 1}, .cta_group = 2}>({1, 5, 256, 416, 480, 256});
  expect_counts<ClusterConfig{.cluster = {2, 2}, .cta_group = 2}>({2, 6, 256, 800, 928, 256});
  expect_counts<ClusterConfig{.cluster = {4, 2}, .cta_group = 2}>({3, 7, 256, 1568, 1824, 256});
}

// The count is what the masks deliver: the leaders whose release reaches a CTA.
template <ClusterConfig config>
void expect_releases_reach_every_cta() {
  for (std::uint32_t rank = 0; rank < config.size(); ++rank) {
    std::uint32_t releases = 0;
    for (std::uint32_t leader = 0; leader < config.size(); leader += config.cta_group) {
      releases += KernelContext<config>(leader).input_release_mask() >> rank & 1u;
    }
    EXPECT_EQ(releases, (ArrivalCounts<config, Roles>::input_empty)) << "rank " << rank;
  }
}

TEST(ArrivalCounts, InputEmptyIsWhatReleaseMasksDeliver) {
  expect_releases_reach_every_cta<ClusterConfig{}>();
  expect_releases_reach_every_cta<ClusterConfig{.cluster = {2, 1}}>();
  expect_releases_reach_every_cta<ClusterConfig{.cluster = {1, 2}}>();
  expect_releases_reach_every_cta<ClusterConfig{.cluster = {2, 2}}>();
  expect_releases_reach_every_cta<ClusterConfig{.cluster = {4, 2}}>();
  expect_releases_reach_every_cta<ClusterConfig{.cluster = {2, 1}, .cta_group = 2}>();
  expect_releases_reach_every_cta<ClusterConfig{.cluster = {2, 2}, .cta_group = 2}>();
  expect_releases_reach_every_cta<ClusterConfig{.cluster = {4, 2}, .cta_group = 2}>();
  expect_releases_reach_every_cta<ClusterConfig{.cluster = {4, 4}, .cta_group = 2}>();
}

struct ScopeShared {
  BarrierPair<1> barriers;
};

// A CTA whose last act is a signal to its peer, which does nothing but exit.
template <AtExit at_exit>
sim::Report signal_a_peer(const sim::Schedule& schedule) {
  constexpr ClusterConfig kConfig{.cluster = {2, 1}};
  return run_kernel<ScopeShared>({.threads = 64, .grid = {2}, .cluster = {2}, .schedule = schedule},
                                 [&](ScopeShared& shared) {
                                   auto pipeline = shared.barriers.pipeline<PipelineScope::kCluster>("signal");
                                   const auto init = [&] { pipeline.init_mbars(1, 1); };
                                   const auto work = [&] {
                                     const KernelContext<kConfig> ctx;
                                     if (!ctx.is_first_cta_in_cluster()) return;  // early, without a word
                                     if (isa::tid_x() != 40) return;
                                     isa::mbarrier_arrive_cluster(isa::mapa(pipeline.producer_mbar(0), 1));
                                   };
                                   const KernelScope<kConfig, at_exit> scope(init);
                                   work();
                                 });
}

TEST(KernelScope, KeepsACtaUntilItsPeersAreDone) {
  int faults = 0;
  for (const sim::Schedule& schedule : some_schedules(20)) {
    EXPECT_TRUE(is_silent(signal_a_peer<AtExit::kClusterBarrier>(schedule)));
    faults += signal_a_peer<AtExit::kNothing>(schedule).has("exited_cta") ? 1 : 0;
  }
  EXPECT_GT(faults, 0) << "without the barrier a CTA leaves too early under some schedule";
}

TEST(KernelScope, OneCtaSyncsItsThreads) {
  for (const sim::Schedule& schedule : some_schedules()) {
    EXPECT_TRUE(is_silent(run_kernel<ScopeShared>({.threads = 64, .schedule = schedule}, [](ScopeShared& shared) {
      auto pipeline = shared.barriers.pipeline("own");
      const KernelScope<ClusterConfig{}> scope([&] { pipeline.init_mbars(32, 32); });
      if (isa::warp_idx() == 1) {
        pipeline.producer_signal_and_step();
      } else {
        pipeline.consumer_signal_and_step();
      }
    })));
  }
}

struct PreparedShared {
  BarrierPair<1> barriers;
  std::uint32_t numbers[64];
};

// What all threads prepare is there for all others; what they do behind the scope's beginning is not.
TEST(KernelScope, PreparedMemoryIsSeenByEveryThread) {
  for (const bool is_prepared : {true, false}) {
    const auto report = run_kernel<PreparedShared>({.threads = 64}, [&](PreparedShared& shared) {
      auto pipeline = shared.barriers.pipeline("own");
      const auto write = [&] { isa::st_shared(&shared.numbers[isa::tid_x()], isa::tid_x()); };
      const KernelScope<ClusterConfig{}> scope([&] { pipeline.init_mbars(1, 1); },
                                               [&] {
                                                 if (is_prepared) write();
                                               });
      scope.wait_for_kernel_ahead();
      if (!is_prepared) write();
      const std::uint32_t other = isa::ld_shared(&shared.numbers[63 - isa::tid_x()]);
      if (is_prepared) {
        EXPECT_EQ(other, 63 - isa::tid_x());
      }
    });
    EXPECT_EQ(report.ok(), is_prepared) << report.text();
  }
}

// Every warp does what its role says, once, behind what all have prepared; a role that is absent does nothing.
TEST(CtaLife, SendsEveryWarpToItsRole) {
  using Life = CtaLife<LifeConfig{}, Roles>;
  std::map<std::string, std::uint32_t> threads;
  EXPECT_TRUE(is_silent(run_kernel<PreparedShared>({.threads = Roles::kThreads}, [&](PreparedShared& shared) {
    auto pipeline = shared.barriers.pipeline("own");
    const auto count = [&](const char* role) {
      EXPECT_EQ(isa::ld_shared(&shared.numbers[isa::laneid()]), isa::laneid());
      ++threads[role];
    };
    Life::run([&] { pipeline.init_mbars(1, 1); },
              [&] {
                ++threads["prepared"];
                if (isa::warp_idx() == 0) isa::st_shared(&shared.numbers[isa::laneid()], isa::laneid());
              },
              as_role<Load>([&] { count("load"); }), as_role<EpilogueLoad>([&] { count("epilogue_load"); }),
              as_role<Epilogue>([&] { count("epilogue"); }));
  })));
  EXPECT_EQ(threads, (std::map<std::string, std::uint32_t>{{"prepared", 224}, {"load", 32}, {"epilogue", 128}}));
}

// The first role that is listed, and no other, does something before it begins.
TEST(CtaLife, TheFirstRoleIsEarly) {
  using Life = CtaLife<LifeConfig{}, Roles>;
  std::map<std::string, std::uint32_t> threads;
  EXPECT_TRUE(is_silent(run_kernel<PreparedShared>({.threads = Roles::kThreads}, [&](PreparedShared& shared) {
    auto pipeline = shared.barriers.pipeline("own");
    bool was_early = false;
    Life::run_early([&] { pipeline.init_mbars(1, 1); }, [] {},
                    [&] {
                      ++threads["early"];
                      was_early = true;
                    },
                    as_role<Epilogue>([&] { threads["epilogue"] += was_early ? 1 : 0; }),
                    as_role<Load>([&] { threads["load"] += was_early ? 0 : 1; }));
  })));
  EXPECT_EQ(threads, (std::map<std::string, std::uint32_t>{{"early", 128}, {"epilogue", 128}, {"load", 32}}));
}

// Registers go from the other warps to the first role that is listed.
template <RegisterSplit split>
struct MovesRegisters {
  struct Params {};
  using Shared = PreparedShared;
  using Math = Role<"math", 8>;
  using LoadWarps = Role<"load", 4>;
  using Two = WarpRoles<Math, LoadWarps>;
  static constexpr std::uint32_t kThreads = Two::kThreads;
  static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);
  static void run(const Params&, Shared& shared) {
    auto pipeline = shared.barriers.pipeline("own");
    CtaLife<LifeConfig{.registers = split}, Two>::run([&] { pipeline.init_mbars(1, 1); }, [] {},
                                                      as_role<Math>([] {}), as_role<LoadWarps>([] {}));
  }
};

TEST(CtaLife, MovesRegistersToTheFirstRole) {
  EXPECT_TRUE(is_silent(sim::launch<MovesRegisters<RegisterSplit{232, 40}>>({}, {}, {})));
  EXPECT_TRUE((sim::launch<MovesRegisters<RegisterSplit{240, 40}>>({}, {}, {}).has("register_budget")));
}

}  // namespace
}  // namespace heddle::test
