// SPDX-License-Identifier: Apache-2.0
//
// Blackwell's bugs that were kept apart, and legal programs.
#include "ptx.h"

namespace {

struct Operands {
  alignas(128) u32 a[1024];
  alignas(128) u32 b[256];
};

__device__ __forceinline__ void fill(Operands& s) {
  for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) s.a[i] = kOnes;
  for (u32 i = threadIdx.x; i < 256; i += blockDim.x) s.b[i] = kOnes;
  fence_async_shared();
}

__device__ __forceinline__ u32 quarter() { return warp_idx() % 4 * 32 << 16; }

__device__ __forceinline__ void tmem_barrier() {
  tmem_fence_before();
  __syncthreads();
  tmem_fence_after();
}

struct Flaws {
  bool commits_on_done = true;
  u32 columns = 64, read = 0;
  bool loads_b = false, waits_for_b = true;  // B comes by a copy
  bool releases_by_arrive = false;           // instead of by a commit
  bool has_release = false;
  bool waits_at_the_end = true;
};

__device__ __forceinline__ void multiply(const Args& a, const Flaws& f) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done, other, full, empty;
  init_all(&done, 1, 1);
  init_all(&other, 1, 1);
  init_all(&full, 1, 1);
  init_all(&empty, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, f.columns);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    if (f.loads_b) {
      arrive_expect(&full, 1024);
      bulk_load(s.b, a.in, 1024, &full);
      if (f.waits_for_b) wait(&full, 0);
    }
    mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    if (f.has_release) {
      if (f.releases_by_arrive) arrive(&empty);
      else mma_commit(&empty);
    }
    mma_commit(f.commits_on_done ? &done : &other);
    if (f.has_release) {
      wait(&empty, 0);
      arrive_expect(&full, 1024);
      bulk_load(s.b, a.in, 1024, &full);
    }
    if (f.loads_b || f.has_release) wait(&full, 0);
  }
  if (warp_idx() < 4 && f.waits_at_the_end) {
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + quarter() + f.read);
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, f.columns);
}

}  // namespace

EXHIBIT(commit_on_another_barrier) { multiply(a, {.commits_on_done = mended}); }
EXHIBIT(mma_before_its_operand_has_landed) { multiply(a, {.loads_b = true, .waits_for_b = mended}); }
EXHIBIT(stage_released_by_a_plain_arrive) { multiply(a, {.releases_by_arrive = !mended, .has_release = true}); }
EXHIBIT(columns_that_nothing_was_multiplied_into) { multiply(a, {.read = mended ? 0u : 40u}); }
EXHIBIT(columns_not_a_power_of_two) { multiply(a, {.columns = mended ? 64u : 48u}); }
EXHIBIT(freed_under_a_multiplication) { multiply(a, {.waits_at_the_end = mended}); }

EXHIBIT(tensor_memory_handed_over_without_wait) {
  __shared__ u32 address;
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  tmem_barrier();
  const u32 tmem = address;
  if (warp_idx() < 4) {
    tmem_st(tmem + quarter(), threadIdx.x);
    if (mended) tmem_wait_st();
  }
  tmem_barrier();
  if (warp_idx() >= 4) {
    a.out[threadIdx.x] = tmem_ld(tmem + quarter());
    tmem_wait_ld();
  } else {
    tmem_wait_st();
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

EXHIBIT(two_requests_into_one_response) {
  __shared__ ClcResponse responses[2];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < 2; ++i) {
      arrive_expect(&full[i], 16);
      clc_request(&responses[mended ? i : 0], &full[i]);
    }
    wait(&full[0], 0);
    wait(&full[1], 0);
    if (blockIdx.x == 0) a.out[0] = 1;
  }
}

LEGAL(mma_once) { multiply(a, {}); }
LEGAL(mma_with_a_copied_operand) { multiply(a, {.loads_b = true}); }
LEGAL(mma_stage_released_by_commit) { multiply(a, {.has_release = true}); }

LEGAL(mma_two_accumulators) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 128);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  for (u32 turn = 0; turn < 4; ++turn) {
    const u32 slot = turn % 2, wrap = turn / 2 % 2;
    if (threadIdx.x == 128) {
      wait(&empty[slot], wrap ^ 1);
      tmem_fence_after();
      mma(tmem + slot * 32, mma_descriptor(s.a), mma_descriptor(s.b), 0);
      mma_commit(&full[slot]);
    } else if (warp_idx() < 4) {
      wait(&full[slot], wrap);
      tmem_fence_after();
      const u32 value = tmem_ld(tmem + slot * 32 + quarter());
      tmem_wait_ld();
      a.out[turn * 128 + threadIdx.x] = value;
      tmem_fence_before();
      arrive(&empty[slot]);
    }
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
}

LEGAL(mma_on_a_pair) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  cluster_sync();
  if (warp_idx() == 0) tmem_alloc<2>(&address, 32);
  fill(s);
  tmem_fence_before();
  cluster_sync();
  tmem_fence_after();
  const u32 tmem = address;
  if (cluster_rank() == 0 && threadIdx.x == 128) {
    mma_pair(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    mma_commit_pair(&done, 3);
  }
  wait_cluster(&done, 0);
  tmem_fence_after();
  if (warp_idx() < 4) {
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[cluster_rank() * 128 + threadIdx.x] = value;
  }
  tmem_fence_before();
  cluster_sync();
  tmem_fence_after();
  if (warp_idx() == 0) tmem_dealloc<2>(tmem, 32);
}

LEGAL(clc_walk) {
  __shared__ ClcResponse response;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  u32 tile = blockIdx.x;
  for (u32 turn = 0;; ++turn) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, 16);
      clc_request(&response, &full);
    }
    a.out[tile * 64 + threadIdx.x] = tile + 1;
    wait(&full, turn % 2);
    const ClcAnswer answer = clc_answer(&response);
    fence_async_shared();
    __syncthreads();
    if (answer.is_canceled == 0) break;
    tile = answer.x;
  }
}
