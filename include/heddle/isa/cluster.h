// SPDX-License-Identifier: Apache-2.0
//
// Clusters: CTAs that run at the same time and reach each other's shared memory.
//
//   MbarPtr peers_empty = mapa(empty, peer_rank);   // the same barrier, in another CTA
//   mbarrier_arrive_cluster(peers_empty);
#pragma once

#include <heddle/isa/cuda_ptx.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/trace.h>

namespace heddle::inline HEDDLE_TARGET::isa {

inline constexpr std::uint32_t kMaxPortableCluster = 8;
inline constexpr std::uint32_t kMaxCluster = 16;

#if HEDDLE_ON_CUDA

// The object at the same place in the shared memory of CTA `rank`. Reachable with the `_cluster`
// instructions only; ordinary loads and stores through it are not part of the interface.
template <class T>
HEDDLE_DEVICE T* mapa(T* shared, std::uint32_t rank, CallSite = CallSite::here()) {
  std::uint64_t peer;
  asm("mapa.u64 %0, %1, %2;" : "=l"(peer) : "l"(reinterpret_cast<std::uint64_t>(shared)), "r"(rank));
  return reinterpret_cast<T*>(peer);
}

// Orders: this thread's accesses before (release at cluster scope), for threads whose
// barrier_cluster_wait returns.
HEDDLE_DEVICE void barrier_cluster_arrive(CallSite = CallSite::here()) {
  cuda::ptx::barrier_cluster_arrive(cuda::ptx::sem_release);
}

// Orders nothing by itself: for use after fence_mbarrier_init.
HEDDLE_DEVICE void barrier_cluster_arrive_relaxed(CallSite = CallSite::here()) {
  cuda::ptx::barrier_cluster_arrive(cuda::ptx::sem_relaxed);
}

// Waits until all threads of the cluster that have not exited have arrived.
// Orders: what they released becomes visible here (acquire at cluster scope). Asynchronous copies are
// not ordered by it.
HEDDLE_DEVICE void barrier_cluster_wait(CallSite = CallSite::here()) {
  const TracedWait traced(WaitedFor::kCluster);
  cuda::ptx::barrier_cluster_wait(cuda::ptx::sem_acquire);
}

#else

void* mapa_address(void* shared, std::uint32_t rank, CallSite site);

template <class T>
T* mapa(T* shared, std::uint32_t rank, CallSite site = CallSite::here()) {
  return static_cast<T*>(mapa_address(shared, rank, site));
}

void barrier_cluster_arrive(CallSite site = CallSite::here());
void barrier_cluster_arrive_relaxed(CallSite site = CallSite::here());
void barrier_cluster_wait(CallSite site = CallSite::here());

#endif

// All threads of the cluster meet.
HEDDLE_DEVICE void cluster_sync(CallSite site = CallSite::here()) {
  barrier_cluster_arrive(site);
  barrier_cluster_wait(site);
}

}  // namespace heddle::inline HEDDLE_TARGET::isa
