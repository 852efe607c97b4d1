// SPDX-License-Identifier: Apache-2.0
//
// Cluster launch control, on sm_100: a running cluster asks to take over the work of one that has not started.
// The answer is 16 opaque bytes in shared memory, written through the async proxy, and 16 bytes completed on an
// mbarrier of the same CTA. Every cluster of the grid is launched or cancelled, exactly once.
//
//   mbarrier_arrive_expect_tx(full, kClcResponseBytes);
//   clusterlaunchcontrol_try_cancel(response, full);
//   // after a wait for full
//   const Bytes16 answer = ld_shared(response);
//   if (clusterlaunchcontrol_query_cancel_is_canceled(answer))
//     first = clusterlaunchcontrol_query_cancel_get_first_ctaid(answer);
#pragma once

#include <heddle/isa/cuda_ptx.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET::isa {

inline constexpr std::uint32_t kClcResponseBytes = 16;

#if HEDDLE_ON_CUDA

// `response` is aligned to 16 bytes. Not to be called once this CTA has seen a request fail.
HEDDLE_DEVICE void clusterlaunchcontrol_try_cancel(Bytes16* response, MbarPtr bar, CallSite = CallSite::here()) {
  cuda::ptx::clusterlaunchcontrol_try_cancel(response, &bar->opaque);
}

// The answer goes to the same place in every CTA of the cluster, and 16 bytes are completed on the barrier at the
// same place in each. None of them may have exited.
HEDDLE_DEVICE void clusterlaunchcontrol_try_cancel_multicast(Bytes16* response, MbarPtr bar,
                                                             CallSite = CallSite::here()) {
  cuda::ptx::clusterlaunchcontrol_try_cancel_multicast(response, &bar->opaque);
}

// Whether a cluster was cancelled, so that its work is the caller's.
HEDDLE_DEVICE bool clusterlaunchcontrol_query_cancel_is_canceled(Bytes16 response, CallSite = CallSite::here()) {
  return cuda::ptx::clusterlaunchcontrol_query_cancel_is_canceled(response);
}

// The ctaid of the first CTA of the cancelled cluster. Only if there is one.
HEDDLE_DEVICE Dim3 clusterlaunchcontrol_query_cancel_get_first_ctaid(Bytes16 response,
                                                                     CallSite = CallSite::here()) {
  std::uint32_t id[4];
  cuda::ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid(id, response);
  return {id[0], id[1], id[2]};
}

#else

void clusterlaunchcontrol_try_cancel(Bytes16* response, MbarPtr bar, CallSite site = CallSite::here());
void clusterlaunchcontrol_try_cancel_multicast(Bytes16* response, MbarPtr bar, CallSite site = CallSite::here());
bool clusterlaunchcontrol_query_cancel_is_canceled(Bytes16 response, CallSite site = CallSite::here());
Dim3 clusterlaunchcontrol_query_cancel_get_first_ctaid(Bytes16 response, CallSite site = CallSite::here());

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
