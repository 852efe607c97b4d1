// SPDX-License-Identifier: Apache-2.0
//
// Blackwell's part of the fourth set, and legal programs: attention in tensor memory, pairs with several tiles,
// accumulators that several groups of warps read.
#include "ptx.h"

namespace {

struct Operands {
  alignas(1024) u32 b[512];
  alignas(1024) u32 a[1024];
};

__device__ __forceinline__ void fill(Operands& s) {
  for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) s.a[i] = kOnes;
  for (u32 i = threadIdx.x; i < 512; i += blockDim.x) s.b[i] = kOnes;
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

__device__ inline void mma_from_tmem(u32 d, u32 a, u64 b, u32 accumulate) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;}" ::"r"(d),
      "r"(a), "l"(b), "r"(mma_instruction(128, 32)), "r"(accumulate)
      : "memory");
}

struct Attention {
  bool correction_waits = true;  // for the product before, ahead of scaling it
  u32 softmax_threads = 128;     // that the multiplying thread waits for
};

// Scores in two sets of 32 columns, probabilities over them (8 columns), and the output in 32 more. Warps 0 to 3
// make probabilities of scores and scale the output; warp 4 multiplies, the next scores ahead of the product.
__device__ __forceinline__ void attention(const Args& a, const Attention& f) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 scored[2], prepared, added;
  init_all(scored, 2, 1);
  init_all(&prepared, 1, f.softmax_threads);
  init_all(&added, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 128);
  fill(s);
  tmem_barrier();
  const u32 scores = address, output = address + 64;
  if (warp_idx() == 4) {
    if (lane_idx() == 0) {
      const auto score = [&](u32 block) {
        mma(scores + block % 2 * 32, mma_descriptor(s.a), mma_descriptor(s.b), 0);
        mma_commit(&scored[block % 2]);
      };
      score(0);
      for (u32 block = 0; block < 3; ++block) {
        if (block < 2) score(block + 1);
        wait(&prepared, block % 2);
        tmem_fence_after();
        mma_from_tmem(output, scores + block % 2 * 32, mma_descriptor(s.b), block != 0);
        mma_commit(&added);
      }
    }
    __syncwarp();
  } else {
    for (u32 block = 0; block < 3; ++block) {
      const u32 mine = scores + block % 2 * 32 + quarter();
      wait(&scored[block % 2], block / 2);
      tmem_fence_after();
      const u32 value = tmem_ld(mine);
      tmem_wait_ld();
      for (u32 column = 0; column < 8; ++column) tmem_st(mine + column, value != 0 ? kOnes : 0);
      if (block != 0) {
        if (f.correction_waits) {
          wait(&added, (block + 1) % 2);
          tmem_fence_after();
        }
        for (u32 column = 0; column < 32; ++column) {
          const u32 old = tmem_ld(output + quarter() + column);
          tmem_wait_ld();
          tmem_st(output + quarter() + column, __float_as_uint(__uint_as_float(old) * 0.5f));
        }
      }
      tmem_wait_st();
      tmem_fence_before();
      if (threadIdx.x < f.softmax_threads) arrive(&prepared);
    }
    wait(&added, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(output + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(scores, 128);
}

struct Readers {
  u32 counted = 256;         // threads that the next multiplication waits for
  bool commits_last = true;  // the tile, after its last step
  bool all_before_free = true;
};

// Eight warps read an accumulator, four of them each half of its columns.
__device__ __forceinline__ void two_groups_of_readers(const Args& a, const Readers& f) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, f.counted);
  if (warp_idx() == 8) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (warp_idx() == 8) {
    if (lane_idx() == 0) {
      for (u32 tile = 0; tile < 3; ++tile) {
        if (tile != 0) {
          wait(&empty, (tile + 1) % 2);
          tmem_fence_after();
        }
        for (u32 k = 0; k < 2; ++k) {
          if (!f.commits_last && k == 1) mma_commit(&full);
          mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), k);
        }
        if (f.commits_last) mma_commit(&full);
      }
    }
    __syncwarp();
  } else {
    for (u32 tile = 0; tile < 3; ++tile) {
      wait(&full, tile % 2);
      tmem_fence_after();
      const u32 value = tmem_ld(tmem + quarter() + warp_idx() / 4 * 16);
      tmem_wait_ld();
      a.out[tile * 256 + threadIdx.x] = value;
      tmem_fence_before();
      if (threadIdx.x < f.counted) arrive(&empty);
    }
  }
  if (f.all_before_free) {
    tmem_barrier();
    if (warp_idx() == 8) tmem_dealloc(tmem, 32);
  } else {
    if (warp_idx() < 4 || warp_idx() == 8) {
      tmem_fence_before();
      named_sync(1, 160);
      tmem_fence_after();
    }
    if (warp_idx() == 8) tmem_dealloc(tmem, 32);
  }
}

struct Pair {
  u32 readers = 256;          // threads of both CTAs that hand the accumulator back
  bool peer_expects = false;  // its part of the bytes, on its own barrier
  u32 tiles = 2;
};

// The even CTA multiplies for both, several tiles in one accumulator.
__device__ __forceinline__ void pair_of_tiles(const Args& a, const Pair& f) {
  __shared__ Operands s;
  __shared__ alignas(128) u32 extra[256];
  __shared__ u32 address;
  __shared__ u64 loaded, full, empty;
  init_all(&loaded, 1, 1);
  init_all(&full, 1, 1);
  init_all(&empty, 1, f.readers);
  cluster_sync();
  if (warp_idx() == 0) tmem_alloc<2>(&address, 32);
  fill(s);
  tmem_cluster_barrier();
  const u32 tmem = address;
  const u32 rank = cluster_rank();
  if (threadIdx.x == 128) {
    // A bias of each CTA, counted on the even one's barrier.
    if (f.peer_expects ? rank == 1 : rank == 0) arrive_expect(&loaded, 2 * kBoxBytes);
    asm volatile(
        "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3}], [%4];" ::"r"(shared_address(extra)),
        "l"(a.load), "r"(0), "r"(16 * static_cast<int>(rank)), "r"(shared_address(&loaded) & 0xFEFFFFFF)
        : "memory");
    if (rank == 0) {
      wait_cluster(&loaded, 0);
      for (u32 tile = 0; tile < f.tiles; ++tile) {
        if (tile != 0) {
          wait_cluster(&empty, (tile + 1) % 2);
          tmem_fence_after();
        }
        mma_pair(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
        mma_commit_pair(&full, 3);
      }
    }
  }
  if (warp_idx() < 4) {
    for (u32 tile = 0; tile < f.tiles; ++tile) {
      wait_cluster(&full, tile % 2);
      tmem_fence_after();
      const u32 value = tmem_ld(tmem + quarter());
      tmem_wait_ld();
      a.out[(tile * 2 + rank) * 128 + threadIdx.x] = value;
      tmem_fence_before();
      if (f.readers == 256 || rank == 0) arrive_peer(peer(&empty, 0));
    }
  }
  __syncwarp();
  tmem_cluster_barrier();
  if (warp_idx() == 0) tmem_dealloc<2>(tmem, 32);
}

}  // namespace

// The output is scaled while the product before may still add to it.
EXHIBIT(correction_does_not_wait_for_the_product) { attention(a, {.correction_waits = mended}); }
EXHIBIT(probabilities_of_three_of_four_warps) { attention(a, {.softmax_threads = mended ? 128u : 96u}); }
LEGAL(attention_in_tensor_memory) { attention(a, {}); }

EXHIBIT(accumulator_handed_back_by_one_of_two_groups) {
  two_groups_of_readers(a, {.counted = mended ? 256u : 128u});
}
EXHIBIT(tile_committed_before_its_last_step) { two_groups_of_readers(a, {.commits_last = mended}); }
EXHIBIT(freed_when_one_of_two_groups_is_done) { two_groups_of_readers(a, {.all_before_free = mended}); }
LEGAL(accumulator_read_by_two_groups) { two_groups_of_readers(a, {}); }

EXHIBIT(pair_accumulator_handed_back_by_one_cta) { pair_of_tiles(a, {.readers = mended ? 256u : 128u}); }
EXHIBIT(pair_bytes_expected_by_the_peer) { pair_of_tiles(a, {.peer_expects = !mended}); }
LEGAL(pair_of_three_tiles) { pair_of_tiles(a, {.tiles = 3}); }

// Two threads share the steps of K and one accumulator.
EXHIBIT(steps_of_one_tile_by_two_threads) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 first, done;
  init_all(&first, 1, 1);
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    mma_commit(&first);
  }
  if (threadIdx.x == 160) {
    if (mended) {
      wait(&first, 0);
      tmem_fence_after();
    }
    mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 1);
    mma_commit(&done);
  }
  __syncwarp();
  wait(&first, 0);
  wait(&done, 0);
  tmem_fence_after();
  if (warp_idx() < 4) {
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// Four warps stage a tile of results and one of them stores it.
EXHIBIT(results_stored_before_all_have_staged_them) {
  __shared__ Operands s;
  __shared__ alignas(128) u32 staging[128];
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
  if (warp_idx() < 4) {
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    staging[threadIdx.x] = value;
    fence_async_shared();
    if (mended) named_sync(1, 128);
    else __syncwarp();
    if (threadIdx.x == 0) {
      bulk_store(a.out, staging, 512);
      bulk_commit();
      bulk_wait<0>();
    }
    __syncwarp();
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// The tile's number is looked up after the answer's slot has been given back.
EXHIBIT(answer_decoded_after_the_release) {
  __shared__ ClcResponse response;
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, 64);
  u32 tile = blockIdx.x;
  if (warp_idx() == 2) {
    if (lane_idx() == 0) {
      for (u32 turn = 0;; ++turn) {
        if (turn != 0) wait(&empty, (turn + 1) % 2);
        arrive_expect(&full, 16);
        clc_request(&response, &full);
        wait(&full, turn % 2);
        const ClcAnswer answer = clc_answer(&response);
        fence_async_shared();
        if (answer.is_canceled == 0) break;
      }
    }
    return;
  }
  for (u32 turn = 0;; ++turn) {
    a.out[tile * 64 + threadIdx.x] = tile + 1;
    wait(&full, turn % 2);
    ClcAnswer answer = {};
    if (mended) answer = clc_answer(&response);
    fence_async_shared();
    arrive(&empty);
    if (!mended) answer = clc_answer(&response);
    if (answer.is_canceled == 0) break;
    tile = answer.x;
  }
}
