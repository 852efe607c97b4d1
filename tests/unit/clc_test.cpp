// SPDX-License-Identifier: Apache-2.0
#include <heddle/isa/clc.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/warp.h>
#include <heddle/sim/event.h>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

struct Shared {
  isa::Bytes16 response[2];
  SharedMemBarrier full[2];
};

// Which CTAs of the grid were launched, and which were cancelled.
class Launches final : public sim::Watcher<Launches> {
 public:
  void on(const sim::event::CtaStart& event) { ++launched[event.cta]; }
  void on(const sim::event::ClusterCancel& event) {
    if (event.first_cta == ~std::uint64_t{0}) {
      ++refused;
    } else {
      ++cancelled[static_cast<std::uint32_t>(event.first_cta)];
    }
  }

  std::map<std::uint32_t, int> launched;
  std::map<std::uint32_t, int> cancelled;  // by first CTA
  int refused = 0;
};

// Every CTA does the work of its own block, and then that of clusters that it could cancel.
template <class Done>
void work_until_refused(Shared& shared, const Done& done) {
  if (isa::tid_x() == 0) {
    isa::mbarrier_init(&shared.full[0], 1);
    isa::fence_mbarrier_init();
  }
  isa::cluster_sync();
  const isa::Dim3 place = isa::cluster_ctaid();
  done(isa::ctaid());
  for (std::uint32_t turn = 0;; ++turn) {
    isa::mbarrier_arrive_expect_tx(&shared.full[0], isa::kClcResponseBytes);
    isa::cluster_sync();  // everyone expects the bytes, and has read the last response
    if (isa::cluster_ctarank() == 0) {
      isa::clusterlaunchcontrol_try_cancel_multicast(&shared.response[0], &shared.full[0]);
    }
    wait_parity(&shared.full[0], turn & 1);
    const isa::Bytes16 response = isa::ld_shared(&shared.response[0]);
    if (!isa::clusterlaunchcontrol_query_cancel_is_canceled(response)) break;
    const isa::Dim3 first = isa::clusterlaunchcontrol_query_cancel_get_first_ctaid(response);
    done({first.x + place.x, first.y + place.y, first.z + place.z});
  }
  isa::cluster_sync();
}

TEST(Clc, EveryClusterIsLaunchedOrCancelledOnce) {
  int refused = 0;
  for (const isa::Dim3& cluster : {isa::Dim3{1, 1, 1}, isa::Dim3{2, 1, 1}, isa::Dim3{2, 2, 1}}) {
    const isa::Dim3 grid{cluster.x * 4, cluster.y * 3, 2};
    for (const std::uint32_t sms : {1u, 4u, 9u}) {
      for (const sim::Schedule& schedule : some_schedules(10)) {
        Launches launches;
        std::map<std::uint32_t, int> done;
        ASSERT_TRUE(is_silent(run_kernel<Shared>({.threads = 1,
                                                  .grid = grid,
                                                  .cluster = cluster,
                                                  .schedule = schedule,
                                                  .arch = Arch::kSm100,
                                                  .sms = sms,
                                                  .observers = {&launches}},
                                                 [&](Shared& shared) {
                                                   work_until_refused(shared, [&](const isa::Dim3& id) {
                                                     ++done[id.x + grid.x * (id.y + grid.y * id.z)];
                                                   });
                                                 })));
        EXPECT_EQ(done.size(), grid.x * grid.y * grid.z);
        for (const auto& [id, times] : done) EXPECT_EQ(times, 1) << "block " << id;
        EXPECT_EQ(launches.launched.size() + launches.cancelled.size() * cluster.x * cluster.y, done.size());
        for (const auto& [id, times] : launches.cancelled) {
          EXPECT_EQ(times, 1);
          EXPECT_FALSE(launches.launched.contains(id));
        }
        refused += launches.refused;
      }
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(Clc, OneSmCancelsAllOthersWithoutBadLuck) {
  const sim::Report report =
      run_kernel<Shared>({.threads = 1, .grid = {10}, .arch = Arch::kSm100, .sms = 1},
                         [](Shared& shared) { work_until_refused(shared, [](const isa::Dim3&) {}); });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(report.stats.ctas, 1u);
  EXPECT_EQ(report.stats.cancelled_clusters, 9u);
}

// A refused cluster is launched later, so its work is not lost.
TEST(Clc, RefusalWhileClustersWaitHappens) {
  bool has_happened = false;
  for (std::uint64_t seed = 1; seed <= 100 && !has_happened; ++seed) {
    const sim::Report report = run_kernel<Shared>(
        {.threads = 1, .grid = {8}, .schedule = sim::Schedule::random(seed), .arch = Arch::kSm100, .sms = 1},
        [](Shared& shared) { work_until_refused(shared, [](const isa::Dim3&) {}); });
    ASSERT_TRUE(is_silent(report));
    EXPECT_EQ(report.stats.ctas + report.stats.cancelled_clusters, 8u);
    has_happened = report.stats.ctas > 1;
  }
  EXPECT_TRUE(has_happened);
}

// One thread of one CTA, in a grid of two; the other one does nothing but wait until it may start.
template <class Body>
sim::Report run_one(const Body& body, Arch arch = Arch::kSm100, const sim::Schedule& schedule = {}) {
  return run_kernel<Shared>({.threads = 1, .grid = {2}, .schedule = schedule, .arch = arch, .sms = 1},
                            [&](Shared& shared) {
                              if (isa::ctaid().x != 0) return;
                              init_barrier(&shared.full[0], 1);
                              init_barrier(&shared.full[1], 1);
                              body(shared);
                            });
}

isa::Bytes16 ask(Shared& shared, std::uint32_t slot = 0, std::uint32_t parity = 0) {
  isa::mbarrier_arrive_expect_tx(&shared.full[slot], isa::kClcResponseBytes);
  isa::clusterlaunchcontrol_try_cancel(&shared.response[slot], &shared.full[slot]);
  wait_parity(&shared.full[slot], parity);
  return isa::ld_shared(&shared.response[slot]);
}

TEST(Clc, ResponseNamesTheFirstCtaOfTheCluster) {
  isa::Dim3 first;
  EXPECT_TRUE(is_silent(
      run_kernel<Shared>({.threads = 1, .grid = {4, 2, 2}, .cluster = {2, 2, 2}, .arch = Arch::kSm100, .sms = 8},
                         [&](Shared& shared) {
                           init_barrier(&shared.full[0], 1);
                           isa::cluster_sync();
                           isa::mbarrier_arrive_expect_tx(&shared.full[0], 16);
                           isa::cluster_sync();
                           if (isa::cluster_ctarank() == 0) {
                             isa::clusterlaunchcontrol_try_cancel_multicast(&shared.response[0], &shared.full[0]);
                           }
                           wait_parity(&shared.full[0], 0);
                           const isa::Bytes16 response = isa::ld_shared(&shared.response[0]);
                           ASSERT_TRUE(isa::clusterlaunchcontrol_query_cancel_is_canceled(response));
                           first = isa::clusterlaunchcontrol_query_cancel_get_first_ctaid(response);
                           isa::cluster_sync();
                         })));
  EXPECT_EQ(first, (isa::Dim3{2, 0, 0}));
}

TEST(Clc, MisalignedResponseIsReported) {
  EXPECT_TRUE(faults_with(
      run_one([](Shared& shared) {
        isa::clusterlaunchcontrol_try_cancel(
            reinterpret_cast<isa::Bytes16*>(reinterpret_cast<char*>(&shared.response[0]) + 8), &shared.full[0]);
      }),
      "misaligned",
      "[misaligned] clusterlaunchcontrol.try_cancel with the response at shared address 0x408; it must be a "
      "multiple of 16"));
}

TEST(Clc, IsUnsupportedOnHopper) {
  EXPECT_TRUE(
      faults_with(run_one([](Shared& shared) { ask(shared); }, Arch::kSm90), "unsupported",
                  "[unsupported] clusterlaunchcontrol.try_cancel on sm_90; cluster launch control exists from "
                  "sm_100 on"));
  EXPECT_TRUE(is_silent(run_one([](Shared& shared) { ask(shared); })));
}

TEST(Clc, RequestAfterASeenFailureIsReported) {
  const auto twice = [](bool looks) {
    return run_one([looks](Shared& shared) {
      ask(shared);
      const isa::Bytes16 refused = ask(shared, 0, 1);
      if (looks) {
        EXPECT_FALSE(isa::clusterlaunchcontrol_query_cancel_is_canceled(refused));
      }
      ask(shared, 1);
    });
  };
  EXPECT_TRUE(
      faults_with(twice(true), "clc_after_failure",
                  "[clc_after_failure] clusterlaunchcontrol.try_cancel after this CTA has seen a request fail, "
                  "which is undefined"));
  EXPECT_TRUE(is_silent(twice(false))) << "requests may overtake the look at an answer";
}

TEST(Clc, FirstCtaOfAFailureIsReported) {
  EXPECT_TRUE(faults_with(run_one([](Shared& shared) {
                            ask(shared);
                            isa::clusterlaunchcontrol_query_cancel_get_first_ctaid(ask(shared, 0, 1));
                          }),
                          "clc_no_cluster",
                          "[clc_no_cluster] clusterlaunchcontrol.query_cancel.get_first_ctaid of a request that "
                          "failed, which names no cluster"));
}

TEST(Clc, QueryOfOtherBytesIsReported) {
  EXPECT_TRUE(
      faults_with(run_one([](Shared&) {
                    isa::clusterlaunchcontrol_query_cancel_is_canceled(isa::Bytes16{{1, 2, 3, 4}});
                  }),
                  "clc_bad_response",
                  "[clc_bad_response] clusterlaunchcontrol.query_cancel of 16 bytes that no try_cancel wrote"));
}

TEST(Clc, BarrierOfAPeerIsReported) {
  const sim::Report report =
      run_kernel<Shared>({.threads = 1, .grid = {2}, .cluster = {2}, .arch = Arch::kSm100}, [](Shared& shared) {
        init_barrier(&shared.full[0], 1);
        isa::cluster_sync();
        if (isa::cluster_ctarank() == 0) {
          isa::clusterlaunchcontrol_try_cancel(&shared.response[0], isa::mapa(&shared.full[0], 1));
        }
        isa::cluster_sync();
      });
  EXPECT_TRUE(
      faults_with(report, "bad_rank",
                  "[bad_rank] clusterlaunchcontrol.try_cancel with a barrier in rank 1; both its operands lie "
                  "in the CTA's own shared memory (rank 0)"));
}

TEST(Clc, MulticastAfterACtaHasExitedIsReported) {
  const auto run = [](bool stays) {
    return run_kernel<Shared>(
        {.threads = 1, .grid = {4}, .cluster = {2}, .arch = Arch::kSm100, .sms = 2}, [stays](Shared& shared) {
          if (isa::ctaid().x > 1) return;
          init_barrier(&shared.full[0], 1);
          isa::mbarrier_arrive_expect_tx(&shared.full[0], 16);
          isa::cluster_sync();
          if (isa::cluster_ctarank() == 1 && !stays) return;
          if (isa::cluster_ctarank() == 0) {
            // A peer that has exited takes no part in the cluster barrier any more.
            if (!stays) isa::cluster_sync();
            isa::clusterlaunchcontrol_try_cancel_multicast(&shared.response[0], &shared.full[0]);
          }
          wait_parity(&shared.full[0], 0);
          isa::ld_shared(&shared.response[0]);
          if (stays) isa::cluster_sync();
        });
  };
  EXPECT_TRUE(faults_with(run(false), "exited_cta",
                          "[exited_cta] clusterlaunchcontrol.try_cancel reaches block 1, which has exited"));
  EXPECT_TRUE(is_silent(run(true)));
}

TEST(Clc, ExitWithoutWaitingForTheResponseIsReported) {
  EXPECT_TRUE(faults_with(run_one([](Shared& shared) {
                            isa::mbarrier_arrive_expect_tx(&shared.full[0], 16);
                            isa::clusterlaunchcontrol_try_cancel(&shared.response[0], &shared.full[0]);
                          }),
                          "exit_in_flight",
                          "[exit_in_flight] block 0 exits while a request for a cluster is in flight, whose "
                          "response goes to its shared "
                          "memory"));
}

TEST(Clc, ResponseReadTooEarlyIsReported) {
  for (const sim::Schedule& schedule : some_schedules()) {
    const sim::Report report = run_one(
        [](Shared& shared) {
          isa::mbarrier_arrive_expect_tx(&shared.full[0], 16);
          isa::clusterlaunchcontrol_try_cancel(&shared.response[0], &shared.full[0]);
          isa::ld_shared(&shared.response[0]);
          wait_parity(&shared.full[0], 0);
        },
        Arch::kSm100, schedule);
    EXPECT_TRUE(report.has("read_before_full")) << report.text();
  }
}

// Two warps: one asks twice, the other reads the first response. It must have been read before the second
// request.
sim::Report overwrite(bool waits, const sim::Schedule& schedule) {
  return run_kernel<Shared>({.threads = 64, .grid = {3}, .schedule = schedule, .arch = Arch::kSm100, .sms = 1},
                            [waits](Shared& shared) {
                              if (isa::ctaid().x != 0) return;
                              if (isa::tid_x() == 0) {
                                init_barrier(&shared.full[0], 1);
                                init_barrier(&shared.full[1], 1);  // empty
                              }
                              isa::syncthreads();
                              if (isa::tid_x() == 0) {
                                for (std::uint32_t turn = 0; turn < 2; ++turn) {
                                  if (turn == 1 && waits) wait_parity(&shared.full[1], 0);
                                  isa::mbarrier_arrive_expect_tx(&shared.full[0], 16);
                                  isa::clusterlaunchcontrol_try_cancel(&shared.response[0], &shared.full[0]);
                                  wait_parity(&shared.full[0], turn);
                                }
                              } else if (isa::tid_x() == 32) {
                                wait_parity(&shared.full[0], 0);
                                isa::ld_shared(&shared.response[0]);
                                isa::mbarrier_arrive(&shared.full[1]);
                              }
                            });
}

TEST(Clc, ResponseOverwrittenWhileUnreadIsReported) {
  for (const sim::Schedule& schedule : some_schedules()) {
    EXPECT_TRUE(is_silent(overwrite(true, schedule)));
  }
  const std::vector<sim::Schedule> schedules = some_schedules(20);
  std::size_t reported = 0;
  for (const sim::Schedule& schedule : schedules) {
    const sim::Report report = overwrite(false, schedule);
    if (report.has("write_while_read") || report.has("read_before_full")) ++reported;
    EXPECT_FALSE(report.ok()) << schedule.name();
  }
  EXPECT_GT(reported, schedules.size() / 2);
}

TEST(Clc, ExpectingOtherThanSixteenBytesIsADeadlock) {
  for (const std::uint32_t bytes : {8u, 32u}) {
    const sim::Report report = run_one([bytes](Shared& shared) {
      isa::mbarrier_arrive_expect_tx(&shared.full[0], bytes);
      isa::clusterlaunchcontrol_try_cancel(&shared.response[0], &shared.full[0]);
      wait_parity(&shared.full[0], 0);
    });
    EXPECT_TRUE(report.has("deadlock")) << report.text();
    EXPECT_NE(report.text().find("bytes 16 of " + std::to_string(bytes)), std::string::npos) << report.text();
  }
}

}  // namespace
}  // namespace heddle::test
