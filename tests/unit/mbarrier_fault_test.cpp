// SPDX-License-Identifier: Apache-2.0
//
// What the mbarrier instructions refuse, each with a neighbour that they take.
#include <heddle/isa/annotate.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tma.h>

#include <gtest/gtest.h>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

struct Shared {
  SharedMemBarrier bar[4];
  alignas(128) unsigned char tile[256];
};

// One thread, which has initialised bar[0] with `count`.
template <class Body>
sim::Report with_barrier(std::uint32_t count, const Body& body) {
  return run_kernel<Shared>({.threads = 1}, [&](Shared& shared) {
    init_barrier(shared.bar, count);
    body(shared);
  });
}

// Two CTAs, each with its own barrier; `body` runs in one thread of each, between two cluster barriers.
template <class Body>
sim::Report with_barrier_in_each_cta(std::uint32_t count, const Body& body) {
  return run_kernel<Shared>({.threads = 1, .grid = {2}, .cluster = {2}}, [&](Shared& shared) {
    init_barrier(shared.bar, count);
    isa::cluster_sync();
    body(shared, isa::mapa(shared.bar, 1 - isa::cluster_ctarank()));
    isa::cluster_sync();
  });
}

TEST(MbarrierFault, UseBeforeInitialisationIsReported) {
  const auto use = [](std::uint32_t which) {
    return with_barrier(1, [which](Shared& shared) { isa::mbarrier_arrive(shared.bar + which); });
  };
  EXPECT_TRUE(
      faults_with(use(1), "uninitialised_barrier",
                  "[uninitialised_barrier] mbarrier.arrive on the barrier at shared address 0x408, which is "
                  "not initialised"));
  EXPECT_TRUE(is_silent(use(0)));
}

TEST(MbarrierFault, UseAfterInvalidationIsReported) {
  const auto use = [](std::uint32_t invalidated) {
    return with_barrier(1, [invalidated](Shared& shared) {
      init_barrier(shared.bar + 1, 1);
      isa::mbarrier_inval(shared.bar + invalidated);
      isa::mbarrier_arrive(shared.bar);
    });
  };
  EXPECT_TRUE(
      faults_with(use(0), "uninitialised_barrier",
                  "[uninitialised_barrier] mbarrier.arrive on the barrier at shared address 0x400, which is not "
                  "initialised any more"));
  EXPECT_TRUE(is_silent(use(1)));
}

TEST(MbarrierFault, FaultNamesPipelineStageThreadAndLine) {
  std::uint32_t line = 0;
  const sim::Report report = with_barrier(1, [&](Shared& shared) {
    isa::annotate_role("load");
    isa::annotate_barriers(shared.bar, 4, "input", isa::BarrierRole::kFull);
    line = __LINE__ + 1;
    isa::mbarrier_arrive(shared.bar, 2);
  });
  EXPECT_EQ(
      report.text(),
      "[over_arrival] mbarrier.arrive of 2 on full of input[0], but only 1 of 1 arrivals are missing in phase "
      "0\n" +
          line_at("load, warp 0, lane 0", "mbarrier_fault_test.cpp", line) + "  again: tiny with schedule rr\n");
}

TEST(MbarrierFault, OneArrivalTooManyInAPhaseIsReported) {
  // The bytes that are outstanding keep the phase open.
  const auto arrive = [](std::uint32_t tx_bytes) {
    return with_barrier(1, [tx_bytes](Shared& shared) {
      isa::mbarrier_arrive_expect_tx(shared.bar, tx_bytes);
      isa::mbarrier_arrive(shared.bar);
    });
  };
  EXPECT_TRUE(
      faults_with(arrive(16), "over_arrival",
                  "[over_arrival] mbarrier.arrive of 1 on the barrier at shared address 0x400, but only 0 of "
                  "1 arrivals are missing in phase 0"));
  EXPECT_TRUE(is_silent(arrive(0)));
}

TEST(MbarrierFault, ArriveDropOfMoreThanIsPendingIsReported) {
  const auto drop = [](std::uint32_t count) {
    return with_barrier(2, [count](Shared& shared) { isa::mbarrier_arrive_drop(shared.bar, count); });
  };
  EXPECT_TRUE(
      faults_with(drop(3), "over_arrival",
                  "[over_arrival] mbarrier.arrive_drop of 3 on the barrier at shared address 0x400, but only "
                  "2 of 2 arrivals are missing in phase 0"));
  EXPECT_TRUE(is_silent(drop(1)));
}

TEST(MbarrierFault, ArriveNoCompleteThatWouldCompleteIsReported) {
  const auto arrive = [](std::uint32_t count) {
    return with_barrier(2, [count](Shared& shared) { isa::mbarrier_arrive_no_complete(shared.bar, count); });
  };
  EXPECT_TRUE(faults_with(arrive(2), "over_arrival",
                          "[over_arrival] mbarrier.arrive.noComplete of 2 on the barrier at shared address 0x400 "
                          "would complete the phase: 2 arrivals are missing"));
  EXPECT_TRUE(is_silent(arrive(1)));
}

TEST(MbarrierFault, CountOutOfRangeIsReported) {
  const auto init = [](std::uint32_t count) { return with_barrier(count, [](Shared&) {}); };
  EXPECT_TRUE(
      faults_with(init(0), "barrier_count",
                  "[barrier_count] mbarrier.init with a count of 0 on the barrier at shared address 0x400; a "
                  "count is 1 to 1048575"));
  EXPECT_TRUE(
      faults_with(init(1u << 20), "barrier_count",
                  "[barrier_count] mbarrier.init with a count of 1048576 on the barrier at shared address "
                  "0x400; a count is 1 to 1048575"));
  EXPECT_TRUE(is_silent(init((1u << 20) - 1)));
  const auto arrive = [](std::uint32_t count) {
    return with_barrier(1, [count](Shared& shared) { isa::mbarrier_arrive(shared.bar, count); });
  };
  EXPECT_TRUE(
      faults_with(arrive(0), "barrier_count",
                  "[barrier_count] mbarrier.arrive with a count of 0 on the barrier at shared address 0x400; "
                  "a count is 1 to 1048575"));
  EXPECT_TRUE(is_silent(arrive(1)));
}

TEST(MbarrierFault, TransactionCountOutOfRangeIsReported) {
  const auto expect = [](std::uint32_t tx_bytes) {
    return with_barrier(1, [tx_bytes](Shared& shared) {
      isa::mbarrier_expect_tx(shared.bar, 1000000);
      isa::mbarrier_expect_tx(shared.bar, tx_bytes);
    });
  };
  EXPECT_TRUE(
      faults_with(expect(48576), "transaction_range",
                  "[transaction_range] mbarrier.expect_tx of 48576 bytes on the barrier at shared address "
                  "0x400 takes its transaction count of 1000000 out of range; at most 1048575 bytes may be "
                  "outstanding"));
  EXPECT_TRUE(is_silent(expect(48575)));
  const auto complete = [](std::uint32_t tx_bytes) {
    return with_barrier(1,
                        [tx_bytes](Shared& shared) { isa::mbarrier_complete_tx_cluster(shared.bar, tx_bytes); });
  };
  EXPECT_TRUE(
      faults_with(complete(1u << 20), "transaction_range",
                  "[transaction_range] mbarrier.complete_tx of 1048576 bytes on the barrier at shared address "
                  "0x400 takes its transaction count of 0 out of range; at most 1048575 bytes may be "
                  "outstanding"));
  EXPECT_TRUE(is_silent(complete((1u << 20) - 1)));
}

TEST(MbarrierFault, MisalignedBarrierIsReported) {
  const auto use = [](std::uint32_t offset) {
    return run_kernel<Shared>({.threads = 1}, [offset](Shared& shared) {
      auto* bar = reinterpret_cast<MbarPtr>(reinterpret_cast<unsigned char*>(shared.bar) + offset);
      isa::mbarrier_init(bar, 1);
    });
  };
  EXPECT_TRUE(
      faults_with(use(4), "misaligned",
                  "[misaligned] mbarrier.init at shared address 0x404; an mbarrier is aligned to 8 bytes"));
  EXPECT_TRUE(is_silent(use(8)));
}

TEST(MbarrierFault, BarrierOutsideOfSharedMemoryIsReported) {
  struct Small {
    SharedMemBarrier bar[2];
  };
  const auto init = [](std::uint32_t which) {
    return run_kernel<Small>({.threads = 1},
                             [which](Small& shared) { isa::mbarrier_init(shared.bar + which, 1); });
  };
  EXPECT_TRUE(
      faults_with(init(2), "shared_out_of_bounds",
                  "[shared_out_of_bounds] mbarrier.init at shared address 0x410, outside of the CTA's shared "
                  "memory [0x400, 0x410)"));
  EXPECT_TRUE(is_silent(init(1)));
}

TEST(MbarrierFault, WaitOnAPeersBarrierIsReported) {
  const auto wait_on = [](bool own) {
    return with_barrier_in_each_cta(1, [own](Shared& shared, MbarPtr peers) {
      if (isa::cluster_ctarank() == 0) isa::mbarrier_test_wait_parity(own ? shared.bar : peers, 1);
    });
  };
  EXPECT_TRUE(
      faults_with(wait_on(false), "remote_wait",
                  "[remote_wait] mbarrier.try_wait.parity on a barrier of rank 1; a thread can use it on its "
                  "own CTA's barriers only (rank 0)"));
  EXPECT_TRUE(is_silent(wait_on(true)));
}

TEST(MbarrierFault, InitialisationOfAPeersBarrierIsReported) {
  const auto init = [](bool own) {
    return with_barrier_in_each_cta(1, [own](Shared& shared, MbarPtr peers) {
      if (isa::cluster_ctarank() == 0) isa::mbarrier_init((own ? shared.bar : peers) + 1, 1);
    });
  };
  EXPECT_TRUE(
      faults_with(init(false), "remote_wait",
                  "[remote_wait] mbarrier.init of a barrier of rank 1; a CTA initialises its own barriers "
                  "(rank 0)"));
  EXPECT_TRUE(is_silent(init(true)));
}

TEST(MbarrierFault, SecondInitialisationIsReported) {
  const auto init_again = [](std::uint32_t which) {
    return with_barrier(1, [which](Shared& shared) { isa::mbarrier_init(shared.bar + which, 1); });
  };
  EXPECT_TRUE(
      faults_with(init_again(0), "barrier_reinitialised",
                  "[barrier_reinitialised] mbarrier.init of the barrier at shared address 0x400, which is "
                  "already initialised"));
  EXPECT_TRUE(is_silent(init_again(1)));
}

TEST(MbarrierFault, ParityOtherThanZeroAndOneIsReported) {
  const auto wait_for = [](std::uint32_t parity) {
    return with_barrier(1, [parity](Shared& shared) { isa::mbarrier_try_wait_parity(shared.bar, parity); });
  };
  EXPECT_TRUE(
      faults_with(wait_for(3), "bad_parity",
                  "[bad_parity] a wait for parity 3 on the barrier at shared address 0x400; a parity is 0 or "
                  "1"));
  EXPECT_TRUE(is_silent(wait_for(1)));
}

TEST(MbarrierFault, StoreOverALiveBarrierIsReported) {
  const auto store_to = [](std::uint32_t which) {
    return with_barrier(1, [which](Shared& shared) { isa::st_shared(&shared.bar[which].opaque, 0u); });
  };
  EXPECT_TRUE(faults_with(store_to(0), "barrier_overwritten",
                          "[barrier_overwritten] st.shared of 8 bytes at 0x400 writes over the barrier at shared "
                          "address 0x400, which is initialised"));
  EXPECT_TRUE(is_silent(store_to(1)));
}

TEST(MbarrierFault, WideStoreThatTouchesALiveBarrierIsReported) {
  const auto store_to = [](std::uint32_t which) {
    return with_barrier(1, [which](Shared& shared) {
      init_barrier(shared.bar + 3, 1);
      isa::st_shared(reinterpret_cast<isa::Bytes16*>(shared.bar) + which, {});
    });
  };
  EXPECT_TRUE(
      faults_with(store_to(1), "barrier_overwritten",
                  "[barrier_overwritten] st.shared of 16 bytes at 0x410 writes over the barrier at shared "
                  "address 0x418, which is initialised"));
  EXPECT_TRUE(is_silent(store_to(2)));
}

TEST(MbarrierFault, LoadOfALiveBarrierIsReported) {
  const auto load_from = [](std::uint32_t which) {
    return with_barrier(1, [which](Shared& shared) {
      isa::st_shared(&shared.bar[1].opaque, 0u);
      isa::ld_shared(&shared.bar[which].opaque);
    });
  };
  EXPECT_TRUE(
      faults_with(load_from(0), "barrier_read",
                  "[barrier_read] ld.shared of 8 bytes at 0x400 reads the barrier at shared address 0x400, "
                  "which is initialised"));
  EXPECT_TRUE(is_silent(load_from(1)));
}

TEST(MbarrierFault, CopyOverALiveBarrierIsReported) {
  alignas(16) unsigned char source[16] = {};
  sim::GlobalMemory memory;
  memory.add_read_only("source", source, sizeof source);
  const auto copy_to = [&](std::uint32_t which) {
    return run_kernel<Shared>({.threads = 1, .memory = &memory}, [&, which](Shared& shared) {
      init_barrier(shared.bar + 1, 1);
      isa::mbarrier_arrive_expect_tx(shared.bar + 1, sizeof source);
      isa::cp_async_bulk_load(reinterpret_cast<unsigned char*>(shared.bar + which), source, sizeof source,
                              shared.bar + 1);
      wait_parity(shared.bar + 1, 0);
    });
  };
  EXPECT_TRUE(
      faults_with(copy_to(0), "barrier_overwritten",
                  "[barrier_overwritten] cp.async.bulk load of 16 bytes at 0x400 writes over the barrier at "
                  "shared address 0x408, which is initialised"));
  EXPECT_TRUE(is_silent(copy_to(2)));
}

TEST(MbarrierFault, InvalidationUnderAWaitingThreadIsReported) {
  const auto invalidate = [](std::uint32_t which) {
    return run_kernel<Shared>({.threads = 64}, [which](Shared& shared) {
      if (isa::tid_x() == 0) {
        init_barrier(shared.bar, 1);
        init_barrier(shared.bar + 1, 1);
      }
      isa::syncthreads();
      if (isa::tid_x() == 32) {
        isa::mbarrier_arrive(shared.bar + 1);  // in round robin it goes on until it blocks below
        wait_parity(shared.bar, 0);
      } else if (isa::tid_x() == 0) {
        wait_parity(shared.bar + 1, 0);
        isa::mbarrier_inval(shared.bar + which);
        isa::mbarrier_arrive(shared.bar);
      }
    });
  };
  EXPECT_TRUE(
      faults_with(invalidate(0), "barrier_in_use",
                  "[barrier_in_use] mbarrier.inval of the barrier at shared address 0x400 while warp 1, lane "
                  "0 waits on it"));
  EXPECT_TRUE(is_silent(invalidate(1)));
}

TEST(MbarrierFault, InvalOfABarrierThatACopyCompletesOnIsReported) {
  alignas(16) unsigned char source[64] = {};
  sim::GlobalMemory memory;
  memory.add_read_only("source", source, sizeof source);
  const auto invalidate = [&](std::uint32_t which) {
    return run_kernel<Shared>({.threads = 1, .memory = &memory}, [&, which](Shared& shared) {
      init_barrier(shared.bar, 1);
      init_barrier(shared.bar + 1, 1);
      isa::mbarrier_arrive_expect_tx(shared.bar, sizeof source);
      isa::cp_async_bulk_load(shared.tile, source, sizeof source, shared.bar);
      isa::mbarrier_inval(shared.bar + which);
      wait_parity(shared.bar + (1 - which), 0);
    });
  };
  EXPECT_TRUE(faults_with(
      invalidate(0), "barrier_in_use",
      "[barrier_in_use] mbarrier.inval of the barrier at shared address 0x400 while a bulk load of 64 "
      "bytes, which completes on it, is in flight"));
  EXPECT_TRUE(is_silent(invalidate(1)));
}

TEST(MbarrierFault, BarrierOfAPeerIsReportedWhereTheFormTakesTheOwnOnly) {
  const auto run = [](auto arrive) {
    return run_kernel<Shared>({.threads = 1, .grid = {2}, .cluster = {2}}, [&](Shared& shared) {
      init_barrier(shared.bar, 1);
      isa::cluster_sync();
      if (isa::cluster_ctarank() == 0) arrive(isa::mapa(&shared.bar[0], 1));
      isa::cluster_sync();
    });
  };
  const auto line = [](const std::string& instruction) {
    return "[bad_rank] " + instruction +
           " on a barrier of rank 1; this form takes a barrier of the own CTA (rank 0), the _cluster form any";
  };
  EXPECT_TRUE(
      faults_with(run([](MbarPtr bar) { isa::mbarrier_arrive(bar); }), "bad_rank", line("mbarrier.arrive")));
  EXPECT_TRUE(faults_with(run([](MbarPtr bar) { isa::mbarrier_arrive_drop(bar); }), "bad_rank",
                          line("mbarrier.arrive_drop")));
  EXPECT_TRUE(faults_with(run([](MbarPtr bar) { isa::mbarrier_expect_tx(bar, 16); }), "bad_rank",
                          line("mbarrier.expect_tx")));
  EXPECT_TRUE(faults_with(run([](MbarPtr bar) { isa::mbarrier_arrive_expect_tx(bar, 16); }), "bad_rank",
                          line("mbarrier.arrive.expect_tx")));
  EXPECT_TRUE(is_silent(run([](MbarPtr bar) { isa::mbarrier_arrive_cluster(bar); })));
}

}  // namespace
}  // namespace heddle::test
