// SPDX-License-Identifier: Apache-2.0
//
// Small programs with one mistake each, and the same without it, written once: the simulated SM runs them as C++,
// and as PTX after nvcc has compiled them.
#pragma once

#include <heddle/isa/cluster.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>

#include <cstdint>

// X(name, code, verdict, CTAs in the grid, of which each cluster has so many)
#define HEDDLE_FAULTS(X)                                         \
  X(arrival_missing, "deadlock", "wrong", 1, 1)                  \
  X(bytes_missing, "deadlock", "wrong", 1, 1)                    \
  X(arrival_too_many, "over_arrival", "wrong", 1, 1)             \
  X(no_barrier_between, "race", "wrong", 1, 1)                   \
  X(nothing_stored, "uninitialised_read", "wrong", 1, 1)         \
  X(no_fence_before_store, "missing_proxy_fence", "wrong", 1, 1) \
  X(read_too_early, "read_before_full", "wrong", 1, 1)           \
  X(written_too_early, "write_while_read", "wrong", 1, 1)        \
  X(barrier_not_made, "uninitialised_barrier", "wrong", 1, 1)    \
  X(barrier_made_twice, "barrier_reinitialised", "wrong", 1, 1)  \
  X(barrier_stored_to, "barrier_overwritten", "wrong", 1, 1)     \
  X(barrier_loaded, "barrier_read", "wrong", 1, 1)               \
  X(barrier_of_none, "barrier_count", "wrong", 1, 1)             \
  X(third_parity, "bad_parity", "wrong", 1, 1)                   \
  X(past_global, "global_out_of_bounds", "wrong", 1, 1)          \
  X(store_to_constant, "global_read_only", "wrong", 1, 1)        \
  X(crooked_copy, "misaligned", "wrong", 1, 1)                   \
  X(copy_of_12_bytes, "misaligned", "wrong", 1, 1)               \
  X(copy_left_behind, "exit_in_flight", "wrong", 1, 1)           \
  X(barrier_of_33, "named_barrier", "wrong", 1, 1)               \
  X(both_blocks_store, "global_race", "wrong", 2, 1)             \
  X(no_init_fence, "missing_init_fence", "formal", 1, 1)         \
  X(too_many_bytes, "transaction_range", "wrong", 1, 1)          \
  X(fifth_rank, "bad_rank", "wrong", 2, 2)                       \
  X(peer_too_early, "peer_not_started", "wrong", 2, 2)           \
  X(cluster_arrived_twice, "cluster_barrier", "wrong", 2, 2)     \
  X(init_unseen, "init_not_visible", "wrong", 1, 1)              \
  X(two_warps_store, "race", "wrong", 1, 1)                      \
  X(counts_differ, "named_barrier", "wrong", 1, 1)               \
  X(other_parity, "deadlock", "wrong", 1, 1)                     \
  X(peer_has_gone, "exited_cta", "wrong", 2, 2)                  \
  X(peer_reads_early, "race", "wrong", 2, 2)                     \
  X(written_after_arrive, "race", "wrong", 2, 2)                 \
  X(wait_without_scope, "narrow_scope", "formal", 2, 2)          \
  X(two_loads_of_a_stage, "write_while_read", "wrong", 1, 1)     \
  X(barrier_gone_too_early, "barrier_in_use", "wrong", 1, 1)     \
  X(next_phase_too_early, "lost_phase", "wrong", 1, 1)           \
  X(wait_for_peers_barrier, "remote_wait", "wrong", 2, 2)        \
  X(half_warps_meet, "divergence", "wrong", 1, 1)                \
  X(copy_past_the_end, "shared_out_of_bounds", "wrong", 1, 1)    \
  X(crooked_coordinate, "bad_coordinates", "wrong", 1, 1)        \
  X(no_tensor_map, "bad_tensor_map", "wrong", 1, 1)

namespace heddle::inline HEDDLE_TARGET {

namespace faults {

struct Shared {
  alignas(128) std::uint32_t words[64];
  SharedMemBarrier bars[4];
  alignas(16) isa::Bytes16 responses[2];
};

struct Params {
  std::uint32_t* words;         // 64
  const std::uint32_t* source;  // likewise, and read-only
  TensorMap map;                // of the source: 16 x 4, in boxes of 4 x 1
  TensorMap no_map;
};

HEDDLE_DEVICE bool is_first() { return isa::tid_x() == 0; }

// Barrier 0, for this many arrivals, seen by all.
HEDDLE_DEVICE void make_barrier(Shared& shared, std::uint32_t count) {
  if (is_first()) {
    isa::mbarrier_init(&shared.bars[0], count);
    isa::fence_mbarrier_init();
  }
  isa::syncthreads();
}

HEDDLE_DEVICE void load_16_bytes(const Params& params, Shared& shared) {
  if (!is_first()) return;
  isa::mbarrier_arrive_expect_tx(&shared.bars[0], 16);
  isa::cp_async_bulk_load(shared.words, params.source, 16, &shared.bars[0]);
}

HEDDLE_DEVICE void wait(Shared& shared, CallSite site = CallSite::here()) {
  while (!isa::mbarrier_try_wait_parity(&shared.bars[0], 0, site)) {
  }
}

HEDDLE_DEVICE void store_16_bytes(const Params& params, Shared& shared) {
  isa::cp_async_bulk_store(params.words, shared.words, 16);
  isa::cp_async_bulk_commit_group();
}

template <bool is_wrong>
HEDDLE_DEVICE void arrival_missing(const Params&, Shared& shared) {
  make_barrier(shared, is_wrong ? 2 : 1);
  if (is_first()) isa::mbarrier_arrive(&shared.bars[0]);
  while (!isa::mbarrier_try_wait_parity(&shared.bars[0], 0)) {
  }
}

template <bool is_wrong>
HEDDLE_DEVICE void bytes_missing(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  if (is_first()) {
    isa::mbarrier_arrive_expect_tx(&shared.bars[0], is_wrong ? 32 : 16);
    isa::cp_async_bulk_load(shared.words, params.source, 16, &shared.bars[0]);
  }
  while (!isa::mbarrier_try_wait_parity(&shared.bars[0], 0)) {
  }
}

template <bool is_wrong>
HEDDLE_DEVICE void arrival_too_many(const Params&, Shared& shared) {
  make_barrier(shared, 1);
  if (is_first()) isa::mbarrier_arrive(&shared.bars[0], is_wrong ? 2 : 1);
}

template <bool is_wrong>
HEDDLE_DEVICE void no_barrier_between(const Params& params, Shared& shared) {
  isa::st_shared(&shared.words[isa::tid_x()], isa::tid_x());
  if (!is_wrong) isa::syncthreads();
  const std::uint32_t other = isa::ld_shared(&shared.words[63 - isa::tid_x()]);
  isa::st_global(&params.words[isa::tid_x()], other);
}

template <bool is_wrong>
HEDDLE_DEVICE void nothing_stored(const Params& params, Shared& shared) {
  if (!is_wrong) isa::st_shared(&shared.words[isa::tid_x()], 7u);
  isa::st_global(&params.words[isa::tid_x()], isa::ld_shared(&shared.words[isa::tid_x()]));
}

template <bool is_wrong>
HEDDLE_DEVICE void no_fence_before_store(const Params& params, Shared& shared) {
  if (!is_first()) return;
  for (std::uint32_t i = 0; i < 4; ++i) isa::st_shared(&shared.words[i], i);
  if (!is_wrong) isa::fence_proxy_async_shared_cta();
  isa::cp_async_bulk_store(params.words, shared.words, 16);
  isa::cp_async_bulk_commit_group();
  isa::cp_async_bulk_wait_group<0>();
}

template <bool is_wrong>
HEDDLE_DEVICE void read_too_early(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  load_16_bytes(params, shared);
  if (!is_wrong) wait(shared);
  if (isa::tid_x() < 4) isa::st_global(&params.words[isa::tid_x()], isa::ld_shared(&shared.words[isa::tid_x()]));
  wait(shared);
}

template <bool is_wrong>
HEDDLE_DEVICE void written_too_early(const Params& params, Shared& shared) {
  if (!is_first()) return;
  for (std::uint32_t i = 0; i < 4; ++i) isa::st_shared(&shared.words[i], i);
  isa::fence_proxy_async_shared_cta();
  store_16_bytes(params, shared);
  if (!is_wrong) isa::cp_async_bulk_wait_group_read<0>();
  isa::st_shared(&shared.words[0], 5u);
  isa::cp_async_bulk_wait_group<0>();
}

template <bool is_wrong>
HEDDLE_DEVICE void barrier_not_made(const Params&, Shared& shared) {
  if (!is_wrong) make_barrier(shared, 1);
  if (is_first()) isa::mbarrier_arrive(&shared.bars[0]);
}

template <bool is_wrong>
HEDDLE_DEVICE void barrier_made_twice(const Params&, Shared& shared) {
  if (!is_first()) return;
  isa::mbarrier_init(&shared.bars[0], 1);
  if (!is_wrong) isa::mbarrier_inval(&shared.bars[0]);
  isa::mbarrier_init(&shared.bars[0], 1);
}

template <bool is_wrong>
HEDDLE_DEVICE void barrier_stored_to(const Params&, Shared& shared) {
  make_barrier(shared, 1);
  if (is_first()) isa::st_shared(is_wrong ? reinterpret_cast<std::uint32_t*>(&shared.bars[0]) : shared.words, 0u);
}

template <bool is_wrong>
HEDDLE_DEVICE void barrier_loaded(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  if (!is_first()) return;
  isa::st_shared(shared.words, 3u);
  isa::st_global(params.words,
                 isa::ld_shared(is_wrong ? reinterpret_cast<std::uint32_t*>(&shared.bars[0]) : shared.words));
}

template <bool is_wrong>
HEDDLE_DEVICE void barrier_of_none(const Params&, Shared& shared) {
  if (is_first()) isa::mbarrier_init(&shared.bars[0], is_wrong ? 0 : 1);
}

template <bool is_wrong>
HEDDLE_DEVICE void third_parity(const Params&, Shared& shared) {
  make_barrier(shared, 1);
  if (is_first()) isa::mbarrier_test_wait_parity(&shared.bars[0], is_wrong ? 2 : 1);
}

template <bool is_wrong>
HEDDLE_DEVICE void past_global(const Params& params, Shared&) {
  if (is_first()) isa::st_global(params.words + (is_wrong ? 64 : 63), 1u);
}

template <bool is_wrong>
HEDDLE_DEVICE void store_to_constant(const Params& params, Shared&) {
  if (is_first()) isa::st_global(is_wrong ? const_cast<std::uint32_t*>(params.source) : params.words, 1u);
}

template <bool is_wrong>
HEDDLE_DEVICE void crooked_copy(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  if (is_first()) {
    isa::mbarrier_arrive_expect_tx(&shared.bars[0], 16);
    isa::cp_async_bulk_load(shared.words + (is_wrong ? 1 : 4), params.source, 16, &shared.bars[0]);
  }
  wait(shared);
}

template <bool is_wrong>
HEDDLE_DEVICE void copy_of_12_bytes(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  constexpr std::uint32_t kBytes = is_wrong ? 12 : 16;
  if (is_first()) {
    isa::mbarrier_arrive_expect_tx(&shared.bars[0], kBytes);
    isa::cp_async_bulk_load(shared.words, params.source, kBytes, &shared.bars[0]);
  }
  wait(shared);
}

template <bool is_wrong>
HEDDLE_DEVICE void copy_left_behind(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  load_16_bytes(params, shared);
  if (!is_wrong) wait(shared);
}

template <bool is_wrong>
HEDDLE_DEVICE void barrier_of_33(const Params&, Shared&) {
  isa::bar_sync(1, is_wrong ? 33 : 64);
}

template <bool is_wrong>
HEDDLE_DEVICE void both_blocks_store(const Params& params, Shared&) {
  if (is_first()) isa::st_global(&params.words[is_wrong ? 0 : isa::ctaid().x], isa::ctaid().x);
}

template <bool is_wrong>
HEDDLE_DEVICE void no_init_fence(const Params& params, Shared& shared) {
  if (is_first()) {
    isa::mbarrier_init(&shared.bars[0], 1);
    if (!is_wrong) isa::fence_mbarrier_init();
  }
  isa::syncthreads();
  load_16_bytes(params, shared);
  wait(shared);
}

template <bool is_wrong>
HEDDLE_DEVICE void too_many_bytes(const Params&, Shared& shared) {
  make_barrier(shared, 2);
  if (is_first()) isa::mbarrier_expect_tx(&shared.bars[0], is_wrong ? 1u << 20 : 0);
}

template <bool is_wrong>
HEDDLE_DEVICE void fifth_rank(const Params&, Shared& shared) {
  isa::cluster_sync();
  if (is_first()) isa::st_shared(isa::mapa(shared.words, is_wrong ? 5 : 1) + isa::cluster_ctarank(), 1u);
  isa::cluster_sync();
}

template <bool is_wrong>
HEDDLE_DEVICE void peer_too_early(const Params&, Shared& shared) {
  if (!is_wrong) isa::cluster_sync();
  if (is_first()) isa::st_shared(isa::mapa(shared.words, 1 - isa::cluster_ctarank()), 1u);
  isa::cluster_sync();
}

template <bool is_wrong>
HEDDLE_DEVICE void cluster_arrived_twice(const Params&, Shared&) {
  isa::barrier_cluster_arrive();
  if (!is_wrong) isa::barrier_cluster_wait();
  isa::barrier_cluster_arrive();
  isa::barrier_cluster_wait();
}

template <bool is_wrong>
HEDDLE_DEVICE void init_unseen(const Params&, Shared& shared) {
  if (is_first()) {
    isa::mbarrier_init(&shared.bars[0], 1);
    isa::fence_mbarrier_init();
    isa::st_shared(&shared.words[0], 1u);
  }
  if (!is_wrong) isa::syncthreads();
  if (isa::tid_x() == 32) isa::mbarrier_arrive(&shared.bars[0]);
}

template <bool is_wrong>
HEDDLE_DEVICE void two_warps_store(const Params&, Shared& shared) {
  isa::st_shared(&shared.words[is_wrong ? isa::laneid() : isa::tid_x()], isa::tid_x());
}

template <bool is_wrong>
HEDDLE_DEVICE void counts_differ(const Params&, Shared&) {
  isa::bar_sync(1, is_wrong && isa::tid_x() < 32 ? 96 : 64);
}

template <bool is_wrong>
HEDDLE_DEVICE void other_parity(const Params&, Shared& shared) {
  make_barrier(shared, 1);
  if (is_first()) isa::mbarrier_arrive(&shared.bars[0]);
  isa::syncthreads();
  while (!isa::mbarrier_try_wait_parity(&shared.bars[0], is_wrong ? 1 : 0)) {
  }
}

template <bool is_wrong>
HEDDLE_DEVICE void peer_has_gone(const Params& params, Shared& shared) {
  if (is_first()) isa::st_shared(shared.words, 7u);
  isa::cluster_sync();
  if (is_first() && isa::cluster_ctarank() == 0)
    isa::st_global(params.words, isa::ld_shared(isa::mapa(shared.words, 1)));
  if (!is_wrong) isa::cluster_sync();
}

template <bool is_wrong>
HEDDLE_DEVICE void peer_reads_early(const Params& params, Shared& shared) {
  isa::cluster_sync();
  if (is_first()) isa::st_shared(isa::mapa(shared.words, 1 - isa::cluster_ctarank()), 7u);
  if (is_wrong) isa::syncthreads();
  else isa::cluster_sync();
  if (is_first()) isa::st_global(&params.words[isa::cluster_ctarank()], isa::ld_shared(shared.words));
  isa::cluster_sync();
}

template <bool is_wrong>
HEDDLE_DEVICE void wait_without_scope(const Params& params, Shared& shared) {
  if (is_first()) {
    isa::mbarrier_init(&shared.bars[0], 1);
    isa::fence_mbarrier_init();
  }
  isa::cluster_sync();
  if (is_first() && isa::cluster_ctarank() == 0) {
    isa::st_shared(isa::mapa(shared.words, 1), 7u);
    isa::mbarrier_arrive_cluster(isa::mapa(&shared.bars[0], 1));
  } else if (is_first()) {
    while (is_wrong ? !isa::mbarrier_try_wait_parity(&shared.bars[0], 0)
                    : !isa::mbarrier_try_wait_parity_cluster(&shared.bars[0], 0)) {
    }
    isa::st_global(params.words, isa::ld_shared(shared.words));
  }
  isa::cluster_sync();
}

template <bool is_wrong>
HEDDLE_DEVICE void written_after_arrive(const Params& params, Shared& shared) {
  if (!is_wrong && is_first()) isa::st_shared(shared.words, 7u);
  isa::barrier_cluster_arrive();
  if (is_wrong && is_first()) isa::st_shared(shared.words, 7u);
  isa::barrier_cluster_wait();
  if (is_first()) {
    isa::st_global(&params.words[isa::cluster_ctarank()],
                   isa::ld_shared(isa::mapa(shared.words, 1 - isa::cluster_ctarank())));
  }
  isa::cluster_sync();
}

template <bool is_wrong>
HEDDLE_DEVICE void two_loads_of_a_stage(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  if (is_first()) {
    isa::mbarrier_arrive_expect_tx(&shared.bars[0], 32);
    isa::cp_async_bulk_load(shared.words, params.source, 16, &shared.bars[0]);
    isa::cp_async_bulk_load(shared.words + (is_wrong ? 0 : 4), params.source + 4, 16, &shared.bars[0]);
  }
  wait(shared);
}

template <bool is_wrong>
HEDDLE_DEVICE void barrier_gone_too_early(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  load_16_bytes(params, shared);
  if (!is_first()) return;
  if (!is_wrong) wait(shared);
  isa::mbarrier_inval(&shared.bars[0]);
}

template <bool is_wrong>
HEDDLE_DEVICE void next_phase_too_early(const Params&, Shared& shared) {
  make_barrier(shared, 1);
  if (is_first()) isa::mbarrier_arrive(&shared.bars[0]);
  while (!isa::mbarrier_try_wait_parity(&shared.bars[0], 0)) {
  }
  if (!is_wrong) isa::syncthreads();
  if (isa::tid_x() == 63) isa::mbarrier_arrive(&shared.bars[0]);
}

template <bool is_wrong>
HEDDLE_DEVICE void wait_for_peers_barrier(const Params&, Shared& shared) {
  make_barrier(shared, 1);
  isa::cluster_sync();
  SharedMemBarrier* bar =
      isa::mapa(&shared.bars[0], is_wrong ? 1 - isa::cluster_ctarank() : isa::cluster_ctarank());
  if (is_first()) isa::mbarrier_test_wait_parity(bar, 1);
  isa::cluster_sync();
}

template <bool is_wrong>
HEDDLE_DEVICE void half_warps_meet(const Params&, Shared&) {
  if (!is_wrong || isa::laneid() < 16) isa::bar_sync(1, is_wrong ? 32 : 64);
  isa::syncthreads();  // until here none of them exits
}

template <bool is_wrong>
HEDDLE_DEVICE void copy_past_the_end(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  constexpr std::uint32_t kBytes = is_wrong ? 1u << 16 : 16;
  if (is_first()) {
    isa::mbarrier_arrive_expect_tx(&shared.bars[0], kBytes);
    isa::cp_async_bulk_load(shared.words, params.source, kBytes, &shared.bars[0]);
  }
  wait(shared);
}

template <bool is_wrong>
HEDDLE_DEVICE void crooked_coordinate(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  if (is_first()) {
    isa::mbarrier_arrive_expect_tx(&shared.bars[0], 16);
    isa::cp_async_bulk_tensor_load(shared.words, &params.map, {is_wrong ? 1 : 4, 0}, &shared.bars[0]);
  }
  wait(shared);
}

template <bool is_wrong>
HEDDLE_DEVICE void no_tensor_map(const Params& params, Shared& shared) {
  make_barrier(shared, 1);
  if (is_first()) {
    isa::mbarrier_arrive_expect_tx(&shared.bars[0], 16);
    isa::cp_async_bulk_tensor_load(shared.words, is_wrong ? &params.no_map : &params.map, {0, 0},
                                   &shared.bars[0]);
  }
  wait(shared);
}

// A program as a kernel.
#define HEDDLE_FAULT_KERNEL(name, code, verdict, ctas, cluster)                                             \
  template <bool is_wrong>                                                                                  \
  struct Kernel_##name {                                                                                    \
    using Params = faults::Params;                                                                          \
    using Shared = faults::Shared;                                                                          \
    static constexpr std::uint32_t kThreads = 64;                                                           \
    HEDDLE_DEVICE static void run(const Params& params, Shared& shared) { name<is_wrong>(params, shared); } \
  };
HEDDLE_FAULTS(HEDDLE_FAULT_KERNEL)
#undef HEDDLE_FAULT_KERNEL

}  // namespace faults

}  // namespace heddle::inline HEDDLE_TARGET
