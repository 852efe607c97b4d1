// SPDX-License-Identifier: Apache-2.0
//
// Fences: what becomes visible to whom, and through which proxy. Ordinary loads and stores go through the
// generic proxy; bulk copies (TMA) and tensor cores read and write shared memory through the async proxy.
#pragma once

#include <heddle/isa/cuda_ptx.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET::isa {

#if HEDDLE_ON_CUDA

// Orders: this thread's mbarrier_init, before the cluster's and the async proxy's use of those barriers.
// A barrier of the right scope must follow (bar_sync, or the cluster barrier).
HEDDLE_DEVICE void fence_mbarrier_init(CallSite = CallSite::here()) {
  cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
}

// Orders: this thread's generic accesses before, against async-proxy accesses after (all state spaces).
HEDDLE_DEVICE void fence_proxy_async(CallSite = CallSite::here()) { cuda::ptx::fence_proxy_async(); }

// Orders: as fence_proxy_async, for the CTA's own shared memory: what a TMA store or a tensor core needs
// before it reads what this thread wrote.
HEDDLE_DEVICE void fence_proxy_async_shared_cta(CallSite = CallSite::here()) {
  cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
}

HEDDLE_DEVICE void fence_proxy_async_global(CallSite = CallSite::here()) {
  cuda::ptx::fence_proxy_async(cuda::ptx::space_global);
}

HEDDLE_DEVICE void fence_acq_rel_cta(CallSite = CallSite::here()) {
  cuda::ptx::fence(cuda::ptx::sem_acq_rel, cuda::ptx::scope_cta);
}

HEDDLE_DEVICE void fence_acq_rel_cluster(CallSite = CallSite::here()) {
  cuda::ptx::fence(cuda::ptx::sem_acq_rel, cuda::ptx::scope_cluster);
}

HEDDLE_DEVICE void fence_acq_rel_gpu(CallSite = CallSite::here()) {
  cuda::ptx::fence(cuda::ptx::sem_acq_rel, cuda::ptx::scope_gpu);
}

#else

void fence_mbarrier_init(CallSite site = CallSite::here());
void fence_proxy_async(CallSite site = CallSite::here());
void fence_proxy_async_shared_cta(CallSite site = CallSite::here());
void fence_proxy_async_global(CallSite site = CallSite::here());
void fence_acq_rel_cta(CallSite site = CallSite::here());
void fence_acq_rel_cluster(CallSite site = CallSite::here());
void fence_acq_rel_gpu(CallSite site = CallSite::here());

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
