// SPDX-License-Identifier: Apache-2.0
//
// cp.async: writes from the moment of issue to the wait of the thread that issued them.
#include "ptx.h"

EXHIBIT(cp_async_not_waited_for) {
  __shared__ alignas(16) u32 tile[128];
  cp_async(&tile[threadIdx.x * 4], a.in + threadIdx.x * 4);
  cp_async_commit();
  if (mended) cp_async_wait<0>();
  a.out[threadIdx.x] = tile[threadIdx.x * 4 + 1];
}

EXHIBIT(cp_async_wait_too_weak) {
  __shared__ alignas(16) u32 tile[2][128];
  for (u32 stage = 0; stage < 2; ++stage) {
    cp_async(&tile[stage][threadIdx.x * 4], a.in + stage * 128 + threadIdx.x * 4);
    cp_async_commit();
  }
  if (mended) cp_async_wait<0>();
  else cp_async_wait<1>();
  __syncthreads();
  a.out[threadIdx.x] = tile[0][threadIdx.x] + tile[1][threadIdx.x];
}

// The wait is for the thread's own copies; those of others need a barrier.
EXHIBIT(cp_async_without_barrier) {
  __shared__ alignas(16) u32 tile[256];
  cp_async(&tile[threadIdx.x * 4], a.in + threadIdx.x * 4);
  cp_async_commit();
  cp_async_wait<0>();
  if (mended) __syncthreads();
  a.out[threadIdx.x] = tile[255 - threadIdx.x];
}

EXHIBIT(cp_async_barrier_before_wait) {
  __shared__ alignas(16) u32 tile[256];
  cp_async(&tile[threadIdx.x * 4], a.in + threadIdx.x * 4);
  cp_async_commit();
  if (!mended) __syncthreads();
  cp_async_wait<0>();
  if (mended) __syncthreads();
  a.out[threadIdx.x] = tile[255 - threadIdx.x];
}

EXHIBIT(cp_async_without_commit) {
  __shared__ alignas(16) u32 tile[128];
  cp_async(&tile[threadIdx.x * 4], a.in + threadIdx.x * 4);
  if (mended) cp_async_commit();
  cp_async_wait<0>();
  a.out[threadIdx.x] = tile[threadIdx.x * 4 + 1];
}

EXHIBIT(two_cp_async_into_the_same_bytes) {
  __shared__ alignas(16) u32 tile[128];
  cp_async(&tile[threadIdx.x * 4], a.in + threadIdx.x * 4);
  cp_async_commit();
  if (mended) cp_async_wait<0>();
  cp_async(&tile[threadIdx.x * 4], a.in + 128 + threadIdx.x * 4);
  cp_async_commit();
  cp_async_wait<0>();
  a.out[threadIdx.x] = tile[threadIdx.x * 4 + 1];
}

// The stage is filled again while other threads still read it.
EXHIBIT(cp_async_into_a_stage_in_use) {
  __shared__ alignas(16) u32 tile[256];
  for (u32 turn = 0; turn < 2; ++turn) {
    cp_async(&tile[threadIdx.x * 4], a.in + turn * 256 + threadIdx.x * 4);
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    a.out[turn * 64 + threadIdx.x] = tile[255 - threadIdx.x];
    if (mended) __syncthreads();
  }
}

// An ordinary arrive does not wait for the thread's copies; cp.async.mbarrier.arrive does.
EXHIBIT(arrive_before_cp_async_is_done) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    cp_async(&tile[lane_idx() * 4], a.in + lane_idx() * 4);
    if (mended) cp_async_arrive_noinc(&full);
    else arrive(&full);
    cp_async_wait<0>();
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = tile[lane_idx()];
  }
}

// Without .noinc the pending count is raised first, so the count of the barrier is never reached.
EXHIBIT(cp_async_arrive_counts_itself) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    cp_async(&tile[lane_idx() * 4], a.in + lane_idx() * 4);
    if (mended) cp_async_arrive_noinc(&full);
    else cp_async_arrive(&full);
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = tile[lane_idx()];
  }
}

EXHIBIT(store_into_bytes_of_a_cp_async) {
  __shared__ alignas(16) u32 tile[128];
  cp_async(&tile[threadIdx.x * 4], a.in + threadIdx.x * 4);
  cp_async_commit();
  if (mended) cp_async_wait<0>();
  st_shared(&tile[threadIdx.x * 4], 0);
  cp_async_wait<0>();
  a.out[threadIdx.x] = tile[threadIdx.x * 4];
}
