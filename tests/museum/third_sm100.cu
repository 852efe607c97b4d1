// SPDX-License-Identifier: Apache-2.0
//
// Blackwell's part of the third set, and legal programs: what orders tensor memory within one thread and between
// threads, pairs, gathered rows, answers of cluster launch control.
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

__device__ inline void mma_of(u32 d, u64 a, u64 b, u32 instruction, u32 accumulate = 0) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;}" ::"r"(d),
      "l"(a), "l"(b), "r"(instruction), "r"(accumulate)
      : "memory");
}
__device__ inline void mma_from_tmem(u32 d, u32 a, u64 b) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, 0, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;}" ::"r"(d),
      "r"(a), "l"(b), "r"(mma_instruction(128, 32))
      : "memory");
}
__device__ inline void copy_to_tmem(u32 to, u64 from) {
  asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(to), "l"(from) : "memory");
}

}  // namespace

// Tensor memory

// The commit's barrier counts every thread, and a commit is one arrival.
EXHIBIT(commit_counts_for_all_threads) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, mended ? 1 : 128);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 0) {
    mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    mma_commit(&done);
  }
  __syncwarp();
  wait(&done, 0);
  tmem_fence_after();
  a.out[threadIdx.x] = tmem_ld(tmem + quarter());
  tmem_wait_ld();
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// A second multiplication after the only commit.
EXHIBIT(second_multiplication_is_not_committed) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done, all;
  init_all(&done, 1, 1);
  init_all(&all, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    if (!mended) mma_commit(&done);
    mma(tmem + 32, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    if (mended) mma_commit(&done);
    mma_commit(&all);
  }
  if (warp_idx() < 4) {
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + 32 + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  wait(&all, 0);
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
}

// A result of 64 rows leaves every second half of a quarter unwritten.
EXHIBIT(lanes_that_hold_no_row) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    mma_of(tmem, mma_descriptor(s.a), mma_descriptor(s.b), mma_instruction(64, 32));
    mma_commit(&done);
  }
  if (warp_idx() < 4) {
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    if (!mended || lane_idx() < 16) a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// Warps 0 and 4 reach the same lanes.
EXHIBIT(two_warps_of_one_quarter) {
  __shared__ u32 address;
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  tmem_barrier();
  const u32 tmem = address;
  if (warp_idx() == 4) {
    tmem_st(tmem, lane_idx());
    tmem_wait_st();
    tmem_fence_before();
  }
  if (mended) __syncthreads();
  if (warp_idx() == 0) {
    tmem_fence_after();
    const u32 value = tmem_ld(tmem);
    tmem_wait_ld();
    a.out[lane_idx()] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

EXHIBIT(two_warps_of_one_quarter_store) {
  __shared__ u32 address;
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  tmem_barrier();
  const u32 tmem = address;
  if (warp_idx() % 4 == 0) {
    tmem_st(tmem + (mended ? warp_idx() : 0), lane_idx() + warp_idx());
    tmem_wait_st();
  }
  tmem_barrier();
  if (warp_idx() == 0) {
    const u32 value = tmem_ld(tmem);
    tmem_wait_ld();
    a.out[lane_idx()] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// One thread copies an operand into tensor memory, another multiplies with it.
EXHIBIT(copied_by_another_thread) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 copied, done;
  init_all(&copied, 1, 1);
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    copy_to_tmem(tmem + 32, mma_descriptor(s.a));
    mma_commit(&copied);
  }
  if (threadIdx.x == 160) {
    if (mended) {
      wait(&copied, 0);
      tmem_fence_after();
    }
    mma_from_tmem(tmem, tmem + 32, mma_descriptor(s.b));
    mma_commit(&done);
  }
  wait(&done, 0);
  wait(&copied, 0);
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
  a.out[threadIdx.x] = 1;
}

// The operand is replaced in shared memory while it is copied to tensor memory.
EXHIBIT(source_of_a_copy_to_tmem_overwritten) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 0) {
    copy_to_tmem(tmem, mma_descriptor(s.a));
    mma_commit(&done);
    if (mended) wait(&done, 0);
    s.a[0] = 0;
  }
  __syncwarp();
  wait(&done, 0);
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
  a.out[threadIdx.x] = 1;
}

// A third allocation that there is no room for: whoever asks waits until there is, and nobody frees.
EXHIBIT(allocations_of_more_than_there_is) {
  __shared__ u32 address[3];
  tmem_alloc(&address[0], 256);
  tmem_alloc(&address[1], 256);
  __syncwarp();
  const u32 first = address[0], second = address[1];
  if (mended) tmem_dealloc(first, 256);
  tmem_alloc(&address[2], 128);
  __syncwarp();
  tmem_dealloc(address[2], 128);
  if (!mended) tmem_dealloc(first, 256);
  tmem_dealloc(second, 256);
  a.out[lane_idx()] = 1;
}

// The accumulator is read for the epilogue and scaled back by tcgen05.st while the next multiplication adds to
// it.
EXHIBIT(scaled_back_without_the_stores_wait) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  for (u32 turn = 0; turn < 2; ++turn) {
    if (threadIdx.x == 128) {
      mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), turn);
      mma_commit(&done);
    }
    if (warp_idx() < 4) {
      wait(&done, turn);
      tmem_fence_after();
      const u32 value = tmem_ld(tmem + quarter());
      tmem_wait_ld();
      tmem_st(tmem + quarter(), value);
      if (mended || turn == 1) tmem_wait_st();
      a.out[threadIdx.x] = value;
    }
    tmem_barrier();
  }
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// Operands that a copy brings, a multiplication that begins before the second of them.
EXHIBIT(second_operand_has_a_barrier_of_its_own) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 full[2], done;
  init_all(full, 2, 1);
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 160) {
    arrive_expect(&full[0], 4096);
    bulk_load(s.a, a.in, 4096, &full[0]);
    arrive_expect(&full[1], 2048);
    bulk_load(s.b, a.in + 1024, 2048, &full[1]);
  }
  if (threadIdx.x == 128) {
    wait(&full[0], 0);
    if (mended) wait(&full[1], 0);
    mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    mma_commit(&done);
    wait(&full[1], 0);
  }
  wait(&done, 0);
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
  a.out[threadIdx.x] = 1;
}

// Pairs

namespace {

struct Pair {
  bool one_frees = false;
  u32 instruction = mma_instruction(256, 32);
};

__device__ __forceinline__ void pair(const Args& a, const Pair& f) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  cluster_sync();
  if (warp_idx() == 0) tmem_alloc<2>(&address, 32);
  fill(s);
  tmem_cluster_barrier();
  const u32 tmem = address;
  if (cluster_rank() == 0 && threadIdx.x == 128) {
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, 0, 0; tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;}" ::"r"(
            tmem),
        "l"(mma_descriptor(s.a)), "l"(mma_descriptor(s.b)), "r"(f.instruction)
        : "memory");
    mma_commit_pair(&done, 3);
  }
  wait_cluster(&done, 0);
  tmem_fence_after();
  if (warp_idx() < 4) {
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[cluster_rank() * 128 + threadIdx.x] = value;
  }
  tmem_cluster_barrier();
  if (warp_idx() == 0 && (!f.one_frees || cluster_rank() == 0)) tmem_dealloc<2>(tmem, 32);
}

}  // namespace

EXHIBIT(one_of_a_pair_frees) { pair(a, {.one_frees = !mended}); }
EXHIBIT(pair_of_sixty_four_rows) { pair(a, {.instruction = mma_instruction(mended ? 256 : 64, 32)}); }

// The odd CTA's copy counts its bytes on its own barrier, which nobody of the pair looks at.
EXHIBIT(pair_load_counts_on_its_own_barrier) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (threadIdx.x == 0) {
    if (cluster_rank() == 0) arrive_expect(&full, 2 * kBoxBytes);
    const u32 bar = shared_address(&full) & (mended ? 0xFEFFFFFF : 0xFFFFFFFF);
    asm volatile(
        "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, "
        "{%2, %3}], [%4];" ::"r"(shared_address(tile)),
        "l"(a.load), "r"(0), "r"(16 * static_cast<int>(cluster_rank())), "r"(bar)
        : "memory");
  }
  if (cluster_rank() == 0) wait_cluster(&full, 0);
  cluster_sync();
  a.out[cluster_rank() * 32 + threadIdx.x] = tile[threadIdx.x];
}

// Gathered rows

namespace {

__device__ __forceinline__ const TensorMap* map_of_single_rows(const Args& a, u64 (&map)[16]) {
  if (lane_idx() < 16) map[lane_idx()] = a.load->words[lane_idx()];
  __syncwarp();
  if (lane_idx() == 0)
    asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(shared_address(map)),
                 "r"(1)
                 : "memory");
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
      "128;" ::"l"(a.scratch),
      "r"(shared_address(map))
      : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(a.scratch) : "memory");
  return reinterpret_cast<const TensorMap*>(a.scratch);
}

__device__ inline void gather(void* to, const TensorMap* map, int x, int r0, int r1, int r2, int r3, u64* bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, "
      "%4, %5, %6}], [%7];" ::"r"(shared_address(to)),
      "l"(map), "r"(x), "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(shared_address(bar))
      : "memory");
}

}  // namespace

EXHIBIT(gather_expects_one_row_of_four) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  const TensorMap* rows = map_of_single_rows(a, map);
  if (lane_idx() == 0) {
    arrive_expect(&full, mended ? 256 : 64);
    gather(tile, rows, 0, 5, 1, 9, 2, &full);
  }
  wait(&full, 0);
  a.out[lane_idx()] = tile[lane_idx() * 2];
}

EXHIBIT(gather_with_a_box_of_many_rows) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  const TensorMap* rows = map_of_single_rows(a, map);
  if (lane_idx() == 0) {
    arrive_expect(&full, 256);
    gather(tile, mended ? rows : a.load, 0, 5, 1, 9, 2, &full);
  }
  wait(&full, 0);
  a.out[lane_idx()] = tile[lane_idx() * 2];
}

// Cluster launch control

namespace {

__device__ inline void clc_request_for_all(ClcResponse* to, u64* bar) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all."
      "b128 [%0], [%1];" ::"r"(shared_address(to)),
      "r"(shared_address(bar))
      : "memory");
}

__device__ __forceinline__ void walk(const Args& a, bool fenced, bool meets) {
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
    if (fenced) fence_async_shared();
    if (meets) __syncthreads();
    if (answer.is_canceled == 0) break;
    tile = answer.x;
  }
}

}  // namespace

EXHIBIT(answer_read_without_a_fence_before_the_next) { walk(a, mended, true); }
EXHIBIT(answer_overwritten_under_a_slow_warp) { walk(a, true, mended); }

EXHIBIT(both_of_a_pair_ask) {
  __shared__ ClcResponse response;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (threadIdx.x == 0) {
    arrive_expect(&full, mended ? 16 : 32);
    if (!mended || cluster_rank() == 0) clc_request_for_all(&response, &full);
  }
  wait_cluster(&full, 0);
  const ClcAnswer answer = clc_answer(&response);
  a.out[blockIdx.x * 32 + threadIdx.x] = 1 + answer.is_canceled;
  cluster_sync();
}

EXHIBIT(answer_at_a_multiple_of_eight) {
  __shared__ alignas(16) u64 place[4];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  auto* response = reinterpret_cast<ClcResponse*>(place + (mended ? 2 : 1));
  if (threadIdx.x == 0) {
    arrive_expect(&full, 16);
    clc_request(response, &full);
  }
  wait(&full, 0);
  a.out[blockIdx.x * 32 + lane_idx()] =
      static_cast<u32>(ld_shared(reinterpret_cast<u32*>(response)) != 0xffffffff);
}

// A thread alone takes the answer over and tells the others through shared memory, without a second barrier.
EXHIBIT(tile_index_told_without_a_second_barrier) {
  __shared__ ClcResponse response;
  __shared__ u64 full;
  __shared__ u32 next;
  init_all(&full, 1, 1);
  u32 tile = blockIdx.x;
  for (u32 turn = 0;; ++turn) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, 16);
      clc_request(&response, &full);
      wait(&full, turn % 2);
      const ClcAnswer answer = clc_answer(&response);
      fence_async_shared();
      next = answer.is_canceled ? answer.x : 1000;
    }
    __syncthreads();
    const u32 mine = next;
    if (mended) __syncthreads();
    a.out[tile * 64 + threadIdx.x] = tile + 1;
    if (mine == 1000) break;
    tile = mine;
  }
}

// Legal programs

// cp, mma and cp again of one thread, in order without a wait between them.
LEGAL(copies_and_multiplications_in_order) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    for (u32 turn = 0; turn < 2; ++turn) {
      copy_to_tmem(tmem + 32, mma_descriptor(s.a));
      mma_from_tmem(tmem, tmem + 32, mma_descriptor(s.b));
    }
    mma_commit(&done);
  }
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

// Eight warps read an accumulator, two of each quarter.
LEGAL(eight_warps_read_an_accumulator) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (warp_idx() == 0 && elect()) {
    mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    mma_commit(&done);
  }
  __syncwarp();
  wait(&done, 0);
  tmem_fence_after();
  u32 v[8];
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7])
               : "r"(tmem + warp_idx() / 4 * 8 + quarter())
               : "memory");
  tmem_wait_ld();
  a.out[threadIdx.x] = v[0] + v[7];
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// Each tile allocates and frees anew.
LEGAL(allocated_for_every_tile) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  fill(s);
  __syncthreads();
  for (u32 turn = 0; turn < 3; ++turn) {
    if (warp_idx() == 0) tmem_alloc(&address, 128 >> turn);
    tmem_barrier();
    const u32 tmem = address;
    if (threadIdx.x == 128) {
      mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
      mma_commit(&done);
    }
    wait(&done, turn % 2);
    tmem_fence_after();
    if (warp_idx() < 4) {
      const u32 value = tmem_ld(tmem + quarter());
      tmem_wait_ld();
      a.out[turn * 128 + threadIdx.x] = value;
    }
    tmem_barrier();
    if (warp_idx() == 0) tmem_dealloc(tmem, 128 >> turn);
  }
  if (warp_idx() == 0) tmem_relinquish();
}

// An accumulator is rescaled in tensor memory between two multiplications.
LEGAL(accumulator_rescaled_in_place) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done, scaled;
  init_all(&done, 1, 1);
  init_all(&scaled, 1, 128);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    for (u32 turn = 0; turn < 3; ++turn) {
      if (turn > 0) {
        wait(&scaled, (turn - 1) % 2);
        tmem_fence_after();
      }
      mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), turn);
      mma_commit(&done);
    }
  }
  if (warp_idx() < 4) {
    for (u32 turn = 0; turn < 3; ++turn) {
      wait(&done, turn % 2);
      tmem_fence_after();
      const u32 value = tmem_ld(tmem + quarter());
      tmem_wait_ld();
      if (turn == 2) a.out[threadIdx.x] = value;
      else {
        tmem_st(tmem + quarter(), __float_as_uint(__uint_as_float(value) * 0.5f));
        tmem_wait_st();
        tmem_fence_before();
        arrive(&scaled);
      }
    }
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

// Two threads multiply into columns of their own and arrive on one barrier.
LEGAL(two_threads_multiply_and_commit) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 2);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128 || threadIdx.x == 160) {
    mma(tmem + (threadIdx.x == 160 ? 32 : 0), mma_descriptor(s.a), mma_descriptor(s.b), 0);
    mma_commit(&done);
  }
  if (warp_idx() < 4) {
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + quarter()) + tmem_ld(tmem + 32 + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
}

// Rows that one thread names are gathered, and scattered to others.
LEGAL(rows_gathered) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  const TensorMap* rows = map_of_single_rows(a, map);
  for (u32 turn = 0; turn < 2; ++turn) {
    if (lane_idx() == 0) {
      arrive_expect(&full, 256);
      gather(tile, rows, 16, 7 + static_cast<int>(turn), 1, 1, 60, &full);
    }
    wait(&full, turn);
    a.out[turn * 32 + lane_idx()] = tile[lane_idx()] + tile[32 + lane_idx()];
    fence_async_shared();
    __syncwarp();
  }
}

// The next answer is asked for while the last tile is still worked on, in two places that take turns.
LEGAL(two_answers_take_turns) {
  __shared__ ClcResponse response[2];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 2);
  u32 tile = blockIdx.x;
  for (u32 turn = 0;; ++turn) {
    const u32 slot = turn % 2, wrap = turn / 2 % 2;
    if (threadIdx.x == 0) {
      wait(&empty[slot], wrap ^ 1);
      arrive_expect(&full[slot], 16);
      clc_request(&response[slot], &full[slot]);
    }
    __syncwarp();
    a.out[tile * 64 + threadIdx.x] = tile + 1;
    wait(&full[slot], wrap);
    const ClcAnswer answer = clc_answer(&response[slot]);
    fence_async_shared();
    __syncwarp();
    if (lane_idx() == 0) arrive(&empty[slot]);
    if (answer.is_canceled == 0) break;
    tile = answer.x;
  }
}

// A whole warp waits for what one of its lanes has committed, and the lanes after it go on without it.
LEGAL(committed_by_an_elected_lane_of_many_warps) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done[4];
  init_all(done, 4, 1);
  if (warp_idx() == 0) {
    tmem_alloc(&address, 128);
    tmem_relinquish();
  }
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (elect()) {
    mma(tmem + warp_idx() * 32, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    mma_commit(&done[warp_idx()]);
  }
  __syncwarp();
  u32 sum = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 at = (warp_idx() + i) % 4;
    wait(&done[at], 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + at * 32 + quarter());
    tmem_wait_ld();
    sum += value;
  }
  a.out[threadIdx.x] = sum;
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 128);
}

// A pair whose odd CTA fills its operands by copies on the barrier of the even one.
LEGAL(pair_meets_by_remote_arrivals) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 ready, done;
  init_all(&ready, 1, 2);
  init_all(&done, 1, 1);
  cluster_sync();
  if (warp_idx() == 0) tmem_alloc<2>(&address, 32);
  tmem_cluster_barrier();
  const u32 tmem = address;
  fill(s);
  __syncthreads();
  if (threadIdx.x == 0) arrive_peer(peer(&ready, 0));
  if (cluster_rank() == 0 && threadIdx.x == 128) {
    wait_cluster(&ready, 0);
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
  tmem_cluster_barrier();
  if (warp_idx() == 0) tmem_dealloc<2>(tmem, 32);
}
