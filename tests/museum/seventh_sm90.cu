// SPDX-License-Identifier: Apache-2.0
//
// A seventh set of bugs, many of them from public threads, written as one batch and run once when it was whole.
// This file: warps, blocks, barriers, copies, clusters. What lies in global memory is in seventh_global.
#include "ptx.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

namespace {

__device__ inline void st_async(u32 to, u32 value, u32 bar) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(to),
               "r"(value), "r"(bar)
               : "memory");
}
__device__ inline void bulk_multicast(void* to, const void* from, u32 bytes, u64* bar, u32 mask) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
      "[%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(bar)), "h"(static_cast<unsigned short>(mask))
      : "memory");
}
__device__ inline void bulk_add(void* to, const void* from, u32 bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}

// From two branches of a warp.
__device__ inline void cluster_sync_unaligned() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

}  // namespace

// Warps

// The upper half of the warp takes part under a mask that names the lower one.
EXHIBIT(halves_of_a_warp_reduce_under_one_mask) {
  const u32 mask = mended ? 0xffffu << (lane_idx() & 16) : 0xffffu;
  u32 v = a.in[lane_idx() * 7 % 32];
  for (u32 step = 8; step > 0; step /= 2) v = max(v, __shfl_xor_sync(mask, v, step, 16));
  a.out[lane_idx()] = v;
}

// A vote says nothing of memory.
EXHIBIT(ballot_taken_for_a_barrier_of_the_warp) {
  __shared__ u32 slots[32];
  slots[lane_idx()] = a.in[lane_idx()];
  if (mended) __syncwarp();
  const u32 some = __ballot_sync(0xffffffff, a.in[lane_idx() + 32] % 3 == 0);
  a.out[lane_idx()] = slots[31 - lane_idx()] + __popc(some);
}

// Lanes that have less to do wait behind the loop, the others in it.
EXHIBIT(ballot_in_a_loop_of_uneven_turns) {
  const u32 turns = mended ? 4 : a.in[lane_idx()] % 3 + 2;
  u32 found = 0;
  for (u32 i = 0; i < turns; ++i) found += __popc(__ballot_sync(0xffffffff, a.in[i * 32 + lane_idx()] % 3 == 0));
  __syncwarp();
  a.out[lane_idx()] = found;
}

// The elected lane meets its warp in the branch that the others do not enter.
EXHIBIT(elected_lane_meets_a_warp_that_waits_for_it) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (lane_idx() == 0) {
    if (!mended) __syncwarp();
    arrive_expect(&full, 128);
    bulk_load(tile, a.in, 128, &full);
  }
  wait(&full, 0);
  a.out[lane_idx()] = tile[lane_idx()];
}

EXHIBIT(queue_of_eight_takes_a_ninth) {
  u32 kept[8];
  u32 n = 0;
  for (u32 i = 0; i < 16; ++i) {
    const u32 value = a.in[i * 32 + lane_idx()];
    if (value % 64 > 12 && (!mended || n < 8)) kept[n++] = value;
  }
  u32 sum = 0;
  for (u32 i = 0; i < n; ++i) sum = sum * 3 + kept[a.in[i] % 8];
  a.out[lane_idx()] = sum;
}

// Blocks

// What is left over is taken from a count that faster threads clear for the next round.
EXHIBIT(histogram_cleared_for_the_next_round_under_readers) {
  __shared__ u32 counts[64];
  u32 left = 100;
  for (u32 round = 0; round < 3; ++round) {
    counts[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&counts[a.in[round * 64 + threadIdx.x] % 64], 1);
    __syncthreads();
    left -= counts[(threadIdx.x * 7 + round) % 64];
    if (mended) __syncthreads();
  }
  a.out[threadIdx.x] = left;
}

// The sums of the threads lie over the operand from which slower warps still read.
EXHIBIT(partial_sums_over_an_operand_that_others_still_read) {
  __shared__ alignas(128) u32 stage[128];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (warp_idx() == 4) {
    if (lane_idx() == 0) {
      arrive_expect(&full, 512);
      bulk_load(stage, a.in, 512, &full);
    }
    return;
  }
  wait(&full, 0);
  u32 sum = 0;
  for (u32 k = 0; k < 4; ++k) sum += stage[(threadIdx.x + 32 * k) % 128] * (k + 1);
  if (mended) named_sync(1, 128);
  stage[threadIdx.x] = sum;
  named_sync(1, 128);
  a.out[threadIdx.x] = stage[127 - threadIdx.x];
}

// The barriers of the two halves no longer stand for the same step.
EXHIBIT(barrier_that_two_of_four_warps_skip) {
  __shared__ u32 tile[128];
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (mended || warp_idx() < 2) __syncthreads();
  const u32 value = tile[threadIdx.x ^ 64];
  __syncthreads();
  tile[threadIdx.x] = value + 1;
  __syncthreads();
  a.out[threadIdx.x] = tile[threadIdx.x ^ 64];
}

// A row has 32 columns and the pitch is 31.
EXHIBIT(rows_overlap_by_one_column) {
  __shared__ u32 tile[4 * 33];
  const u32 pitch = mended ? 33 : 31;
  tile[warp_idx() * pitch + lane_idx()] = a.in[threadIdx.x];
  __syncthreads();
  a.out[threadIdx.x] = tile[threadIdx.x % 4 * pitch + threadIdx.x / 4];
}

// A group that is done waits at a barrier of all; the other waits for that group.
EXHIBIT(barrier_of_all_inside_one_role) {
  __shared__ u64 go;
  __shared__ u32 tile[32];
  init_all(&go, 1, 1);
  if (warp_idx() == 4) {
    wait(&go, 0);
    a.out[128 + lane_idx()] = tile[lane_idx()];
    return;
  }
  if (threadIdx.x < 32) tile[threadIdx.x] = a.in[threadIdx.x];
  if (mended) named_sync(1, 128);
  else __syncthreads();
  if (threadIdx.x == 0) arrive(&go);
  a.out[threadIdx.x] = tile[threadIdx.x % 32];
}

// Barriers and copies

// The thread with number 0 belongs to the producers.
EXHIBIT(release_by_a_thread_of_another_role) {
  __shared__ alignas(128) u32 stage[2][32];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 1);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 i = 0; i < 4; ++i) {
        wait(&empty[i % 2], i / 2 % 2 ^ 1);
        arrive_expect(&full[i % 2], 128);
        bulk_load(stage[i % 2], a.in + i * 32, 128, &full[i % 2]);
      }
    }
    return;
  }
  u32 sum = 0;
  for (u32 i = 0; i < 4; ++i) {
    wait(&full[i % 2], i / 2 % 2);
    sum += stage[i % 2][31 - lane_idx()];
    fence_async_shared();
    __syncwarp();
    if ((mended ? lane_idx() : threadIdx.x) == 0) arrive(&empty[i % 2]);
  }
  a.out[lane_idx()] = sum;
}

// The group of the newest copy is closed behind the wait, which counts groups.
EXHIBIT(cp_async_committed_behind_the_wait) {
  __shared__ alignas(16) u32 stage[3][256];
  const auto copy = [&](u32 i) { cp_async(&stage[i % 3][threadIdx.x * 4], a.in + i * 256 + threadIdx.x * 4); };
  for (u32 i = 0; i < 2; ++i) {
    copy(i);
    cp_async_commit();
  }
  cp_async_wait<1>();
  __syncthreads();
  u32 sum = 0;
  for (u32 i = 0; i < 4; ++i) {
    if (i + 2 < 4) copy(i + 2);
    if (mended) cp_async_commit();
    sum += stage[i % 3][255 - threadIdx.x];
    cp_async_wait<1>();
    if (!mended) cp_async_commit();
    __syncthreads();
  }
  a.out[threadIdx.x] = sum;
}

// The wait for the stores of two turns ago is part of the load ahead, which the last turn does not have.
EXHIBIT(store_waited_for_only_where_there_is_a_next_load) {
  __shared__ alignas(128) u32 input[2][32], output[2][32];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  constexpr u32 kTiles = 4;
  const auto load = [&](u32 i) {
    arrive_expect(&full[i % 2], 128);
    bulk_load(input[i % 2], a.in + i * 32, 128, &full[i % 2]);
  };
  if (lane_idx() == 0) load(0);
  for (u32 i = 0; i < kTiles; ++i) {
    if (lane_idx() == 0) {
      if (i + 1 < kTiles) load(i + 1);
      if (mended || i + 1 < kTiles) bulk_wait_read<1>();
    }
    __syncwarp();
    wait(&full[i % 2], i / 2 % 2);
    output[i % 2][lane_idx()] = input[i % 2][lane_idx()] * 3;
    fence_async_shared();
    __syncwarp();
    if (lane_idx() == 0) {
      bulk_store(a.out + i * 32, output[i % 2], 128);
      bulk_commit();
    }
  }
  if (lane_idx() == 0) bulk_wait<0>();
}

// Each group meets itself, and a thread of the first stores what both have written.
EXHIBIT(tile_of_two_groups_stored_when_one_has_met) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  fence_async_shared();
  named_sync(mended ? 1 : 1 + warp_idx(), mended ? 64 : 32);
  if (threadIdx.x == 0) {
    bulk_store(a.out, tile, 256);
    bulk_commit();
    bulk_wait<0>();
  }
}

// Zeros and what is added to them are two copies, which come in any order.
EXHIBIT(added_to_zeros_that_are_still_on_their_way) {
  __shared__ alignas(128) u32 tile[2][32];
  tile[0][lane_idx()] = 0;
  tile[1][lane_idx()] = a.in[lane_idx()];
  fence_async_shared();
  __syncwarp();
  if (lane_idx() == 0) {
    bulk_store(a.out, tile[0], 128);
    bulk_commit();
    if (mended) bulk_wait<0>();
    bulk_add(a.out, tile[1], 128);
    bulk_commit();
    bulk_wait<0>();
  }
}

// wgmma

namespace {

__device__ __forceinline__ void store_result(const Args& a, const float (&d)[4]) {
  for (u32 i = 0; i < 4; ++i) a.out[threadIdx.x * 4 + i] = __float_as_uint(d[i]);
}

}  // namespace

// Half of K lies beyond the sequence: its weights are zeros, and what they weigh is what was there.
EXHIBIT(unwritten_rows_weighted_with_zero) {
  __shared__ alignas(128) u32 weights[512];
  __shared__ alignas(128) u32 values[64];
  for (u32 i = threadIdx.x; i < 512; i += 128) weights[i] = i / 32 % 2 == 0 ? kOnes : 0;
  if (threadIdx.x < (mended ? 64 : 32)) values[threadIdx.x] = threadIdx.x < 32 ? kOnes : 0;
  fence_async_shared();
  __syncthreads();
  float d[4] = {};
  wgmma_fence();
  wgmma(d, wgmma_descriptor(weights), wgmma_descriptor(values), 0);
  wgmma_commit();
  wgmma_wait<0>();
  store_result(a, d);
}

// A stage holds one step of K; the second step is taken from the stage behind it.
EXHIBIT(descriptor_advanced_beyond_its_stage) {
  __shared__ alignas(128) u32 x[2][512];
  __shared__ alignas(128) u32 y[64];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  if (threadIdx.x < 64) y[threadIdx.x] = kOnes;
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < 2; ++i) {
      arrive_expect(&full[i], 2048);
      bulk_load(x[i], a.in + i * 512, 2048, &full[i]);
    }
  }
  __syncwarp();
  wait(&full[0], 0);
  float d[4] = {};
  wgmma_fence();
  wgmma(d, wgmma_descriptor(x[0]), wgmma_descriptor(y), 0);
  wgmma(d, wgmma_descriptor(x[mended ? 0 : 1]), wgmma_descriptor(y), 1);
  wgmma_commit();
  wgmma_wait<0>();
  wait(&full[1], 0);
  store_result(a, d);
}

// Clusters

// The tile has come by a multicast; what the peers send into it then meets those who still read it.
EXHIBIT(buffer_of_a_multicast_used_for_words_of_peers) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) arrive_expect(&full, 128);
  __syncwarp();
  cluster_sync();
  if (cluster_rank() == 0 && lane_idx() == 0) bulk_multicast(tile, a.in, 128, &full, 3);
  __syncwarp();
  wait_cluster(&full, 0);
  const u32 value = tile[lane_idx()];
  if (mended) cluster_sync();
  st_peer(peer(tile + lane_idx(), cluster_rank() ^ 1), value + cluster_rank());
  cluster_sync();
  a.out[cluster_rank() * 32 + lane_idx()] = tile[31 - lane_idx()];
}

// Who comes last adds up what the others have left in their shared memory.
EXHIBIT(last_cta_of_a_cluster_adds_up_without_a_fence) {
  __shared__ u32 part[32], count;
  if (lane_idx() == 0) count = 0;
  __syncwarp();
  cluster_sync();
  part[lane_idx()] = a.in[cluster_rank() * 32 + lane_idx()];
  __syncwarp();
  u32 before = 0;
  if (lane_idx() == 0) {
    if (mended) fence_cluster();
    before = atomicAdd(cg::this_cluster().map_shared_rank(&count, 0), 1);
    if (mended) fence_cluster();
  }
  before = __shfl_sync(0xffffffff, before, 0);
  __syncwarp();
  if (before == 3) {
    u32 sum = 0;
    for (u32 rank = 0; rank < 4; ++rank) sum += ld_peer(peer(part + lane_idx(), rank));
    a.out[lane_idx()] = sum;
  }
  __syncwarp();
  cluster_sync();
}

// st.async tells of its own bytes, not of what its thread has stored before.
EXHIBIT(words_stored_then_told_by_an_async_store) {
  __shared__ u32 words[33];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0 && cluster_rank() == 1) arrive_expect(&full, mended ? 132 : 4);
  __syncwarp();
  cluster_sync();
  if (cluster_rank() == 0) {
    if (mended) st_async(peer(words + lane_idx(), 1), a.in[lane_idx()], peer(&full, 1));
    else st_peer(peer(words + lane_idx(), 1), a.in[lane_idx()]);
    __syncwarp();
    if (lane_idx() == 0) st_async(peer(words + 32, 1), 7, peer(&full, 1));
  } else {
    wait_cluster(&full, 0);
    a.out[lane_idx()] = words[lane_idx()] + words[32];
  }
  __syncwarp();
  cluster_sync();
}

// .aligned promises that the warp comes as one.
EXHIBIT(aligned_cluster_barrier_from_two_branches) {
  __shared__ u32 word[32];
  word[lane_idx()] = a.in[lane_idx()];
  if (lane_idx() < 16) {
    if (mended) cluster_sync_unaligned();
    else cluster_sync();
  } else {
    __nanosleep(50);
    if (mended) cluster_sync_unaligned();
    else cluster_sync();
  }
  a.out[cluster_rank() * 32 + lane_idx()] = ld_peer(peer(word + 31 - lane_idx(), cluster_rank() ^ 1));
  __syncwarp();
  cluster_sync();
}
