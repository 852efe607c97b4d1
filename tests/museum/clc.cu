// SPDX-License-Identifier: Apache-2.0
//
// Cluster launch control: CTAs that take over the work of CTAs that have not started.
#include "ptx.h"

namespace {

struct Flaws {
  u32 expected = 16;
  bool all_wait = true;      // or only the thread that asked
  bool syncs = true;         // before the next request overwrites the response
  bool proxy_fence = true;   // likewise
  bool asks_always = false;  // for the first CTA, whether there is one or not
  bool trusts = false;       // that it is one
  bool stops = true;         // at the first failure
};

__device__ __forceinline__ void walk(const Args& a, const Flaws& f) {
  __shared__ ClcResponse response;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  u32 tile = blockIdx.x;
  bool failed = false;
  for (u32 turn = 0; turn < 16; ++turn) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, f.expected);
      clc_request(&response, &full);
    }
    if (!failed) a.out[tile * 64 + threadIdx.x] = tile + 1;
    if (f.all_wait || threadIdx.x == 0) wait(&full, turn % 2);
    const ClcAnswer answer = clc_answer(&response, f.asks_always);
    if (f.trusts && answer.x == 0) break;  // the first CTA never waits to be cancelled
    if (f.proxy_fence) fence_async_shared();
    if (f.syncs) __syncthreads();
    failed = answer.is_canceled == 0;
    if (failed && (f.stops || turn > 4)) break;
    tile = answer.x;
  }
  if (!f.syncs || !f.all_wait) {
    __syncthreads();
  }
}

}  // namespace

EXHIBIT(clc_response_expects_half) { walk(a, {.expected = mended ? 16u : 8u}); }
EXHIBIT(clc_response_read_by_threads_that_do_not_wait) { walk(a, {.all_wait = mended}); }
EXHIBIT(clc_response_overwritten_while_read) { walk(a, {.syncs = mended}); }
EXHIBIT(clc_first_cta_of_a_failure) { walk(a, {.asks_always = !mended, .trusts = !mended}); }
// As compilers do.
LEGAL(clc_first_cta_asked_for_before_the_look) { walk(a, {.asks_always = true}); }
EXHIBIT(clc_request_after_a_failure) { walk(a, {.stops = mended}); }

// The fences of CUDA's programming guide: each half of the proxy fence by itself.
EXHIBIT(clc_answer_not_released_to_the_async_proxy) {
  __shared__ ClcResponse response;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  u32 tile = blockIdx.x;
  for (u32 turn = 0;; ++turn) {
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;" ::: "memory");
      clc_request(&response, &full);
      asm volatile(
          "mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [%0], 16;" ::"r"(shared_address(&full))
          : "memory");
    }
    a.out[tile * 64 + threadIdx.x] = tile + 1;
    wait(&full, turn % 2);
    const ClcAnswer answer = clc_answer(&response);
    if (mended)
      asm volatile("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;" ::: "memory");
    if (answer.is_canceled == 0) break;
    tile = answer.x;
  }
}

EXHIBIT(clc_exit_before_the_answer) {
  __shared__ ClcResponse response;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, 16);
    clc_request(&response, &full);
    if (mended) wait(&full, 0);
  }
  if (blockIdx.x == 0) a.out[threadIdx.x] = 1;
}

// Two roles decode the same answer, one of them after the next request was made.
EXHIBIT(clc_roles_decode_different_answers) {
  __shared__ ClcResponse response;
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, mended ? 64 : 32);
  u32 tile = blockIdx.x;
  for (u32 turn = 0;; ++turn) {
    if (threadIdx.x == 0) {
      wait(&empty, turn % 2 ^ 1);
      arrive_expect(&full, 16);
      clc_request(&response, &full);
    }
    a.out[(warp_idx() * 32 + tile) * 32 + lane_idx()] = tile + 1;
    wait(&full, turn % 2);
    const ClcAnswer answer = clc_answer(&response);
    fence_async_shared();
    if (mended || warp_idx() == 0) arrive(&empty);
    if (answer.is_canceled == 0) break;
    tile = answer.x;
  }
}
