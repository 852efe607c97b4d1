// SPDX-License-Identifier: Apache-2.0
//
// Blackwell's part of the fifth set, and legal programs: scale factors, pairs that fill their halves apart,
// memory that is used twice.
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
__device__ __forceinline__ void tmem_cluster_barrier() {
  tmem_fence_before();
  cluster_sync();
  tmem_fence_after();
}

__device__ inline void st_bulk_zeros(void* to, u64 bytes) {
  asm volatile("st.bulk.weak.shared::cta [%0], %1, 0;" ::"r"(shared_address(to)), "l"(bytes) : "memory");
}

__device__ inline void mma_from_tmem(u32 d, u32 a, u64 b, u32 accumulate) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;}" ::"r"(d),
      "r"(a), "l"(b), "r"(mma_instruction(128, 32)), "r"(accumulate)
      : "memory");
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
// 32 rows of 16 bytes, to each quarter.
__device__ inline void copy_scales(u32 to, const void* tile) {
  const u64 descriptor =
      (shared_address(tile) & 0x3FFFF) >> 4 | u64{128 >> 4} << 16 | u64{128 >> 4} << 32 | u64{1} << 46;
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(descriptor) : "memory");
}

struct Scaled {
  bool copies_both = true;
  bool waits = true;  // for the product, before its scales are written anew
};

// A product with scales that tcgen05.cp brings, and one with scales that threads store over them.
__device__ __forceinline__ void scaled_twice(const Args& a, const Scaled& f) {
  __shared__ Operands s;
  __shared__ alignas(128) u32 scales[128];
  __shared__ u32 address;
  __shared__ u64 done, again;
  init_all(&done, 1, 1);
  init_all(&again, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  if (threadIdx.x < 128) scales[threadIdx.x] = 0x7F7F7F7F;  // ones
  fill(s, 0x38383838);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    copy_scales(tmem + 32, scales);
    if (f.copies_both) copy_scales(tmem + 36, scales);
    mma_scaled(tmem, mma_descriptor(s.a), mma_descriptor(s.b), tmem + 32, tmem + 36, 0);
    mma_commit(&done);
  }
  __syncwarp();
  if (f.waits) {
    wait(&done, 0);
    tmem_fence_after();
  }
  if (warp_idx() < 4) {
    for (u32 i = 0; i < 4; ++i) tmem_st(tmem + 32 + i + quarter(), 0x80808080);  // twos
    tmem_wait_st();
  }
  tmem_barrier();
  if (threadIdx.x == 128) {
    mma_scaled(tmem, mma_descriptor(s.a), mma_descriptor(s.b), tmem + 32, tmem + 36, 1);
    mma_commit(&again);
  }
  __syncwarp();
  wait(&done, 0);
  wait(&again, 0);
  tmem_fence_after();
  if (warp_idx() < 4) {
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
}

// Scores in two sets of columns, probabilities in one set, which the next ones must not reach too early.
template <bool waits, bool over_scores>
__device__ __forceinline__ void attention(const Args& a) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 scored[2], prepared, added;
  init_all(scored, 2, 1);
  init_all(&prepared, 1, 128);
  init_all(&added, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 128);
  fill(s);
  tmem_barrier();
  const u32 tmem = address, output = tmem + 96;
  const auto probabilities = [&](u32 block) { return tmem + (over_scores ? block % 2 * 32 : 64); };
  if (warp_idx() == 4) {
    if (lane_idx() == 0) {
      const auto score = [&](u32 block) {
        mma(tmem + block % 2 * 32, mma_descriptor(s.a), mma_descriptor(s.b), 0);
        mma_commit(&scored[block % 2]);
      };
      score(0);
      for (u32 block = 0; block < 3; ++block) {
        if (block < 2) score(block + 1);
        wait(&prepared, block % 2);
        tmem_fence_after();
        mma_from_tmem(output, probabilities(block), mma_descriptor(s.b), block != 0);
        mma_commit(&added);
      }
    }
    __syncwarp();
  } else {
    for (u32 block = 0; block < 3; ++block) {
      wait(&scored[block % 2], block / 2);
      tmem_fence_after();
      const u32 value = tmem_ld(tmem + block % 2 * 32 + quarter());
      tmem_wait_ld();
      if (waits && block != 0) {
        wait(&added, (block + 1) % 2);
        tmem_fence_after();
      }
      for (u32 i = 0; i < 8; ++i) tmem_st(probabilities(block) + quarter() + i, value != 0 ? kOnes : 0);
      tmem_wait_st();
      if (!waits && block != 0) wait(&added, (block + 1) % 2);
      tmem_fence_before();
      arrive(&prepared);
    }
    wait(&added, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(output + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 128);
}

struct Halves {
  bool leader_hears_of_the_peer = true;
  bool by_cp_async = false;
  bool cluster_scope = true;
  bool peer_waits_before_it_stages = true;
};

// Each CTA of a pair fills its half, and the even one multiplies when it has heard of both.
__device__ __forceinline__ void pair_of_halves(const Args& a, const Halves& f) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 loaded, ready, full;
  init_all(&loaded, 1, 1);
  init_all(&ready, 1, f.by_cp_async ? 256 : 2);
  init_all(&full, 1, 1);
  cluster_sync();
  if (warp_idx() == 0) tmem_alloc<2>(&address, 32);
  tmem_cluster_barrier();
  const u32 tmem = address;
  const u32 rank = cluster_rank();
  if (f.by_cp_async && warp_idx() < 4) {
    for (u32 i = threadIdx.x; i < 256; i += 128) cp_async(s.a + i * 4, a.in + i * 4);
    cp_async(s.b + threadIdx.x * 4, a.in + threadIdx.x * 4);
    cp_async_commit();
    cp_async_wait<0>();
    fence_async_shared();
    if (f.cluster_scope) arrive_peer(peer(&ready, 0));
    else
      asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(peer(&ready, 0)) : "memory");
  }
  if (threadIdx.x == 128) {
    if (!f.by_cp_async) {
      arrive_expect(&loaded, 6144);
      bulk_load(s.a, a.in, 4096, &loaded);
      bulk_load(s.b, a.in, 2048, &loaded);
      if (rank == 0 || f.leader_hears_of_the_peer) wait(&loaded, 0);
      arrive_peer(peer(&ready, 0));
    }
    if (rank == 0) {
      if (f.cluster_scope) wait_cluster(&ready, 0);
      else wait(&ready, 0);
      tmem_fence_after();
      mma_pair(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
      mma_commit_pair(&full, 3);
    }
  }
  __syncwarp();
  if (!f.by_cp_async && !f.leader_hears_of_the_peer) wait(&loaded, 0);
  if (f.peer_waits_before_it_stages || rank == 0) {
    wait_cluster(&full, 0);
    tmem_fence_after();
  }
  if (warp_idx() < 4) s.a[threadIdx.x] = rank + threadIdx.x;
  if (!f.peer_waits_before_it_stages && rank == 1) {
    wait_cluster(&full, 0);
    tmem_fence_after();
  }
  if (warp_idx() < 4) {
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[rank * 128 + threadIdx.x] = value + s.a[threadIdx.x];
  }
  tmem_cluster_barrier();
  if (warp_idx() == 0) tmem_dealloc<2>(tmem, 32);
}

}  // namespace

// Shared memory that st.bulk clears while another warp reads it.
EXHIBIT(cleared_by_a_bulk_store_before_all_have_read) {
  __shared__ alignas(16) u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  const u32 value = ld_shared(tile + 63 - threadIdx.x);
  if (mended) __syncthreads();
  if (threadIdx.x == 0) st_bulk_zeros(tile, 256);
  __syncthreads();
  a.out[threadIdx.x] = value + ld_shared(tile + threadIdx.x);
}

EXHIBIT(scales_of_one_operand_never_copied) { scaled_twice(a, {.copies_both = mended}); }
EXHIBIT(scales_stored_over_those_of_a_product_in_flight) { scaled_twice(a, {.waits = mended}); }
LEGAL(scales_copied_and_stored) { scaled_twice(a, {}); }

EXHIBIT(probabilities_over_those_that_are_multiplied) { attention<mended, false>(a); }
LEGAL(probabilities_over_their_scores) { attention<true, true>(a); }

EXHIBIT(pair_leader_does_not_hear_of_the_peers_half) { pair_of_halves(a, {.leader_hears_of_the_peer = mended}); }
EXHIBIT(pair_peers_half_told_at_the_scope_of_its_cta) {
  pair_of_halves(a, {.by_cp_async = true, .cluster_scope = mended});
}
EXHIBIT(pair_peer_stages_results_over_its_half) { pair_of_halves(a, {.peer_waits_before_it_stages = mended}); }
LEGAL(pair_fills_its_halves_by_cp_async) { pair_of_halves(a, {.by_cp_async = true}); }

// Half of the lanes have no use for what they load, so that nothing makes them wait for it.
EXHIBIT(freed_under_loads_that_nobody_uses) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done, is_read;
  init_all(&done, 1, 1);
  init_all(&is_read, 1, 128);
  if (warp_idx() == 4) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (warp_idx() == 4) {
    if (lane_idx() == 0) {
      mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
      mma_commit(&done);
    }
    __syncwarp();
    wait(&is_read, 0);
    tmem_fence_after();
    tmem_dealloc(tmem, 32);
  } else {
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + quarter());
    if (mended) tmem_wait_ld();
    tmem_fence_before();
    arrive(&is_read);
    if (!mended) tmem_wait_ld();
    if (lane_idx() < 16) a.out[threadIdx.x] = value;
  }
}

LEGAL(zeros_by_a_bulk_store_and_words_over_them) {
  __shared__ alignas(16) u32 tile[256];
  if (threadIdx.x == 0) st_bulk_zeros(tile, 1024);
  __syncthreads();
  if (threadIdx.x < 32) tile[threadIdx.x * 8] = a.in[threadIdx.x];
  __syncthreads();
  u32 sum = 0;
  for (u32 i = 0; i < 4; ++i) sum += tile[threadIdx.x * 4 + i];
  a.out[threadIdx.x] = sum;
}
