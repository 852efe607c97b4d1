// SPDX-License-Identifier: Apache-2.0
//
// mbarrier: an arrival counter with a phase and a count of outstanding bytes, 8 bytes in shared memory.
// One function per instruction, named as the PTX manual names it. A function whose name ends in `_cluster`
// takes a barrier that may lie in another CTA of the cluster (see mapa in cluster.h); the others take a
// barrier in the CTA's own shared memory. Only the own barrier can be waited for.
//
//   mbarrier_arrive_expect_tx(full, tile_bytes);     // one arrival, and so many bytes still to come
//   while (!mbarrier_try_wait_parity(full, 0)) {}    // the phase of parity 0 is over: the bytes are here
#pragma once

#include <heddle/isa/cuda_ptx.h>
#include <heddle/isa/target.h>
#include <heddle/isa/trace.h>

namespace heddle::inline HEDDLE_TARGET {

// The barrier object. Opaque: only the functions below touch it.
struct alignas(8) SharedMemBarrier {
  std::uint64_t opaque;
};

using MbarPtr = SharedMemBarrier*;

namespace isa {

// What an arrival returns: names the phase that it arrived in, for mbarrier_test_wait and
// mbarrier_pending_count.
using MbarrierState = std::uint64_t;

inline constexpr std::uint32_t kMaxBarrierCount = (1u << 20) - 1;
inline constexpr std::uint32_t kMaxTransactionBytes = (1u << 20) - 1;

#if HEDDLE_ON_CUDA

HEDDLE_DEVICE void mbarrier_init(MbarPtr bar, std::uint32_t count, CallSite = CallSite::here()) {
  cuda::ptx::mbarrier_init(&bar->opaque, count);
}

HEDDLE_DEVICE void mbarrier_inval(MbarPtr bar, CallSite = CallSite::here()) {
  asm volatile(
      "mbarrier.inval.shared::cta.b64 [%0];" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(bar)))
      : "memory");
}

// Orders: everything this thread did before becomes visible to threads of the CTA whose wait on this phase
// succeeds (release at CTA scope).
HEDDLE_DEVICE MbarrierState mbarrier_arrive(MbarPtr bar, std::uint32_t count = 1, CallSite = CallSite::here()) {
  trace_arrive(bar);
  return cuda::ptx::mbarrier_arrive(&bar->opaque, count);
}

// Orders: as mbarrier_arrive, for threads of the whole cluster (release at cluster scope).
HEDDLE_DEVICE void mbarrier_arrive_cluster(MbarPtr bar, std::uint32_t count = 1, CallSite = CallSite::here()) {
  trace_arrive(bar);
  cuda::ptx::mbarrier_arrive(cuda::ptx::sem_release, cuda::ptx::scope_cluster, cuda::ptx::space_cluster,
                             &bar->opaque, count);
}

// Orders no ordinary access (relaxed at cluster scope): for a stage that tensor cores have read, which the
// wait for them has ended, and that copies will write. On the GPU this saves a fence of the whole chip.
HEDDLE_DEVICE void mbarrier_arrive_cluster_relaxed(MbarPtr bar, CallSite = CallSite::here()) {
  trace_arrive(bar);
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(bar)))
               : "memory");
}

HEDDLE_DEVICE MbarrierState mbarrier_arrive_no_complete(MbarPtr bar, std::uint32_t count,
                                                        CallSite = CallSite::here()) {
  return cuda::ptx::mbarrier_arrive_no_complete(&bar->opaque, count);
}

HEDDLE_DEVICE MbarrierState mbarrier_arrive_drop(MbarPtr bar, std::uint32_t count = 1,
                                                 CallSite = CallSite::here()) {
  MbarrierState state;
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state)
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(bar))), "r"(count)
               : "memory");
  return state;
}

// Expects the bytes first, then arrives once, as one operation.
// Orders: as mbarrier_arrive.
HEDDLE_DEVICE MbarrierState mbarrier_arrive_expect_tx(MbarPtr bar, std::uint32_t tx_bytes,
                                                      CallSite = CallSite::here()) {
  trace_arrive(bar, tx_bytes);
  return cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta,
                                              cuda::ptx::space_shared, &bar->opaque, tx_bytes);
}

HEDDLE_DEVICE void mbarrier_arrive_expect_tx_cluster(MbarPtr bar, std::uint32_t tx_bytes,
                                                     CallSite = CallSite::here()) {
  trace_arrive(bar, tx_bytes);
  cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cluster, cuda::ptx::space_cluster,
                                       &bar->opaque, tx_bytes);
}

// Expects bytes without arriving. Orders nothing (relaxed).
HEDDLE_DEVICE void mbarrier_expect_tx(MbarPtr bar, std::uint32_t tx_bytes, CallSite = CallSite::here()) {
  cuda::ptx::mbarrier_expect_tx(cuda::ptx::sem_relaxed, cuda::ptx::scope_cta, cuda::ptx::space_shared,
                                &bar->opaque, tx_bytes);
}

HEDDLE_DEVICE void mbarrier_expect_tx_cluster(MbarPtr bar, std::uint32_t tx_bytes, CallSite = CallSite::here()) {
  cuda::ptx::mbarrier_expect_tx(cuda::ptx::sem_relaxed, cuda::ptx::scope_cluster, cuda::ptx::space_cluster,
                                &bar->opaque, tx_bytes);
}

// What a copy engine does when bytes have landed, done by hand.
HEDDLE_DEVICE void mbarrier_complete_tx_cluster(MbarPtr bar, std::uint32_t tx_bytes,
                                                CallSite = CallSite::here()) {
  asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(bar))),
               "r"(tx_bytes)
               : "memory");
}

// Arrivals that were still missing in the phase that `state` names, when it was made.
HEDDLE_DEVICE std::uint32_t mbarrier_pending_count(MbarrierState state) {
  std::uint32_t count;
  asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
  return count;
}

// True once the phase that `state` names is over. Never blocks.
// Orders: when true, what arrivers of that phase released is visible to this thread (acquire at CTA scope).
HEDDLE_DEVICE bool mbarrier_test_wait(MbarPtr bar, MbarrierState state, CallSite = CallSite::here()) {
  return cuda::ptx::mbarrier_test_wait(&bar->opaque, state);
}

HEDDLE_DEVICE bool mbarrier_test_wait_parity(MbarPtr bar, std::uint32_t parity, CallSite = CallSite::here()) {
  return cuda::ptx::mbarrier_test_wait_parity(&bar->opaque, parity);
}

// As test_wait, but may suspend the thread, and may return false before the phase is over: loop.
HEDDLE_DEVICE bool mbarrier_try_wait(MbarPtr bar, MbarrierState state, CallSite = CallSite::here()) {
  return cuda::ptx::mbarrier_try_wait(&bar->opaque, state);
}

HEDDLE_DEVICE bool mbarrier_try_wait_parity(MbarPtr bar, std::uint32_t parity, CallSite = CallSite::here()) {
  return cuda::ptx::mbarrier_try_wait_parity(&bar->opaque, parity);
}

// `suspend_ns` is a hint: how long the hardware may keep the thread suspended.
HEDDLE_DEVICE bool mbarrier_try_wait_parity_hint(MbarPtr bar, std::uint32_t parity, std::uint32_t suspend_ns,
                                                 CallSite = CallSite::here()) {
  return cuda::ptx::mbarrier_try_wait_parity(&bar->opaque, parity, suspend_ns);
}

// Orders: acquire at cluster scope, for barriers that other CTAs arrive on.
HEDDLE_DEVICE bool mbarrier_try_wait_parity_cluster(MbarPtr bar, std::uint32_t parity,
                                                    CallSite = CallSite::here()) {
  return cuda::ptx::mbarrier_try_wait_parity(cuda::ptx::sem_acquire, cuda::ptx::scope_cluster, &bar->opaque,
                                             parity);
}

// Orders no ordinary access (relaxed at cluster scope).
HEDDLE_DEVICE bool mbarrier_try_wait_parity_cluster_relaxed(MbarPtr bar, std::uint32_t parity,
                                                            CallSite = CallSite::here()) {
  std::uint32_t is_over;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.b32 %0, 1, 0, p;\n\t}"
      : "=r"(is_over)
      : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(bar))), "r"(parity)
      : "memory");
  return is_over != 0;
}

#else

void mbarrier_init(MbarPtr bar, std::uint32_t count, CallSite site = CallSite::here());
void mbarrier_inval(MbarPtr bar, CallSite site = CallSite::here());
MbarrierState mbarrier_arrive(MbarPtr bar, std::uint32_t count = 1, CallSite site = CallSite::here());
void mbarrier_arrive_cluster(MbarPtr bar, std::uint32_t count = 1, CallSite site = CallSite::here());
MbarrierState mbarrier_arrive_no_complete(MbarPtr bar, std::uint32_t count, CallSite site = CallSite::here());
MbarrierState mbarrier_arrive_drop(MbarPtr bar, std::uint32_t count = 1, CallSite site = CallSite::here());
MbarrierState mbarrier_arrive_expect_tx(MbarPtr bar, std::uint32_t tx_bytes, CallSite site = CallSite::here());
void mbarrier_arrive_expect_tx_cluster(MbarPtr bar, std::uint32_t tx_bytes, CallSite site = CallSite::here());
void mbarrier_expect_tx(MbarPtr bar, std::uint32_t tx_bytes, CallSite site = CallSite::here());
void mbarrier_expect_tx_cluster(MbarPtr bar, std::uint32_t tx_bytes, CallSite site = CallSite::here());
void mbarrier_complete_tx_cluster(MbarPtr bar, std::uint32_t tx_bytes, CallSite site = CallSite::here());
std::uint32_t mbarrier_pending_count(MbarrierState state);
bool mbarrier_test_wait(MbarPtr bar, MbarrierState state, CallSite site = CallSite::here());
bool mbarrier_test_wait_parity(MbarPtr bar, std::uint32_t parity, CallSite site = CallSite::here());
bool mbarrier_try_wait(MbarPtr bar, MbarrierState state, CallSite site = CallSite::here());
bool mbarrier_try_wait_parity(MbarPtr bar, std::uint32_t parity, CallSite site = CallSite::here());
bool mbarrier_try_wait_parity_hint(MbarPtr bar, std::uint32_t parity, std::uint32_t suspend_ns,
                                   CallSite site = CallSite::here());
bool mbarrier_try_wait_parity_cluster(MbarPtr bar, std::uint32_t parity, CallSite site = CallSite::here());

void mbarrier_arrive_cluster_relaxed(MbarPtr bar, CallSite site = CallSite::here());
bool mbarrier_try_wait_parity_cluster_relaxed(MbarPtr bar, std::uint32_t parity,
                                              CallSite site = CallSite::here());

#endif

}  // namespace isa
}  // namespace heddle::inline HEDDLE_TARGET
