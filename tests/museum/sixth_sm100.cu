// SPDX-License-Identifier: Apache-2.0
//
// Blackwell's part of the sixth set, and legal programs: scale factors that differ or overlap, an address that
// is written over, accumulators read in parts, operands of two products.
#include "ptx.h"

namespace {

struct Operands {
  alignas(1024) u32 b[512];
  alignas(1024) u32 a[1024];
};

__device__ __forceinline__ void fill(Operands& s, u32 word = kOnes) {
  for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) s.a[i] = word;
  for (u32 i = threadIdx.x; i < 512; i += blockDim.x) s.b[i] = word;
  fence_async_shared();
}

__device__ __forceinline__ u32 quarter() { return warp_idx() % 4 * 32 << 16; }

__device__ __forceinline__ void tmem_barrier() {
  tmem_fence_before();
  __syncthreads();
  tmem_fence_after();
}

// 128 x 32 x 32 of e4m3, a scale of ue8m0 for each row and 32 columns of K.
__device__ inline void mma_scaled(u32 d, u64 a, u64 b, u32 scales_a, u32 scales_b, u32 accumulate) {
  constexpr u32 kInstruction = 32 / 8 << 17 | 1 << 23 | 128 / 16 << 24;
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, %6, 0; "
      "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%4], [%5], p;}" ::"r"(d),
      "l"(a), "l"(b), "r"(kInstruction), "r"(scales_a), "r"(scales_b), "r"(accumulate)
      : "memory");
}

// A product whose scales threads store: columns of both scales, and what the third warp stores.
__device__ __forceinline__ void scaled_by_threads(const Args& a, u32 scales, u32 third) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s, 0x38383838);
  tmem_barrier();
  const u32 tmem = address;
  if (warp_idx() < 4) {
    for (u32 i = 0; i < 8; ++i) tmem_st(tmem + scales + i + quarter(), warp_idx() == 2 ? third : 0x7F7F7F7F);
    tmem_wait_st();
  }
  tmem_barrier();
  if (threadIdx.x == 128) {
    mma_scaled(tmem, mma_descriptor(s.a), mma_descriptor(s.b), tmem + scales, tmem + scales + 4, 0);
    mma_commit(&done);
  }
  __syncwarp();
  wait(&done, 0);
  tmem_fence_after();
  if (warp_idx() < 4) {
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
}

}  // namespace

EXHIBIT(scales_that_differ_between_the_quarters) { scaled_by_threads(a, 32, mended ? 0x7F7F7F7F : 0x80808080); }
EXHIBIT(scales_in_the_columns_of_the_result) { scaled_by_threads(a, mended ? 32 : 24, 0x7F7F7F7F); }

// The word with the address is part of the memory in which results are staged.
EXHIBIT(address_of_tensor_memory_under_the_results) {
  __shared__ Operands s;
  __shared__ union {
    u32 address;
    u32 staged[128];
  } u;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&u.address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = u.address;
  if (threadIdx.x == 128) {
    mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    mma_commit(&done);
  }
  __syncwarp();
  wait(&done, 0);
  tmem_fence_after();
  u32 value = 0;
  if (warp_idx() < 4) {
    value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
  }
  tmem_barrier();
  if (warp_idx() < 4) st_shared(u.staged + threadIdx.x, value);
  __syncthreads();
  if (warp_idx() < 4) a.out[threadIdx.x] = ld_shared(u.staged + (threadIdx.x ^ 1));
  if (warp_idx() == 0) tmem_dealloc(mended ? tmem : ld_shared(&u.address), 32);
}

// Half of the columns are loaded, and the accumulator is handed back.
EXHIBIT(accumulator_handed_back_before_its_second_half) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, 128);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (warp_idx() == 4) {
    if (lane_idx() == 0) {
      for (u32 tile = 0; tile < 3; ++tile) {
        wait(&empty, tile % 2 ^ 1);
        tmem_fence_after();
        mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
        mma_commit(&full);
      }
    }
    __syncwarp();
  } else {
    for (u32 tile = 0; tile < 3; ++tile) {
      wait(&full, tile % 2);
      tmem_fence_after();
      const u32 low = tmem_ld(tmem + quarter());
      tmem_wait_ld();
      if (!mended) {
        tmem_fence_before();
        arrive(&empty);
      }
      const u32 high = tmem_ld(tmem + 16 + quarter());
      tmem_wait_ld();
      if (mended) {
        tmem_fence_before();
        arrive(&empty);
      }
      a.out[tile * 128 + threadIdx.x] = low + high;
    }
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// Two results take one operand; the stage is handed back when the first has been made.
EXHIBIT(stage_of_two_products_released_by_the_first) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 full, empty, done;
  init_all(&full, 1, 1);
  init_all(&empty, 1, 1);
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    for (u32 step = 0; step < 3; ++step) {
      wait(&full, step % 2);
      tmem_fence_after();
      mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), step != 0);
      if (!mended) mma_commit(&empty);
      mma(tmem + 32, mma_descriptor(s.a), mma_descriptor(s.b), step != 0);
      if (mended) mma_commit(&empty);
    }
    mma_commit(&done);
  } else if (threadIdx.x == 160) {
    for (u32 step = 0; step < 3; ++step) {
      wait(&empty, step % 2 ^ 1);
      arrive_expect(&full, 2048);
      bulk_load(s.b, a.in + step * 512, 2048, &full);
    }
  }
  __syncwarp();
  if (warp_idx() < 4) {
    wait(&done, 0);
    tmem_fence_after();
    const u32 low = tmem_ld(tmem + quarter());
    const u32 high = tmem_ld(tmem + 32 + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = low + high;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
}

// The next tile is taken to be the one behind, whatever the answer says.
EXHIBIT(next_tile_counted_and_not_decoded) {
  __shared__ ClcResponse response;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  u32 tile = blockIdx.x;
  for (u32 turn = 0;; ++turn) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, 16);
      clc_request(&response, &full);
    }
    a.out[tile * 64 + threadIdx.x] = (mended ? tile : blockIdx.x) + 1;
    wait(&full, turn % 2);
    const ClcAnswer answer = clc_answer(&response);
    fence_async_shared();
    __syncthreads();
    if (answer.is_canceled == 0) break;
    tile = mended ? answer.x : tile + 1;
  }
}

// Loads of every shape that reaches the 32 lanes of a warp.
LEGAL(accumulator_loaded_in_other_shapes) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    mma_commit(&done);
  }
  __syncwarp();
  wait(&done, 0);
  tmem_fence_after();
  if (warp_idx() < 4) {
    u32 v[8];
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(tmem + quarter())
                 : "memory");
    asm volatile("tcgen05.ld.sync.aligned.16x128b.x1.b32 {%0, %1}, [%2];"
                 : "=r"(v[4]), "=r"(v[5])
                 : "r"(tmem + 8 + quarter())
                 : "memory");
    asm volatile("tcgen05.ld.sync.aligned.16x64b.x2.b32 {%0, %1}, [%2];"
                 : "=r"(v[6]), "=r"(v[7])
                 : "r"(tmem + 16 + quarter() + (16 << 16))
                 : "memory");
    tmem_wait_ld();
    for (u32 i = 0; i < 8; ++i) a.out[threadIdx.x * 8 + i] = v[i];
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}
