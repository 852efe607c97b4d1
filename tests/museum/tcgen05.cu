// SPDX-License-Identifier: Apache-2.0
//
// Blackwell's tensor memory and multiplications on one CTA, and allocation by pairs. Warps 0 to 3 are the
// epilogue, thread 128 issues, unless said otherwise.
#include "ptx.h"

namespace {

struct Operands {
  alignas(128) u32 a[1024];
  alignas(128) u32 b[256];
};

__device__ __forceinline__ void fill(Operands& s, bool fences = true) {
  for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) s.a[i] = kOnes;
  for (u32 i = threadIdx.x; i < 256; i += blockDim.x) s.b[i] = kOnes;
  if (fences) fence_async_shared();
}

__device__ __forceinline__ u32 quarter() { return warp_idx() % 4 * 32 << 16; }

struct Flaws {
  bool proxy_fence = true, commit_wait = true, after = true, before = true, wait_ld = true, frees = true;
  u32 accumulate = 0;
  bool overwrites = false;  // the operands, before the commit was waited for
  bool frees_early = false;
  u32 column = 0;  // that is read
};

// One multiplication, read by four warps.
__device__ __forceinline__ void multiply(const Args& a, const Flaws& f) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s, f.proxy_fence);
  tmem_fence_before();
  __syncthreads();
  tmem_fence_after();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), f.accumulate);
    mma_commit(&done);
  }
  if (f.overwrites) {
    __syncthreads();
    s.b[threadIdx.x] = 0;
  }
  if (warp_idx() < 4) {
    if (f.commit_wait) wait(&done, 0);
    if (f.after) tmem_fence_after();
    const u32 value = tmem_ld(tmem + quarter() + f.column);
    if (f.wait_ld) tmem_wait_ld();
    a.out[threadIdx.x] = value;
    if (f.before) tmem_fence_before();
  }
  if (!f.frees_early) __syncthreads();
  wait(&done, 0);
  if (warp_idx() == 0) {
    tmem_fence_after();
    if (f.frees) tmem_dealloc(tmem, 32);
  }
}

}  // namespace

EXHIBIT(accumulator_read_before_the_commit) { multiply(a, {.commit_wait = mended}); }
EXHIBIT(no_fence_after_the_wait) { multiply(a, {.after = mended}); }
EXHIBIT(no_proxy_fence_before_mma) { multiply(a, {.proxy_fence = mended}); }
EXHIBIT(no_wait_for_a_load) { multiply(a, {.before = true, .wait_ld = mended}); }
EXHIBIT(first_mma_accumulates) { multiply(a, {.accumulate = mended ? 0u : 1u}); }
EXHIBIT(operands_overwritten_under_mma) { multiply(a, {.overwrites = !mended}); }
EXHIBIT(tensor_memory_leaked) { multiply(a, {.frees = mended}); }
EXHIBIT(tensor_memory_freed_early) { multiply(a, {.frees_early = !mended}); }
EXHIBIT(columns_beyond_the_allocation) { multiply(a, {.column = mended ? 31u : 32u}); }

// The address is read before the warp that allocates has written it.
EXHIBIT(tmem_address_read_early) {
  __shared__ u32 address;
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  if (mended) {
    tmem_fence_before();
    __syncthreads();
    tmem_fence_after();
  }
  const u32 tmem = address;
  tmem_st(tmem + quarter(), threadIdx.x);
  tmem_wait_st();
  a.out[threadIdx.x] = tmem_ld(tmem + quarter());
  tmem_wait_ld();
  tmem_fence_before();
  __syncthreads();
  tmem_fence_after();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

EXHIBIT(alloc_after_relinquish) {
  __shared__ u32 address[2];
  if (warp_idx() == 0) {
    tmem_alloc(&address[0], 32);
    if (!mended) tmem_relinquish();
    tmem_alloc(&address[1], 32);
    if (mended) tmem_relinquish();
    __syncwarp();
    tmem_dealloc(address[0], 32);
    tmem_dealloc(address[1], 32);
    a.out[threadIdx.x] = 1;
  }
}

// Two warps allocate all columns each, and free them only after both have them.
EXHIBIT(two_warps_allocate) {
  __shared__ u32 address[2];
  if (warp_idx() == 0) {
    tmem_alloc(&address[0], 512);
    __syncwarp();
    if (mended) tmem_dealloc(address[0], 512);
  }
  if (mended) __syncthreads();
  if (warp_idx() == 1) tmem_alloc(&address[1], 512);
  __syncthreads();
  if (!mended && warp_idx() == 0) tmem_dealloc(address[0], 512);
  if (warp_idx() == 1) tmem_dealloc(address[1], 512);
  a.out[threadIdx.x] = 1;
}

EXHIBIT(dealloc_of_half) {
  __shared__ u32 address;
  if (warp_idx() == 0) {
    tmem_alloc(&address, 64);
    __syncwarp();
    tmem_dealloc(address, mended ? 64 : 32);
    a.out[threadIdx.x] = 1;
  }
}

EXHIBIT(store_not_waited_for) {
  __shared__ u32 address;
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  tmem_fence_before();
  __syncthreads();
  tmem_fence_after();
  const u32 tmem = address;
  tmem_st(tmem + quarter(), threadIdx.x);
  if (mended) tmem_wait_st();
  a.out[threadIdx.x] = tmem_ld(tmem + quarter());
  tmem_wait_ld();
  tmem_fence_before();
  __syncthreads();
  tmem_fence_after();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

EXHIBIT(another_warps_lanes) {
  __shared__ u32 address;
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  tmem_fence_before();
  __syncthreads();
  tmem_fence_after();
  const u32 tmem = address;
  tmem_st(tmem + (mended ? quarter() : quarter() ^ 32 << 16), threadIdx.x);
  tmem_wait_st();
  tmem_fence_before();
  __syncthreads();
  tmem_fence_after();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
  a.out[threadIdx.x] = 1;
}

// The second multiplication overwrites what the epilogue still reads.
EXHIBIT(accumulator_overwritten_while_read) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done[2], empty;
  init_all(done, 2, 1);
  init_all(&empty, 1, 128);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_fence_before();
  __syncthreads();
  tmem_fence_after();
  const u32 tmem = address;
  for (u32 turn = 0; turn < 2; ++turn) {
    if (threadIdx.x == 128) {
      if (mended) wait(&empty, turn ^ 1);
      else if (turn > 0) wait(&done[0], 0);
      tmem_fence_after();
      mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
      mma_commit(&done[turn]);
    }
    if (warp_idx() < 4) {
      wait(&done[turn], 0);
      tmem_fence_after();
      const u32 value = tmem_ld(tmem + quarter());
      tmem_wait_ld();
      a.out[turn * 128 + threadIdx.x] = value;
      tmem_fence_before();
      arrive(&empty);
    }
  }
  __syncthreads();
  tmem_fence_after();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// A pair frees together, and the other warps may still read.
EXHIBIT(pair_frees_before_the_peer_is_done) {
  __shared__ u32 address;
  cluster_sync();
  if (warp_idx() == 0) tmem_alloc<2>(&address, 32);
  tmem_fence_before();
  cluster_sync();
  tmem_fence_after();
  const u32 tmem = address;
  tmem_st(tmem + quarter(), threadIdx.x);
  tmem_wait_st();
  a.out[cluster_rank() * 128 + threadIdx.x] = tmem_ld(tmem + quarter());
  tmem_wait_ld();
  tmem_fence_before();
  if (mended) cluster_sync();
  tmem_fence_after();
  if (warp_idx() == 0) tmem_dealloc<2>(tmem, 32);
  cluster_sync();
}
