// SPDX-License-Identifier: Apache-2.0
//
// Peers that have not started or have exited, phases that are lost, barriers that are invalidated too early: by
// order, whatever the schedule. Every fault has a twin that differs in one line and must stay silent.
#include "race_kernels.h"

#include <heddle/isa/tcgen05.h>

namespace heddle::race_test {
namespace {

constexpr LaunchShape kPair{.grid = {2}, .cluster = {2}};

enum class Meet : std::uint8_t { kNothing, kCta, kRelaxed, kCluster };

void meet(Meet how) {
  switch (how) {
    case Meet::kNothing: return;
    case Meet::kCta: return isa::syncthreads();
    case Meet::kRelaxed: isa::barrier_cluster_arrive_relaxed(); return isa::barrier_cluster_wait();
    case Meet::kCluster: return isa::cluster_sync();
  }
}

// Rank 0 stores to the shared memory of rank 1, which exits at its end.
struct StoreToPeer {
  struct Params {
    Meet before;
    Meet after;
  };
  struct Shared {
    std::uint32_t word;
  };
  static constexpr std::uint32_t kThreads = 64;

  static void run(const Params& p, Shared& s) {
    meet(p.before);
    if (isa::tid_x() == 0 && isa::cluster_ctarank() == 0) isa::st_shared(isa::mapa(&s.word, 1), 1u);
    meet(p.after);
  }
};

TEST(Lifetime, APeerIsReachedOnceItIsKnownToHaveStarted) {
  Host host;
  expect_silent<StoreToPeer>(host, kPair, {Meet::kCluster, Meet::kCluster});
  expect_silent<StoreToPeer>(host, kPair, {Meet::kRelaxed, Meet::kCluster});
  expect_found<StoreToPeer>(host, kPair, {Meet::kNothing, Meet::kCluster}, {"peer_not_started"});
  expect_found<StoreToPeer>(host, kPair, {Meet::kCta, Meet::kCluster}, {"peer_not_started"});
  EXPECT_EQ(first_line<StoreToPeer>(host, kPair, {Meet::kNothing, Meet::kCluster}),
            "[peer_not_started] st.shared of the shared memory of block 1, which is not known to have started");
}

TEST(Lifetime, APeerStaysUntilItIsReached) {
  Host host;
  expect_silent<StoreToPeer>(host, kPair, {Meet::kCluster, Meet::kRelaxed});
  expect_found<StoreToPeer>(host, kPair, {Meet::kCluster, Meet::kNothing}, {"exited_cta"});
  expect_found<StoreToPeer>(host, kPair, {Meet::kCluster, Meet::kCta}, {"exited_cta"});
}

// Rank 0 arrives on a barrier of rank 1 at the end.
struct ArriveAtEnd {
  enum class Last : std::uint8_t { kNothing, kWait, kRelaxedArrive, kCluster };
  struct Params {
    Last last;
    bool is_relaxed = false;
  };
  struct Shared {
    SharedMemBarrier done;
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.done, 1);
      isa::fence_mbarrier_init();
    }
    isa::cluster_sync();
    if (isa::tid_x() == 0 && isa::cluster_ctarank() == 0) {
      if (p.is_relaxed) isa::mbarrier_arrive_cluster_relaxed(isa::mapa(&s.done, 1));
      else isa::mbarrier_arrive_cluster(isa::mapa(&s.done, 1));
    }
    if (p.last == Last::kWait && isa::cluster_ctarank() == 1) wait(&s.done, 0);
    if (p.last == Last::kCluster) isa::cluster_sync();
  }
};

TEST(Lifetime, APeerStaysUntilTheLastArrival) {
  using Last = ArriveAtEnd::Last;
  Host host;
  expect_silent<ArriveAtEnd>(host, kPair, {Last::kWait});
  expect_silent<ArriveAtEnd>(host, kPair, {Last::kWait, true});
  expect_silent<ArriveAtEnd>(host, kPair, {Last::kCluster});
  expect_found<ArriveAtEnd>(host, kPair, {Last::kNothing}, {"exited_cta", "uninitialised_barrier"});
}

// Rank 0 tells two barriers of rank 1 by commits of one thread, which arrive in order: to stay for the second is
// to stay for both.
struct CommitsAtEnd {
  enum class Waits : std::uint8_t { kForNone, kForFirst, kForSecond };
  struct Params {
    Waits waits;
    bool of_two_threads = false;
  };
  struct Shared {
    SharedMemBarrier first, second;
  };
  static constexpr std::uint32_t kThreads = 64;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.first, 1);
      isa::mbarrier_init(&s.second, 1);
      isa::fence_mbarrier_init();
    }
    isa::cluster_sync();
    const std::uint32_t other = p.of_two_threads ? 32 : 0;
    if (isa::cluster_ctarank() == 0) {
      if (isa::tid_x() == 0) isa::tcgen05_commit_multicast<2>(&s.first, 0b11);
      if (isa::tid_x() == other) isa::tcgen05_commit_multicast<2>(&s.second, 0b11);
      if (isa::tid_x() == 0) wait(&s.first, 0);
      if (isa::tid_x() == 0) wait(&s.second, 0);
    } else if (isa::tid_x() == 0) {
      if (p.waits == Waits::kForFirst) wait(&s.first, 0);
      if (p.waits == Waits::kForSecond) wait(&s.second, 0);
    }
  }
};

TEST(Lifetime, APeerStaysUntilTheLastCommit) {
  using Waits = CommitsAtEnd::Waits;
  for (std::uint64_t seed = 0; seed < test::schedule_share(50); ++seed) {
    const auto run = [&](const CommitsAtEnd::Params& params) {
      return sim::launch<CommitsAtEnd>({.schedule = sim::Schedule::random(seed), .arch = Arch::kSm100}, kPair,
                                       params);
    };
    const sim::Report in_order = run({Waits::kForSecond});
    EXPECT_TRUE(in_order.ok()) << in_order.text();
    for (const CommitsAtEnd::Params params :
         {CommitsAtEnd::Params{Waits::kForNone}, {Waits::kForFirst}, {Waits::kForSecond, true}}) {
      const sim::Report report = run(params);
      // The latter where the commit is still on its way when the CTA exits.
      EXPECT_TRUE(report.has("exited_cta") || report.has("exit_in_flight")) << report.text();
    }
  }
}

// One load, for which somebody waits or not.
struct LastLoad {
  struct Params {
    const std::uint32_t* source;
    bool waits;
  };
  struct Shared {
    alignas(128) isa::Bytes16 tile;
    SharedMemBarrier full;
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() != 0) return;
    isa::mbarrier_init(&s.full, 1);
    isa::fence_mbarrier_init();
    isa::mbarrier_arrive_expect_tx(&s.full, 16);
    isa::cp_async_bulk_load(&s.tile, p.source, 16, &s.full);
    for (int i = 0; i < 100; ++i) isa::mbarrier_test_wait_parity(&s.full, 1);  // of the phase before
    if (p.waits) wait(&s.full, 0);
  }
};

TEST(Lifetime, ACtaStaysUntilItsLoadsAreComplete) {
  Host host;
  expect_silent<LastLoad>(host, {.grid = {1}}, {host.source.data(), true});
  expect_found<LastLoad>(host, {.grid = {1}}, {host.source.data(), false}, {"exit_in_flight"});
}

// Two warps wait for each phase of a barrier that a third completes; it waits for the hand-back of both, of one,
// or of none.
struct Phases {
  enum class Waits : std::uint8_t { kForBoth, kForOne, kForNone };
  struct Params {
    Waits waits;
    bool elects = false;   // one lane of each warp arrives, after syncwarp
    bool commits = false;  // the third tells of tensor cores' work, of which there is none
  };
  struct Shared {
    SharedMemBarrier full, empty;
  };
  static constexpr std::uint32_t kThreads = 96;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.full, 1);
      const std::uint32_t warps = p.waits == Waits::kForOne ? 1 : 2;
      isa::mbarrier_init(&s.empty, p.elects ? warps : 32 * warps);
    }
    isa::syncthreads();
    for (std::uint32_t k = 0; k < (p.commits ? 4u : 2u); ++k) {
      if (isa::tid_x() == 64) {
        if (k > 0 && p.waits != Waits::kForNone) wait(&s.empty, (k - 1) % 2);
        if (p.commits) {
          isa::tcgen05_commit<1>(&s.full);
        } else {
          isa::mbarrier_arrive(&s.full);
        }
      }
      if (isa::warp_idx() < 2) {
        wait(&s.full, k % 2);
        isa::syncwarp();
        const bool hands_back = p.waits != Waits::kForOne || isa::warp_idx() == 0;
        if (hands_back && (!p.elects || isa::laneid() == 0)) isa::mbarrier_arrive(&s.empty);
      }
    }
  }
};

// A ring in which the warp that reads a stage expects its bytes, so that the one that loads arrives nowhere: its
// next copy tells that it has seen the stage handed back.
struct LoaderThatOnlyCopies {
  struct Params {
    const std::uint32_t* source;
    bool waits = true;
  };
  struct Shared {
    alignas(128) isa::Bytes16 tile;
    SharedMemBarrier full, empty;
  };
  static constexpr std::uint32_t kThreads = 96;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.full, 1);
      isa::mbarrier_init(&s.empty, 1);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    for (std::uint32_t k = 0; k < 4; ++k) {
      if (isa::tid_x() == 0) {
        wait(&s.empty, (k + 1) % 2);
        isa::cp_async_bulk_load(&s.tile, p.source, 16, &s.full);
      } else if (isa::tid_x() == 32) {
        isa::mbarrier_arrive_expect_tx(&s.full, 16);
        wait(&s.full, k % 2);
        isa::ld_shared(&s.tile);
        isa::fence_proxy_async();
        isa::mbarrier_arrive(&s.empty);
      } else if (isa::tid_x() == 64 && p.waits) {
        wait(&s.empty, k % 2);  // a third one that looks on, and whom nobody waits for
      }
    }
  }
};

// Warp 1 waits for the second phase alone. Before the first one ends, a wait for that parity passes at once.
struct WaitForTheSecondPhase {
  struct Params {
    bool meets;  // who has waited for the first
  };
  struct Shared {
    SharedMemBarrier bar;
    std::uint32_t word;
  };
  static constexpr std::uint32_t kThreads = 64;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.bar, 1);
      isa::st_shared(&s.word, 0u);
    }
    isa::syncthreads();
    if (isa::tid_x() == 0) {
      isa::mbarrier_arrive(&s.bar);
      wait(&s.bar, 0);
    }
    if (p.meets) isa::syncthreads();
    if (isa::tid_x() == 0) isa::mbarrier_arrive(&s.bar);
    if (isa::tid_x() == 32) {
      for (int i = 0; i < 30; ++i) isa::ld_shared(&s.word);  // late enough in the first schedule
      wait(&s.bar, 1);
    }
  }
};

TEST(Lifetime, AWaitForAParityMustNotComeBeforeThePhaseBeforeIsOver) {
  Host host;
  expect_silent<WaitForTheSecondPhase>(host, {.grid = {1}}, {true});
  EXPECT_EQ(first_line<WaitForTheSecondPhase>(host, {.grid = {1}}, {false}),
            "[lost_phase] warp 1 can pass its wait for phase 1 of the barrier at shared address 0x400 "
            "before phase 0 has ended");
}

// Warp 1 waits for the second phase alone, and has met those who arrived in the first, or one of them.
struct MeetThoseWhoArrive {
  struct Params {
    bool meets_all;
  };
  struct Shared {
    SharedMemBarrier bar;
  };
  static constexpr std::uint32_t kThreads = 96;

  static void run(const Params& p, Shared& s) {
    const bool arrives = isa::tid_x() == 0 || isa::tid_x() == 64;
    if (isa::tid_x() == 0) isa::mbarrier_init(&s.bar, 2);
    isa::syncthreads();
    if (arrives) isa::mbarrier_arrive(&s.bar);
    if (p.meets_all) {
      isa::bar_sync(1, 96);
    } else if (isa::tid_x() < 64) {
      isa::bar_sync(1, 64);
    }
    if (arrives) {
      wait(&s.bar, 0);
      isa::mbarrier_arrive(&s.bar);
    }
    if (isa::tid_x() == 32) wait(&s.bar, 1);
  }
};

TEST(Lifetime, WhoKnowsOfAllArrivalsKnowsThatThePhaseIsOver) {
  Host host;
  expect_silent<MeetThoseWhoArrive>(host, {.grid = {1}}, {true});
  EXPECT_EQ(first_line<MeetThoseWhoArrive>(host, {.grid = {1}}, {false}),
            "[lost_phase] warp 1 can pass its wait for phase 1 of the barrier at shared address 0x400 "
            "before phase 0 has ended");
}

TEST(Lifetime, ACopyTellsHowFarItsThreadHasCome) {
  Host host;
  expect_silent<LoaderThatOnlyCopies>(host, {.grid = {1}}, {host.source.data(), false});
  expect_found<LoaderThatOnlyCopies>(host, {.grid = {1}}, {host.source.data(), true}, {"lost_phase", "deadlock"});
}

TEST(Lifetime, APhaseIsNotOverBeforeEveryWaiterHasSeenTheLastOne) {
  using Waits = Phases::Waits;
  Host host;
  expect_silent<Phases>(host, {.grid = {1}}, {Waits::kForBoth});
  expect_silent<Phases>(host, {.grid = {1}}, {Waits::kForBoth, true});
  for (const Waits waits : {Waits::kForOne, Waits::kForNone}) {
    int lost = 0;
    for (std::uint64_t seed = 0; seed < test::schedule_share(50); ++seed) {
      const sim::LaunchOptions options{.memory = &host.memory, .schedule = sim::Schedule::random(seed)};
      const sim::Report report = sim::launch<Phases>(options, {.grid = {1}}, {waits});
      ASSERT_FALSE(report.ok()) << "schedule " << seed;
      lost += report.has("lost_phase") ? 1 : 0;
      EXPECT_TRUE(report.has("lost_phase") || report.has("deadlock")) << report.text();
    }
    if (test::is_whole()) {
      EXPECT_GT(lost, 0);
    }
  }
}

TEST(Lifetime, ACommitOfNothingComesAfterTheWaitBeforeIt) {
  for (std::uint64_t seed = 0; seed < test::schedule_share(50); ++seed) {
    const sim::Report report =
        sim::launch<Phases>({.schedule = sim::Schedule::random(seed), .arch = Arch::kSm100}, {.grid = {1}},
                            {Phases::Waits::kForBoth, true, true});
    ASSERT_TRUE(report.ok()) << report.text();
  }
}

// One thread does it all: it has arrived for the next phase before it looks at the last, and then counts the
// bytes that end the next by hand.
struct CountsByHand {
  struct Params {};
  struct Shared {
    SharedMemBarrier bar;
  };
  static constexpr std::uint32_t kThreads = 1;

  static void run(const Params&, Shared& s) {
    isa::mbarrier_init(&s.bar, 1);
    isa::mbarrier_arrive(&s.bar);
    isa::mbarrier_arrive_expect_tx(&s.bar, 16);
    wait(&s.bar, 0);
    isa::mbarrier_complete_tx_cluster(&s.bar, 16);
    wait(&s.bar, 1);
  }
};

TEST(Lifetime, BytesCountedByHandComeAfterTheWaitBeforeThem) {
  const sim::Report report = sim::launch<CountsByHand>({}, {.grid = {1}}, {});
  EXPECT_TRUE(report.ok()) << report.text();
}

// A barrier is invalidated by one thread after it was used by a copy and by another warp.
struct Invalidate {
  enum class Flaw : std::uint8_t { kNone, kNoWait, kNoBarrier };
  struct Params {
    const std::uint32_t* source;
    Flaw flaw;
  };
  struct Shared {
    alignas(128) isa::Bytes16 tile;
    SharedMemBarrier full;
  };
  static constexpr std::uint32_t kThreads = 64;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.full, 1);
      isa::fence_mbarrier_init();
      isa::mbarrier_arrive_expect_tx(&s.full, 16);
      isa::cp_async_bulk_load(&s.tile, p.source, 16, &s.full);
    }
    isa::syncthreads();
    if (p.flaw != Flaw::kNoWait) wait(&s.full, 0);
    if (p.flaw == Flaw::kNone) isa::syncthreads();
    if (isa::tid_x() == 0) isa::mbarrier_inval(&s.full);
  }
};

TEST(Lifetime, ABarrierIsInvalidatedAfterItsLastUse) {
  using Flaw = Invalidate::Flaw;
  Host host;
  expect_silent<Invalidate>(host, {.grid = {1}}, {host.source.data(), Flaw::kNone});
  expect_found<Invalidate>(host, {.grid = {1}}, {host.source.data(), Flaw::kNoWait}, {"barrier_in_use"});
  expect_found<Invalidate>(host, {.grid = {1}}, {host.source.data(), Flaw::kNoBarrier},
                           {"barrier_in_use", "uninitialised_barrier"});
}

// A pair allocates tensor memory.
struct AllocatePair {
  struct Params {
    Meet before;
  };
  struct Shared {
    std::uint32_t base;
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    meet(p.before);
    isa::tcgen05_alloc<2>(&s.base, 32);
    isa::cluster_sync();
    isa::tcgen05_dealloc<2>(0, 32);
    isa::cluster_sync();
  }
};

TEST(Lifetime, APairAllocatesOnceBothAreKnownToHaveStarted) {
  Host host;
  for (const char* schedule : {"rr", "1", "2", "3", "4"}) {
    const sim::LaunchOptions options{
        .memory = &host.memory, .schedule = sim::Schedule::parse(schedule), .arch = Arch::kSm100};
    EXPECT_TRUE(sim::launch<AllocatePair>(options, kPair, {Meet::kRelaxed}).ok());
    EXPECT_TRUE(sim::launch<AllocatePair>(options, kPair, {Meet::kCluster}).ok());
    // NVIDIA's tutorials do without the barrier: told, and nothing stops for it.
    for (const Meet before : {Meet::kNothing, Meet::kCta}) {
      const sim::Report report = sim::launch<AllocatePair>(options, kPair, {before});
      EXPECT_TRUE(report.ok()) << report.text();
      ASSERT_EQ(report.formal.size(), 1u);
      EXPECT_EQ(report.formal[0].code, sim::FaultCode::kPeerNotStarted);
    }
  }
}

}  // namespace
}  // namespace heddle::race_test
