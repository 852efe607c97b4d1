// SPDX-License-Identifier: Apache-2.0
//
// Hand-overs between CTAs of a cluster: scopes, cluster barriers, multicast and copies to a peer. Every fault
// has a twin that differs in one line and must stay silent.
#include "race_kernels.h"

namespace heddle::race_test {
namespace {

constexpr LaunchShape kPair{.grid = {2}, .cluster = {2}};

// Rank 1 arrives on a barrier of rank 0, which waits for it.
struct RemoteArrive {
  enum class Meet : std::uint8_t { kCluster, kRelaxed, kCtaOnly };
  struct Params {
    Meet meet;
    bool fences;
  };
  struct Shared {
    SharedMemBarrier signal;
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::annotate_barriers(&s.signal, 1, "signal", isa::BarrierRole::kOther);
      isa::mbarrier_init(&s.signal, 1);
      if (p.fences) isa::fence_mbarrier_init();
    }
    switch (p.meet) {
      case Meet::kCluster: isa::cluster_sync(); break;
      case Meet::kRelaxed:
        isa::barrier_cluster_arrive_relaxed();
        isa::barrier_cluster_wait();
        break;
      case Meet::kCtaOnly: isa::syncthreads(); break;
    }
    if (isa::tid_x() == 0) {
      if (isa::cluster_ctarank() == 1) isa::mbarrier_arrive_cluster(isa::mapa(&s.signal, 0));
      else wait_cluster(&s.signal, 0);
    }
    isa::cluster_sync();
  }
};

TEST(RaceChecker, FindsMissingClusterBarrierAfterInit) {
  using Meet = RemoteArrive::Meet;
  Host host;
  expect_silent<RemoteArrive>(host, kPair, {Meet::kCluster, true});
  expect_found<RemoteArrive>(host, kPair, {Meet::kCtaOnly, true}, {"init_not_visible", "uninitialised_barrier"});
  EXPECT_EQ(
      first_line<RemoteArrive>(host, kPair, {Meet::kCtaOnly, true}),
      "[init_not_visible] signal[0] is used by a thread to which its initialisation is not known to be visible");
}

TEST(RaceChecker, AsksForInitFenceWhereTheClusterBarrierIsRelaxed) {
  using Meet = RemoteArrive::Meet;
  Host host;
  expect_silent<RemoteArrive>(host, kPair, {Meet::kRelaxed, true});
  expect_formal<RemoteArrive>(host, kPair, {Meet::kRelaxed, false}, "missing_init_fence");
  // PTX: arrive.release hands over everything, initialisations included.
  expect_silent<RemoteArrive>(host, kPair, {Meet::kCluster, false});
}

// Rank 0 writes into the shared memory of rank 1, and says so.
struct RemoteWrite {
  enum class How : std::uint8_t {
    kBarrier,
    kUnsaidWait,
    kRelaxedArrive,
    kRelaxedWait,
    kClusterSync,
    kRelaxedSync,
    kFencedRelaxedSync,
    kNothing
  };
  struct Params {
    How how;
  };
  struct Shared {
    std::uint32_t word;
    SharedMemBarrier written;
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    const bool writes = isa::cluster_ctarank() == 0;
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.written, 1);
      isa::fence_mbarrier_init();
    }
    isa::cluster_sync();
    if (isa::tid_x() == 0 && writes) isa::st_shared(isa::mapa(&s.word, 1), 5u);
    switch (p.how) {
      case How::kNothing: break;
      case How::kClusterSync: isa::cluster_sync(); break;
      case How::kFencedRelaxedSync:
      case How::kRelaxedSync:
        if (p.how == How::kFencedRelaxedSync) isa::fence_acq_rel_cluster();
        isa::barrier_cluster_arrive_relaxed();
        isa::barrier_cluster_wait();
        break;
      case How::kBarrier:
      case How::kUnsaidWait:
      case How::kRelaxedArrive:
      case How::kRelaxedWait:
        if (isa::tid_x() != 0) break;
        if (writes) {
          if (p.how == How::kRelaxedArrive) isa::mbarrier_arrive_cluster_relaxed(isa::mapa(&s.written, 1));
          else isa::mbarrier_arrive_cluster(isa::mapa(&s.written, 1));
        } else if (p.how == How::kUnsaidWait) {
          wait(&s.written, 0);
        } else if (p.how == How::kRelaxedWait) {
          while (!isa::mbarrier_try_wait_parity_cluster_relaxed(&s.written, 0)) {
          }
        } else {
          wait_cluster(&s.written, 0);
        }
        break;
    }
    if (isa::tid_x() == 0 && !writes) isa::ld_shared(&s.word);
    isa::cluster_sync();
  }
};

TEST(RaceChecker, AsksForClusterScopeBetweenCtas) {
  using How = RemoteWrite::How;
  Host host;
  expect_silent<RemoteWrite>(host, kPair, {How::kBarrier});
  // PTX: mbarrier.try_wait: without a scope it is .cta, and every chip gives more.
  expect_formal<RemoteWrite>(host, kPair, {How::kUnsaidWait}, "narrow_scope");
  expect_silent<RemoteWrite>(host, kPair, {How::kClusterSync});
  expect_found<RemoteWrite>(host, kPair, {How::kNothing}, {"race"});
}

TEST(RaceChecker, KnowsThatRelaxedArrivalsAndWaitsOrderNoAccessOfAThread) {
  using How = RemoteWrite::How;
  Host host;
  expect_found<RemoteWrite>(host, kPair, {How::kRelaxedArrive}, {"race"});
  expect_found<RemoteWrite>(host, kPair, {How::kRelaxedWait}, {"race"});
  expect_silent<RemoteWrite>(host, kPair, {How::kBarrier});
}

TEST(RaceChecker, TakesRelaxedArrivalForWhatFencesReleased) {
  using How = RemoteWrite::How;
  Host host;
  expect_found<RemoteWrite>(host, kPair, {How::kRelaxedSync}, {"race"});
  expect_silent<RemoteWrite>(host, kPair, {How::kFencedRelaxedSync});
}

// Rank 0 loads tiles into both CTAs; a warp in each reads them, and tells rank 0 when it is done.
template <int stages>
struct Multicast {
  enum class Flaw : std::uint8_t { kNone, kNoFullWait, kUnsaidWait, kRelaxedArrive, kNoSyncwarp, kNoInitFence };
  struct Params {
    isa::TensorMap map;
    int tiles;
    Flaw flaw = Flaw::kNone;
  };
  struct Shared {
    alignas(1024) std::uint32_t tile[stages][32][32];
    SharedMemBarrier full[stages], empty[stages];
  };
  static constexpr std::uint32_t kThreads = 64;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::annotate_barriers(s.full, stages, "input", isa::BarrierRole::kFull);
      isa::annotate_barriers(s.empty, stages, "input", isa::BarrierRole::kEmpty);
      for (int i = 0; i < stages; ++i) {
        isa::mbarrier_init(&s.full[i], 1);
        isa::mbarrier_init(&s.empty[i], 2);
      }
      if (p.flaw != Flaw::kNoInitFence) isa::fence_mbarrier_init();
    }
    isa::cluster_sync();
    if (isa::warp_idx() == 0) {
      isa::annotate_role("load");
      if (isa::elect_sync()) load(p, s);
    } else {
      isa::annotate_role("use");
      consume(p, s);
    }
    isa::syncwarp();
    isa::cluster_sync();
  }

  static void load(const Params& p, Shared& s) {
    const bool leads = isa::cluster_ctarank() == 0;
    for (int k = 0; k < p.tiles; ++k) {
      const int stage = k % stages;
      const auto parity = static_cast<std::uint32_t>((k / stages) & 1);
      if (leads) {
        if (p.flaw == Flaw::kUnsaidWait) {
          wait(&s.empty[stage], parity ^ 1);
        } else {
          wait_cluster(&s.empty[stage], parity ^ 1);
        }
      } else if (k >= stages) {
        // Each CTA expects the bytes that land in it, once the last fill is complete.
        wait(&s.full[stage], parity ^ 1);
      }
      isa::mbarrier_arrive_expect_tx(&s.full[stage], Host::kTileBytes);
      if (leads) isa::cp_async_bulk_tensor_load_multicast(s.tile[stage], &p.map, {0, k * 32}, &s.full[stage], 3);
    }
  }

  static void consume(const Params& p, Shared& s) {
    for (int k = 0; k < p.tiles; ++k) {
      const int stage = k % stages;
      const bool is_flawed = p.flaw == Flaw::kNoFullWait && isa::cluster_ctarank() == 1 && k == 0;
      const auto parity = static_cast<std::uint32_t>((k / stages) & 1);
      if (!is_flawed) wait(&s.full[stage], parity);
      for (std::uint32_t row = 0; row < 32; ++row) isa::ld_shared(&s.tile[stage][row][isa::laneid()]);
      if (is_flawed) wait(&s.full[stage], parity);
      if (p.flaw != Flaw::kNoSyncwarp) isa::syncwarp();
      if (!isa::elect_sync()) continue;
      const bool is_relaxed = p.flaw == Flaw::kRelaxedArrive && isa::cluster_ctarank() == 1;
      if (is_relaxed) isa::mbarrier_arrive_cluster_relaxed(isa::mapa(&s.empty[stage], 0));
      else isa::mbarrier_arrive_cluster(isa::mapa(&s.empty[stage], 0));
    }
  }
};

TEST(RaceChecker, IsSilentOnMulticast) {
  Host host;
  expect_silent<Multicast<1>>(host, kPair, {host.source_map(), 4}, 100);
  expect_silent<Multicast<2>>(host, kPair, {host.source_map(), 7}, 200);
  expect_silent<Multicast<2>>(host, {.grid = {6}, .cluster = {2}}, {host.source_map(), 5});
}

TEST(RaceChecker, FindsReadOfMulticastTileWithoutWait) {
  using M = Multicast<2>;
  Host host;
  expect_found<M>(host, kPair, {host.source_map(), 4, M::Flaw::kNoFullWait}, {"read_before_full"});
}

TEST(RaceChecker, TellsWaitWithoutAScopeForReadersInAnotherCta) {
  using M = Multicast<2>;
  Host host;
  expect_formal<M>(host, kPair, {host.source_map(), 6, M::Flaw::kUnsaidWait}, "narrow_scope");
  expect_silent<M>(host, kPair, {host.source_map(), 6, M::Flaw::kNone});
}

TEST(RaceChecker, FindsRelaxedArrivalOfReadersInAnotherCta) {
  using M = Multicast<2>;
  Host host;
  const M::Params params{host.source_map(), 6, M::Flaw::kRelaxedArrive};
  expect_found<M>(host, kPair, params, {"write_while_read"});
  const std::string text = whole_text<M>(host, kPair, params);
  EXPECT_EQ(text.find("[write_while_read] a copy overwrites input[0] of block 1"), 0u) << text;
  EXPECT_NE(text.find("block 1, use, warp 1, lane"), std::string::npos) << text;
  EXPECT_NE(text.find("block 0, load, warp 0, lane 0: bulk load of 4096 bytes"), std::string::npos) << text;
  EXPECT_NE(
      text.find(
          "the readers are in another CTA than the issuer, and no arrival of theirs reaches it at cluster scope"),
      std::string::npos)
      << text;
}

TEST(RaceChecker, FindsElectedRemoteArriveWithoutSyncwarp) {
  using M = Multicast<1>;
  Host host;
  expect_found<M>(host, kPair, {host.source_map(), 4, M::Flaw::kNoSyncwarp}, {"write_while_read"});
}

TEST(RaceChecker, FindsMissingInitFenceBeforeMulticast) {
  using M = Multicast<1>;
  Host host;
  expect_formal<M>(host, kPair, {host.source_map(), 2, M::Flaw::kNoInitFence}, "missing_init_fence");
}

// Rank 0 sends a buffer to rank 1 by a copy, and writes it again.
struct SendToPeer {
  enum class Flaw : std::uint8_t { kNone, kNoFence, kNoReceiverWait, kNoSenderWait };
  struct Params {
    Flaw flaw = Flaw::kNone;
  };
  struct Shared {
    alignas(128) std::uint32_t out[32];
    alignas(128) std::uint32_t in[32];
    SharedMemBarrier received, taken;
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    const std::uint32_t lane = isa::laneid();
    if (lane == 0) {
      isa::mbarrier_init(&s.received, 1);
      isa::mbarrier_init(&s.taken, 1);
      isa::fence_mbarrier_init();
    }
    isa::cluster_sync();
    if (isa::cluster_ctarank() == 0) {
      isa::st_shared(&s.out[lane], lane);
      if (p.flaw != Flaw::kNoFence) isa::fence_proxy_async_shared_cta();
      isa::syncwarp();
      if (lane == 0) {
        isa::cp_async_bulk_cluster(isa::mapa(s.in, 1), s.out, 128, isa::mapa(&s.received, 1));
      }
      if (p.flaw != Flaw::kNoSenderWait) wait_cluster(&s.taken, 0);
      isa::syncwarp();
      isa::st_shared(&s.out[lane], lane + 1);
    } else {
      if (lane == 0) isa::mbarrier_arrive_expect_tx(&s.received, 128);
      if (p.flaw != Flaw::kNoReceiverWait) wait(&s.received, 0);
      isa::ld_shared(&s.in[lane]);
      wait(&s.received, 0);
      isa::syncwarp();
      if (lane == 0) isa::mbarrier_arrive_cluster(isa::mapa(&s.taken, 0));
    }
    isa::cluster_sync();
  }
};

TEST(RaceChecker, FollowsCopiesToAPeer) {
  using Flaw = SendToPeer::Flaw;
  Host host;
  expect_silent<SendToPeer>(host, kPair, {}, 200);
  expect_found<SendToPeer>(host, kPair, {Flaw::kNoFence}, {"missing_proxy_fence"});
  expect_found<SendToPeer>(host, kPair, {Flaw::kNoReceiverWait}, {"read_before_full"});
  expect_found<SendToPeer>(host, kPair, {Flaw::kNoSenderWait}, {"write_while_read"});
}

}  // namespace
}  // namespace heddle::race_test
