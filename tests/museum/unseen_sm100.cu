// SPDX-License-Identifier: Apache-2.0
//
// Blackwell's part of the second set, and legal programs: commits, accumulators in two stages, pairs of CTAs,
// operands in tensor memory, cluster launch control.
#include "ptx.h"

namespace {

// B is larger than what is multiplied, and nobody writes what lies after A.
struct Operands {
  alignas(1024) u32 b[512];
  alignas(1024) u32 a[1024];
  u32 rest[512];
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

__device__ inline void mma_from_tmem(u32 d, u32 a, u64 b) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, 0, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;}" ::"r"(d),
      "r"(a), "l"(b), "r"(mma_instruction(128, 32))
      : "memory");
}
__device__ inline void mma_of(u32 d, u64 a, u64 b, u32 instruction) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, 0, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;}" ::"r"(d),
      "l"(a), "l"(b), "r"(instruction)
      : "memory");
}
__device__ inline void copy_to_tmem(u32 to, u64 from) {
  asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(to), "l"(from) : "memory");
}

struct Flaws {
  bool commits_first = false;
  u32 committer = 128;
  bool all_lanes = false;  // of warp 4 multiply and commit
  u32 n = 32;
  bool swizzled = false;
  bool reads_after_free = false, frees_twice = false;
  bool elects_alloc = false, elects_wait = false;
  u32 columns = 32;
};

__device__ __forceinline__ void multiply(const Args& a, const Flaws& f) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0 && (!f.elects_alloc || lane_idx() == 0)) tmem_alloc(&address, f.columns);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  u64 da = mma_descriptor(s.a);
  if (f.swizzled) da |= u64{2} << 61;
  if (f.all_lanes ? warp_idx() == 4 : threadIdx.x == 128) {
    if (f.commits_first) mma_commit(&done);
    mma_of(tmem, da, mma_descriptor(s.b), mma_instruction(128, f.n));
    if (!f.commits_first && f.committer == 128) mma_commit(&done);
  }
  if (f.committer != 128 && threadIdx.x == f.committer) mma_commit(&done);
  if (warp_idx() < 4) {
    wait(&done, 0);
    tmem_fence_after();
    u32 value = f.reads_after_free ? 0 : tmem_ld(tmem + quarter());
    if (!f.elects_wait || lane_idx() == 0) tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, f.columns);
  if (f.frees_twice && warp_idx() == 0) tmem_dealloc(tmem, f.columns);
  if (f.reads_after_free && warp_idx() == 0) {
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
}

}  // namespace

EXHIBIT(commit_before_the_multiplication) { multiply(a, {.commits_first = !mended}); }
EXHIBIT(commit_of_another_thread) { multiply(a, {.committer = mended ? 128u : 129u}); }
EXHIBIT(every_lane_multiplies_and_commits) { multiply(a, {.all_lanes = !mended}); }
EXHIBIT(result_wider_than_the_allocation) { multiply(a, {.n = mended ? 32u : 64u}); }
EXHIBIT(mma_descriptor_says_swizzled) { multiply(a, {.swizzled = !mended}); }
EXHIBIT(tensor_memory_read_after_free) { multiply(a, {.reads_after_free = !mended}); }
EXHIBIT(tensor_memory_freed_twice) { multiply(a, {.frees_twice = !mended}); }
EXHIBIT(allocation_by_one_lane) { multiply(a, {.elects_alloc = !mended}); }
EXHIBIT(load_waited_for_by_one_lane) { multiply(a, {.elects_wait = !mended}); }
EXHIBIT(allocation_of_sixteen_columns) { multiply(a, {.columns = mended ? 32u : 16u}); }

// Two threads multiply; the commit of one tells nothing of the other.
EXHIBIT(two_threads_multiply_one_commits) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, mended ? 2 : 1);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128 || threadIdx.x == 160) {
    mma(tmem + (threadIdx.x == 160 ? 32 : 0), mma_descriptor(s.a), mma_descriptor(s.b), 0);
    if (mended || threadIdx.x == 128) mma_commit(&done);
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

namespace {

struct Stages {
  u32 stride = 32;           // between the stages, in columns
  bool reads_other = false;  // the epilogue reads the other stage
  bool releases_before_wait = false;
  u32 first_parity = 1;   // of the one that multiplies
  u32 released_by = 128;  // threads
  bool second_load_waits = true;
};

// Accumulators in two stages, four tiles.
__device__ __forceinline__ void two_stages(const Args& a, const Stages& f) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, f.released_by);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  for (u32 turn = 0; turn < 4; ++turn) {
    const u32 slot = turn % 2, wrap = turn / 2 % 2;
    if (threadIdx.x == 128) {
      wait(&empty[slot], wrap ^ f.first_parity);
      tmem_fence_after();
      mma(tmem + slot * f.stride, mma_descriptor(s.a), mma_descriptor(s.b), 0);
      mma_commit(&full[slot]);
    } else if (warp_idx() < 4) {
      wait(&full[slot], wrap);
      tmem_fence_after();
      const u32 at = tmem + (f.reads_other ? slot ^ 1 : slot) * f.stride + quarter();
      const u32 first = tmem_ld(at);
      if (f.second_load_waits) {
        const u32 second = tmem_ld(at + 1);
        if (!f.releases_before_wait) tmem_wait_ld();
        tmem_fence_before();
        if (threadIdx.x < f.released_by) arrive(&empty[slot]);
        if (f.releases_before_wait) tmem_wait_ld();
        a.out[turn * 128 + threadIdx.x] = first + second;
      } else {
        tmem_wait_ld();
        const u32 second = tmem_ld(at + 1);
        a.out[turn * 128 + threadIdx.x] = first + second;
        tmem_wait_ld();
        tmem_fence_before();
        arrive(&empty[slot]);
      }
    }
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
}

}  // namespace

EXHIBIT(accumulator_stages_overlap) { two_stages(a, {.stride = mended ? 32u : 16u}); }
EXHIBIT(epilogue_reads_the_other_stage) { two_stages(a, {.reads_other = !mended}); }
EXHIBIT(stage_released_before_the_load_is_done) { two_stages(a, {.releases_before_wait = !mended}); }
EXHIBIT(accumulator_parity_starts_with_0) { two_stages(a, {.first_parity = mended ? 1u : 0u}); }
EXHIBIT(accumulator_released_by_one_warp) { two_stages(a, {.released_by = mended ? 128u : 32u}); }
EXHIBIT(second_load_used_before_its_wait) { two_stages(a, {.second_load_waits = mended}); }

// The operands are released by a commit that comes before the multiplication which reads them.
EXHIBIT(operands_released_before_the_multiplication) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 full, empty, done;
  init_all(&full, 1, 1);
  init_all(&empty, 1, 1);
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 160) {
    for (u32 turn = 0; turn < 2; ++turn) {
      wait(&empty, turn ^ 1);
      arrive_expect(&full, 1024);
      bulk_load(s.b, a.in, 1024, &full);
    }
  }
  if (threadIdx.x == 128) {
    for (u32 turn = 0; turn < 2; ++turn) {
      wait(&full, turn);
      if (!mended) mma_commit(&empty);
      mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), turn);
      if (mended) mma_commit(&empty);
    }
    mma_commit(&done);
  }
  wait(&done, 0);
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
  a.out[threadIdx.x] = 1;
}

// Columns that tcgen05.cp fills are read by threads.
EXHIBIT(copied_columns_read_without_commit) {
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
  }
  if (mended) wait(&done, 0);
  __syncwarp();
  tmem_fence_after();
  a.out[threadIdx.x] = tmem_ld(tmem + quarter());
  tmem_wait_ld();
  wait(&done, 0);
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 32);
}

namespace {

// A in tensor memory: threads store it, one multiplies.
__device__ __forceinline__ void operand_in_tmem(const Args& a, bool waits, bool syncs) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (warp_idx() < 4) {
    for (u32 i = 0; i < 8; ++i) tmem_st(tmem + 32 + i + quarter(), kOnes);
    if (waits) tmem_wait_st();
    tmem_fence_before();
  }
  if (syncs) __syncthreads();
  if (threadIdx.x == 128) {
    tmem_fence_after();
    mma_from_tmem(tmem, tmem + 32, mma_descriptor(s.b));
    mma_commit(&done);
  }
  if (warp_idx() < 4) {
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
    tmem_wait_st();
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
}

}  // namespace

EXHIBIT(operand_in_tensor_memory_not_waited_for) { operand_in_tmem(a, mended, true); }
EXHIBIT(operand_in_tensor_memory_without_barrier) { operand_in_tmem(a, true, mended); }

namespace {

struct Pair {
  bool meets_after_fill = true;
  u32 commit_mask = 3;
  bool peer_waits = true;
  bool both_issue = false;
  bool allocates_alone = false;
};

__device__ __forceinline__ void pair(const Args& a, const Pair& f) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  cluster_sync();
  if (warp_idx() == 0 && (!f.allocates_alone || cluster_rank() == 0)) tmem_alloc<2>(&address, 32);
  if (f.meets_after_fill) fill(s);
  tmem_cluster_barrier();
  if (!f.meets_after_fill) {
    fill(s);
    tmem_barrier();
  }
  const u32 tmem = address;
  if ((cluster_rank() == 0 || f.both_issue) && threadIdx.x == 128) {
    mma_pair(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    mma_commit_pair(&done, f.commit_mask);
  }
  if (cluster_rank() == 0 || f.peer_waits) wait_cluster(&done, 0);
  tmem_fence_after();
  if (warp_idx() < 4) {
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[cluster_rank() * 128 + threadIdx.x] = value;
  }
  tmem_cluster_barrier();
  if (warp_idx() == 0) tmem_dealloc<2>(tmem, 32);
}

}  // namespace

EXHIBIT(pair_multiplies_before_the_peer_has_filled) { pair(a, {.meets_after_fill = mended}); }
EXHIBIT(pair_commits_to_one_cta) { pair(a, {.commit_mask = mended ? 3u : 1u}); }
EXHIBIT(pair_peer_reads_without_wait) { pair(a, {.peer_waits = mended}); }
EXHIBIT(both_of_a_pair_multiply) { pair(a, {.both_issue = !mended}); }
EXHIBIT(one_of_a_pair_allocates) { pair(a, {.allocates_alone = !mended}); }

// A kernel whose instructions disagree on the number of CTAs.
EXHIBIT(pair_frees_as_a_single_cta) {
  __shared__ u32 address;
  cluster_sync();
  if (warp_idx() == 0) tmem_alloc<2>(&address, 32);
  tmem_cluster_barrier();
  const u32 tmem = address;
  if (warp_idx() == 0) {
    if (mended) tmem_dealloc<2>(tmem, 32);
    else tmem_dealloc<1>(tmem, 32);
  }
  cluster_sync();
  a.out[cluster_rank() * 32 + threadIdx.x] = 1;
}

namespace {

__device__ inline void tma_load_pair(void* to, const TensorMap* map, int x, int y, u64* bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(bar) & 0xFEFFFFFF)
      : "memory");
}

struct PairLoads {
  u32 expected = 2 * kBoxBytes;
  bool peer_waits_for_empty = true;
  u32 empty_mask = 3;
};

// Both load their part of B onto the barrier of the even CTA, which multiplies.
__device__ __forceinline__ void pair_loads(const Args& a, const PairLoads& f) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 full, empty, done;
  init_all(&full, 1, 1);
  init_all(&empty, 1, 1);
  init_all(&done, 1, 1);
  cluster_sync();
  if (warp_idx() == 0) tmem_alloc<2>(&address, 32);
  fill(s);
  tmem_cluster_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 160) {
    for (u32 turn = 0; turn < 3; ++turn) {
      if (cluster_rank() == 0 || f.peer_waits_for_empty) wait_cluster(&empty, turn % 2 ^ 1);
      if (cluster_rank() == 0) arrive_expect(&full, f.expected);
      tma_load_pair(s.b, a.load, static_cast<int>(turn) * 16, static_cast<int>(cluster_rank()) * 16, &full);
    }
  }
  if (cluster_rank() == 0 && threadIdx.x == 128) {
    for (u32 turn = 0; turn < 3; ++turn) {
      wait_cluster(&full, turn % 2);
      tmem_fence_after();
      mma_pair(tmem, mma_descriptor(s.a), mma_descriptor(s.b), turn > 0);
      mma_commit_pair(&empty, f.empty_mask);
    }
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

}  // namespace

EXHIBIT(pair_expects_the_bytes_of_one) { pair_loads(a, {.expected = mended ? 2 * kBoxBytes : kBoxBytes}); }
EXHIBIT(pair_peer_loads_without_waiting) { pair_loads(a, {.peer_waits_for_empty = mended}); }
EXHIBIT(pair_stage_released_to_one) { pair_loads(a, {.empty_mask = mended ? 3u : 1u}); }

// A peer that only lends its half, and leaves before the multiplication is over.
EXHIBIT(pair_peer_leaves_early) {
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
    mma_pair(tmem, mma_descriptor(s.a), mma_descriptor(s.b), 0);
    mma_commit_pair(&done, 3);
  }
  if (mended || cluster_rank() == 0) wait_cluster(&done, 0);
  tmem_fence_after();
  tmem_fence_before();
  if (mended) cluster_sync();
  if (warp_idx() == 0) tmem_dealloc<2>(tmem, 32);
  a.out[cluster_rank() * 192 + threadIdx.x] = 1;
}

// Cluster launch control.

namespace {

__device__ inline void clc_request_for_all(ClcResponse* to, u64* bar) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all."
      "b128 "
      "[%0], [%1];" ::"r"(shared_address(to)),
      "r"(shared_address(bar))
      : "memory");
}

// A pair walks the grid: rank 0 asks for both.
__device__ __forceinline__ void walk_as_a_pair(const Args& a, bool peer_expects, bool peer_releases) {
  __shared__ ClcResponse response;
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, peer_releases ? 2 : 1);
  cluster_sync();
  u32 tile = blockIdx.x;
  for (u32 turn = 0;; ++turn) {
    if (threadIdx.x == 0) {
      if (cluster_rank() == 0) wait_cluster(&empty, turn % 2 ^ 1);
      if (cluster_rank() == 0 || peer_expects) arrive_expect(&full, 16);
      else arrive(&full);
      if (cluster_rank() == 0) clc_request_for_all(&response, &full);
    }
    a.out[tile * 32 + threadIdx.x] = tile + 1;
    wait_cluster(&full, turn % 2);
    const ClcAnswer answer = clc_answer(&response);
    fence_async_shared();
    __syncwarp();
    if (threadIdx.x == 0 && (peer_releases || cluster_rank() == 0)) arrive_peer(peer(&empty, 0));
    if (answer.is_canceled == 0) break;
    tile = answer.x + cluster_rank();
  }
  cluster_sync();
}

}  // namespace

EXHIBIT(clc_peer_does_not_expect_its_answer) { walk_as_a_pair(a, mended, true); }
EXHIBIT(clc_peer_does_not_release_its_answer) { walk_as_a_pair(a, true, mended); }

// The scheduler hands the tile on through shared memory, without waiting for those who read the last one.
EXHIBIT(clc_tile_handed_on_without_release) {
  __shared__ ClcResponse response;
  __shared__ u32 next, more;
  __shared__ u64 full, known, taken;
  init_all(&full, 1, 1);
  init_all(&known, 1, 1);
  init_all(&taken, 1, 32);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 turn = 0;; ++turn) {
        arrive_expect(&full, 16);
        clc_request(&response, &full);
        wait(&full, turn % 2);
        const ClcAnswer answer = clc_answer(&response);
        fence_async_shared();
        if (mended) wait(&taken, turn % 2 ^ 1);
        st_shared(&next, answer.x);
        st_shared(&more, answer.is_canceled);
        arrive(&known);
        if (answer.is_canceled == 0) break;
      }
    }
  } else {
    u32 tile = blockIdx.x;
    for (u32 turn = 0;; ++turn) {
      a.out[tile * 32 + lane_idx()] = tile + 1;
      wait(&known, turn % 2);
      tile = ld_shared(&next);
      const u32 goes_on = ld_shared(&more);
      arrive(&taken);
      if (goes_on == 0) break;
    }
  }
}

// Legal programs.

LEGAL(pair_with_copied_operands) { pair_loads(a, {}); }
LEGAL(operand_stored_to_tensor_memory) { operand_in_tmem(a, true, true); }
LEGAL(clc_for_a_pair) { walk_as_a_pair(a, true, true); }
LEGAL(accumulators_in_two_stages) { two_stages(a, {}); }

// One thread copies A to tensor memory and multiplies: the two are in order.
LEGAL(operand_copied_to_tensor_memory) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    copy_to_tmem(tmem + 32, mma_descriptor(s.a));
    mma_from_tmem(tmem, tmem + 32, mma_descriptor(s.b));
    mma_commit(&done);
  }
  if (warp_idx() < 4) {
    wait(&done, 0);
    tmem_fence_after();
    const u32 value = tmem_ld(tmem + quarter());
    tmem_wait_ld();
    a.out[threadIdx.x] = value;
  }
  tmem_barrier();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
}

// Several multiplications, one commit, two barriers.
LEGAL(two_commits_of_one_batch) {
  __shared__ Operands s;
  __shared__ u32 address;
  __shared__ u64 empty, done;
  init_all(&empty, 1, 1);
  init_all(&done, 1, 1);
  if (warp_idx() == 0) tmem_alloc(&address, 32);
  fill(s);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 128) {
    for (u32 k = 0; k < 4; ++k) mma(tmem, mma_descriptor(s.a), mma_descriptor(s.b), k > 0);
    mma_commit(&empty);
    mma_commit(&done);
    wait(&empty, 0);
    s.b[0] = 0;  // its own operand, which nobody reads any more
  }
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

// One warp allocates, another frees.
LEGAL(freed_by_another_warp) {
  __shared__ u32 address;
  if (warp_idx() == 0) {
    tmem_alloc(&address, 64);
    tmem_relinquish();
  }
  tmem_barrier();
  const u32 tmem = address;
  tmem_st(tmem + quarter(), threadIdx.x);
  tmem_wait_st();
  a.out[threadIdx.x] = tmem_ld(tmem + quarter());
  tmem_wait_ld();
  tmem_barrier();
  if (warp_idx() == 3) tmem_dealloc(tmem, 64);
}

// Two warps allocate half each.
LEGAL(two_allocations_of_half) {
  __shared__ u32 address[2];
  if (warp_idx() < 2) tmem_alloc(&address[warp_idx()], 256);
  tmem_barrier();
  const u32 tmem = address[threadIdx.x / 128];
  tmem_st(tmem + quarter(), threadIdx.x);
  tmem_wait_st();
  a.out[threadIdx.x] = tmem_ld(tmem + quarter());
  tmem_wait_ld();
  tmem_barrier();
  if (warp_idx() < 2) tmem_dealloc(address[warp_idx()], 256);
}

// The producer of a persistent kernel: a ring of operands, accumulators in two stages.
LEGAL(two_rings_of_a_persistent_kernel) {
  __shared__ Operands s[2];
  __shared__ u32 address;
  __shared__ u64 full[2], empty[2], accumulated[2], released[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 1);
  init_all(accumulated, 2, 1);
  init_all(released, 2, 4);
  if (warp_idx() == 0) tmem_alloc(&address, 64);
  fill(s[0]);
  fill(s[1]);
  tmem_barrier();
  const u32 tmem = address;
  if (threadIdx.x == 160) {
    for (u32 k = 0; k < 6; ++k) {
      wait(&empty[k % 2], k / 2 % 2 ^ 1);
      arrive_expect(&full[k % 2], 1024);
      bulk_load(s[k % 2].b, a.in + k * 256, 1024, &full[k % 2]);
    }
  } else if (threadIdx.x == 128) {
    for (u32 k = 0; k < 6; ++k) {
      const u32 tile = k / 2;
      if (k % 2 == 0) {
        wait(&released[tile % 2], tile / 2 % 2 ^ 1);
        tmem_fence_after();
      }
      wait(&full[k % 2], k / 2 % 2);
      mma(tmem + tile % 2 * 32, mma_descriptor(s[k % 2].a), mma_descriptor(s[k % 2].b), k % 2);
      mma_commit(&empty[k % 2]);
      if (k % 2 == 1) mma_commit(&accumulated[tile % 2]);
    }
  } else if (warp_idx() < 4) {
    for (u32 tile = 0; tile < 3; ++tile) {
      wait(&accumulated[tile % 2], tile / 2 % 2);
      tmem_fence_after();
      const u32 value = tmem_ld(tmem + tile % 2 * 32 + quarter());
      tmem_wait_ld();
      tmem_fence_before();
      __syncwarp();
      if (lane_idx() == 0) arrive(&released[tile % 2]);
      a.out[tile * 128 + threadIdx.x] = value;
    }
  }
  __syncthreads();
  tmem_fence_after();
  if (warp_idx() == 0) tmem_dealloc(tmem, 64);
}
