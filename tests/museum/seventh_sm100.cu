// SPDX-License-Identifier: Apache-2.0
//
// Blackwell's part of the seventh set, bugs and legal programs.
#include "ptx.h"

namespace {

struct Operands {
  alignas(1024) u32 b[512];
  alignas(1024) u32 a[1024];
};

__device__ __forceinline__ void fill(Operands& s, bool fences = true) {
  for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) s.a[i] = kOnes;
  for (u32 i = threadIdx.x; i < 512; i += blockDim.x) s.b[i] = kOnes;
  if (fences) fence_async_shared();
}

__device__ __forceinline__ u32 quarter() { return warp_idx() % 4 * 32 << 16; }

__device__ __forceinline__ void tmem_barrier() {
  tmem_fence_before();
  __syncthreads();
  tmem_fence_after();
}

// One product by the thread that asks for it, for those who wait for `done`.
__device__ __forceinline__ void product(const Operands& s, u32 tmem, u64* done) {
  mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
  mma_commit(done);
}

__device__ inline void clc_request_for_all(ClcResponse* to, u64* bar) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all."
      "b128 [%0], [%1];" ::"r"(shared_address(to)),
      "r"(shared_address(bar))
      : "memory");
}

}  // namespace

// Two warps share the lanes of a quarter. Each stores its weights over scores that the other one loads.
EXHIBIT(weights_over_scores_that_the_other_warp_loads) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 256) product(s, tmem, &done);
  __syncwarp();
  if (warp_idx() < 8) {
    const u32 half = warp_idx() / 4;
    wait(&done, 0);
    tmem_fence_after();
    const u32 score = tmem_ld(tmem + half * 16 + quarter());
    tmem_wait_ld();
    if (mended) {
      tmem_fence_before();
      named_sync(1, 256);
      tmem_fence_after();
    }
    tmem_st(tmem + (1 - half) * 16 + quarter(), score + 1);
    tmem_wait_st();
  }
  tmem_barrier();
  if (warp_idx() < 4) {
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// Nothing has told a CTA that its peer is there when it allocates for both.
EXHIBIT(pair_allocates_before_its_peer_is_known_to_be_there) {
  __shared__ u32 address;
  if (mended) cluster_sync();
  if (warp_idx() == 0) tmem_alloc<2>(&address, 32);
  __syncthreads();
  cluster_sync();
  tmem_fence_after();
  const u32 tmem = address;
  tmem_st(tmem + quarter(), threadIdx.x);
  tmem_wait_st();
  const u32 value = tmem_ld(tmem + quarter());
  tmem_wait_ld();
  a.out[cluster_rank() * 128 + threadIdx.x] = value;
  tmem_fence_before();
  cluster_sync();
  tmem_fence_after();
  if (warp_idx() == 0) tmem_dealloc<2>(tmem, 32);
}

// The answer names the first CTA of a cluster. Both take it for their own.
EXHIBIT(both_of_a_cluster_take_the_first_cta_of_the_answer) {
  __shared__ ClcResponse response;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  u32 tile = blockIdx.x;
  for (u32 turn = 0;; ++turn) {
    if (threadIdx.x == 0) arrive_expect(&full, 16);
    __syncwarp();
    cluster_sync();
    if (threadIdx.x == 0 && cluster_rank() == 0) clc_request_for_all(&response, &full);
    __syncwarp();
    a.out[tile * 32 + threadIdx.x] = cluster_rank() + 1;
    wait_cluster(&full, turn % 2);
    const ClcAnswer answer = clc_answer(&response);
    fence_async_shared();
    if (answer.is_canceled == 0) break;
    tile = answer.x + (mended ? cluster_rank() : 0);
  }
  __syncwarp();
  cluster_sync();
}

EXHIBIT(words_copied_to_tensor_memory_without_a_proxy_fence) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s, mended);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(tmem), "l"(mma_descriptor(s.a)) : "memory");
    mma_commit(&done);
  }
  __syncwarp();
  if (warp_idx() < 4) {
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// Five halves of a step: who loads takes three steps, who multiplies two.
EXHIBIT(steps_rounded_up_by_one_role_and_down_by_the_other) {
  __shared__ Operands s;
  __shared__ alignas(1024) u32 stage[2][512];
  __shared__ u32 address;
  __shared__ u64 full[2], empty[2], done;
  init_all(full, 2, 1);
  init_all(empty, 2, 1);
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address, halves = a.in[4];
  if (threadIdx.x == 128) {
    const u32 steps = mended ? (halves + 1) / 2 : halves / 2;
    for (u32 i = 0; i < steps; ++i) {
      wait(&full[i % 2], i / 2 % 2);
      tmem_fence_after();
      mma(tmem, mma_descriptor(s.a), mma_descriptor(stage[i % 2]), i != 0);
      mma_commit(&empty[i % 2]);
    }
    mma_commit(&done);
  } else if (threadIdx.x == 160) {
    for (u32 i = 0; i < (halves + 1) / 2; ++i) {
      wait(&empty[i % 2], i / 2 % 2 ^ 1);
      arrive_expect(&full[i % 2], 2048);
      bulk_load(stage[i % 2], a.in + i * 512, 2048, &full[i % 2]);
    }
  }
  __syncwarp();
  if (warp_idx() < 4) {
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// Warps 2 to 5 read the accumulator; which quarter a warp reaches counts from the start of the CTA.
EXHIBIT(quarter_counted_from_the_start_of_the_role) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 32) product(s, tmem, &done);
  __syncwarp();
  if (warp_idx() >= 2) {
    const u32 lanes = (mended ? warp_idx() % 4 : warp_idx() - 2) * 32;
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + (lanes << 16));
    tmem_wait_ld();
    a.out[lanes + lane_idx()] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// Legal programs

LEGAL(tensor_memory_as_scratch_of_each_warp) {
  __shared__ u32 address;
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  tmem_barrier();
  const u32 tmem = address;
  u32 value = a.in[threadIdx.x];
  for (u32 i = 0; i < 3; ++i) {
    tmem_st(tmem + i + quarter(), value);
    tmem_wait_st();
    value = tmem_ld(tmem + i + quarter());
    tmem_wait_ld();
    value += i;
  }
  a.out[threadIdx.x] = value;
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// A tile without steps: the commit stands for nothing, and nobody reads the accumulator.
LEGAL(commit_of_nothing) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  for (u32 tile = 0; tile < 3; ++tile) {
    if (threadIdx.x == 128) {
      if (tile != 1) mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
      mma_commit(&done);
    }
    __syncwarp();
    u32 value = 0;
    if (warp_idx() < 4) {
      wait(&done, tile % 2);
      tmem_fence_after();
      if (tile != 1) {
        value = tmem_ld(tmem + quarter());
        tmem_wait_ld();
      }
      a.out[tile * 128 + threadIdx.x] = value;
    }
    tmem_barrier();
  }
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// The epilogue tells the warp that frees by a named barrier; who loads operands does not take part.
LEGAL(freed_behind_a_named_barrier_of_the_epilogue) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 4) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  if (warp_idx() == 5) return;
  const u32 tmem = address;
  if (warp_idx() == 4) {
    if (lane_idx() == 0) product(s, tmem, &done);
    __syncwarp();
    named_sync(1, 160);
    tmem_fence_after();
    tmem_dealloc(tmem, 32);
  } else {
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    tmem_fence_before();
    named_arrive(1, 160);
    a.out[threadIdx.x] = value;
  }
}

// The second half of the columns is multiplied while the first is read.
LEGAL(columns_read_while_others_are_multiplied) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done[2];
  init_all(done, 2, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    product(s, tmem, &done[0]);
    product(s, tmem + 32, &done[1]);
  }
  __syncwarp();
  if (warp_idx() < 4) {
    u32 sum = 0;
    for (u32 i = 0; i < 2; ++i) {
      wait(&done[i], 0);
      tmem_fence_after();
      const u32 value = tmem_ld(tmem + i * 32 + quarter());
      tmem_wait_ld();
      sum += value;
    }
    a.out[threadIdx.x] = sum;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
}
