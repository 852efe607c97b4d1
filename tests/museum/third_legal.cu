// SPDX-License-Identifier: Apache-2.0
//
// Legal programs of the third set: what looks odd and is right.
#include "ptx.h"

#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

namespace {

__device__ inline bool elect_of(u32 mask) {
  u32 is;
  asm volatile("{.reg .pred p; elect.sync _|p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(is) : "r"(mask));
  return is != 0;
}

}  // namespace

// Warps and named barriers

// The halves of a warp come to one barrier from two branches.
LEGAL(halves_of_a_warp_meet_at_one_barrier) {
  __shared__ u32 tile[64];
  tile[threadIdx.x] = threadIdx.x;
  if (lane_idx() < 16) named_sync(1, 64);
  else named_sync(1, 64);
  a.out[threadIdx.x] = tile[63 - threadIdx.x];
}

LEGAL(halves_of_a_warp_meet_apart) {
  __shared__ u32 tile[32];
  tile[lane_idx()] = lane_idx();
  if (lane_idx() < 16) {
    __syncwarp(0x0000ffff);
    a.out[lane_idx()] = tile[15 - lane_idx()];
  } else {
    __syncwarp(0xffff0000);
    a.out[lane_idx()] = tile[47 - lane_idx()];
  }
}

// One of each half is elected under a mask of its half.
LEGAL(each_half_elects) {
  if (lane_idx() < 16) {
    if (elect_of(0x0000ffff)) a.out[0] = 1;
  } else if (elect_of(0xffff0000)) {
    a.out[1] = 2;
  }
}

// The same lane is elected each time, so that it may commit and wait for what it has issued before.
LEGAL(elected_anew_for_each_step) {
  __shared__ alignas(128) u32 tile[256];
  for (u32 i = lane_idx(); i < 256; i += 32) tile[i] = i;
  fence_async_shared();
  __syncwarp();
  if (elect()) tma_store(a.store, 0, 0, tile);
  __syncwarp();
  if (elect()) bulk_commit();
  __syncwarp();
  if (elect()) bulk_wait_read<0>();
  __syncwarp();
  for (u32 i = lane_idx(); i < 256; i += 32) tile[i] = 0;
  if (elect()) bulk_wait<0>();
}

// Three warps arrive and go on, one waits for them.
LEGAL(many_arrive_at_a_named_barrier) {
  __shared__ u32 part[4];
  for (u32 turn = 0; turn < 3; ++turn) {
    if (warp_idx() < 3) {
      if (lane_idx() == 0) part[warp_idx()] = turn + warp_idx();
      __syncwarp();
      named_arrive(2, 128);
      named_sync(3, 128);
    } else {
      named_sync(2, 128);
      if (lane_idx() == 0) a.out[turn] = part[0] + part[1] + part[2];
      __syncwarp();
      named_sync(3, 128);
    }
  }
}

LEGAL(votes_until_all_are_done) {
  u32 left = a.in[lane_idx()] % 5, turns = 0;
  while (__any_sync(0xffffffff, left != 0)) {
    if (left != 0) --left;
    ++turns;
  }
  a.out[lane_idx()] = turns;
}

// Lanes leave a loop one by one; those that stay agree on a mask of who is there.
LEGAL(mask_of_those_who_stay) {
  u32 mask = 0xffffffff, sum = 0;
  for (u32 turn = 0; turn < 4; ++turn) {
    mask = __ballot_sync(mask, lane_idx() / 8 >= turn);
    if (lane_idx() / 8 < turn) break;
    sum += __reduce_add_sync(mask, 1);
  }
  a.out[lane_idx()] = sum;
}

LEGAL(votes_of_a_named_barrier) {
  u32 count = 0;
  if (warp_idx() < 2)
    asm volatile("{.reg .pred p; setp.lt.u32 p, %1, 40; barrier.red.popc.u32 %0, 1, 64, p;}"
                 : "=r"(count)
                 : "r"(threadIdx.x)
                 : "memory");
  else named_sync(2, 64);
  a.out[threadIdx.x] = count;
}

// A warp that has left counts as one that has come.
LEGAL(barrier_of_a_block_whose_last_warps_have_left) {
  __shared__ u32 tile[32];
  if (warp_idx() > 1) return;
  if (warp_idx() == 1) tile[lane_idx()] = lane_idx();
  const u32 any = __syncthreads_or(lane_idx() == 3 && warp_idx() == 0);
  if (warp_idx() == 0) a.out[lane_idx()] = tile[lane_idx()] + any;
}

// Shared memory

LEGAL(neighbours_write_bytes_of_a_word) {
  __shared__ unsigned char bytes[64];
  bytes[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x < 16) a.out[threadIdx.x] = reinterpret_cast<u32*>(bytes)[threadIdx.x];
}

LEGAL(one_buffer_under_two_types) {
  union Buffer {
    u32 words[64];
    unsigned short halves[128];
  };
  __shared__ Buffer buffer;
  buffer.words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const u32 mine = buffer.words[63 - threadIdx.x];
  __syncthreads();
  buffer.halves[threadIdx.x * 2] = static_cast<unsigned short>(mine);
  buffer.halves[threadIdx.x * 2 + 1] = 7;
  __syncthreads();
  a.out[threadIdx.x] = buffer.words[63 - threadIdx.x];
}

// The block spins on a counter of its own instead of a barrier.
LEGAL(barrier_of_atomics) {
  __shared__ u32 count;
  __shared__ u32 tile[64];
  cuda::atomic_ref<u32, cuda::thread_scope_block> arrived(count);
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (u32 turn = 0; turn < 3; ++turn) {
    tile[threadIdx.x] = turn + threadIdx.x;
    arrived.fetch_add(1, cuda::memory_order_acq_rel);
    while (arrived.load(cuda::memory_order_acquire) < 128 * turn + 64) {
    }
    a.out[turn * 64 + threadIdx.x] = tile[63 - threadIdx.x];
    arrived.fetch_add(1, cuda::memory_order_acq_rel);
    while (arrived.load(cuda::memory_order_acquire) < 128 * turn + 128) {
    }
  }
}

LEGAL(volatile_reduction_with_syncwarp) {
  __shared__ volatile u32 sums[32];
  sums[lane_idx()] = a.in[lane_idx()];
  __syncwarp();
  for (u32 step = 16; step > 0; step /= 2) {
    if (lane_idx() < step) sums[lane_idx()] = sums[lane_idx()] + sums[lane_idx() + step];
    __syncwarp();
  }
  a.out[lane_idx()] = sums[0];
}

// mbarriers

// For every tile the barriers are made anew.
LEGAL(barrier_made_anew_for_each_tile) {
  __shared__ u64 bar;
  __shared__ u32 word;
  for (u32 turn = 0; turn < 3; ++turn) {
    init_all(&bar, 1, 32);
    if (warp_idx() == 0) {
      if (lane_idx() == 0) word = turn;
      arrive(&bar);
    } else {
      wait(&bar, 0);
      a.out[turn * 32 + lane_idx()] = word;
    }
    __syncthreads();
    if (threadIdx.x == 0) bar_inval(&bar);
    __syncthreads();
  }
}

// Whichever is ready first is taken first.
LEGAL(two_barriers_polled_in_turn) {
  __shared__ u64 full[2];
  __shared__ u32 word[2];
  init_all(full, 2, 1);
  if (warp_idx() < 2) {
    if (lane_idx() == 0) {
      word[warp_idx()] = 5 + warp_idx();
      arrive(&full[warp_idx()]);
    }
  } else if (lane_idx() == 0) {
    u32 seen = 0, sum = 0;
    for (u32 i = 0; seen != 3; i ^= 1) {
      if ((seen >> i & 1) == 0 && test_wait(&full[i], 0)) {
        seen |= 1 << i;
        sum += word[i];
      }
    }
    a.out[0] = sum;
  }
}

LEGAL(one_arrives_for_its_warp) {
  __shared__ u64 bar;
  __shared__ u32 tile[64];
  init_all(&bar, 1, 64);
  tile[threadIdx.x] = threadIdx.x;
  __syncwarp();
  if (lane_idx() == 0) arrive_n(&bar, 32);
  wait(&bar, 0);
  a.out[threadIdx.x] = tile[63 - threadIdx.x];
}

LEGAL(arrivals_that_may_not_complete) {
  __shared__ u64 bar;
  init_all(&bar, 1, 33);
  u64 token;
  asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 1;"
               : "=l"(token)
               : "r"(shared_address(&bar))
               : "memory");
  __syncwarp();
  if (lane_idx() == 0) arrive(&bar);
  wait_token(&bar, token);
  a.out[lane_idx()] = 1;
}

// The thread that has waited tells the others by a named barrier.
LEGAL(one_waits_for_a_copy_and_all_meet) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, 256);
    bulk_load(tile, a.in, 256, &full);
    wait(&full, 0);
  }
  named_sync(1, 64);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

// Writers fence and arrive; the one that stores waits on the mbarrier.
LEGAL(store_behind_an_mbarrier) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 64);
  if (warp_idx() < 2) {
    for (u32 i = threadIdx.x; i < 256; i += 64) tile[i] = i;
    fence_async_shared();
    arrive(&full);
  } else if (lane_idx() == 0) {
    wait(&full, 0);
    tma_store(a.store, 16, 16, tile);
    bulk_commit();
    bulk_wait<0>();
  }
}

// Copies

LEGAL(hints_and_prefetches) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    u64 policy;
    asm volatile("prefetch.tensormap [%0];" ::"l"(a.load) : "memory");
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %1}];" ::"l"(a.load), "r"(0)
                 : "memory");
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 256;" ::"l"(a.in) : "memory");
    arrive_expect(&full, kBoxBytes);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1, {%2, %2}], [%3], %4;" ::"r"(shared_address(tile)),
        "l"(a.load), "r"(0), "r"(shared_address(&full)), "l"(policy)
        : "memory");
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

// Bulk sums of two CTAs into one row.
LEGAL(bulk_sums_of_two_blocks) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = threadIdx.x;
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 256;" ::"l"(a.out),
                 "r"(shared_address(tile))
                 : "memory");
    bulk_commit();
    bulk_wait<0>();
  }
}

// Two threads have stores of their own in flight, each with groups of its own.
LEGAL(two_threads_store) {
  __shared__ alignas(128) u32 tile[2][256];
  for (u32 turn = 0; turn < 2; ++turn) {
    if (lane_idx() == 0) bulk_wait_read<0>();
    __syncwarp();
    for (u32 i = lane_idx(); i < 256; i += 32) tile[warp_idx()][i] = i + turn;
    fence_async_shared();
    __syncwarp();
    if (lane_idx() == 0) {
      tma_store(a.store, static_cast<int>(turn) * 16, static_cast<int>(warp_idx()) * 16, tile[warp_idx()]);
      bulk_commit();
    }
  }
  if (lane_idx() == 0) bulk_wait<0>();
}

// Sources that are not there are never touched when nothing is copied of them.
LEGAL(zero_fill_of_a_tail) {
  __shared__ alignas(16) u32 tile[32][4];
  const bool inside = lane_idx() < 20;
  const u32* from = inside ? a.in + lane_idx() * 4 : a.in + (1u << 20);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(&tile[lane_idx()])),
               "l"(from), "r"(inside ? 16u : 0u)
               : "memory");
  cp_async_commit();
  cp_async_wait<0>();
  a.out[lane_idx()] = tile[lane_idx()][2];
}

// cp.async that count on the barrier without .noinc, so that they leave the thread's own arrival to it.
LEGAL(cp_async_arrives_beside_its_thread) {
  __shared__ alignas(16) u32 tile[32][4];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    cp_async(&tile[lane_idx()], a.in + lane_idx() * 4);
    cp_async_arrive(&full);
    arrive(&full);
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = tile[31 - lane_idx()][0];
  }
}

LEGAL(replaced_map_published_by_its_proxy) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  for (u32 turn = 0; turn < 2; ++turn) {
    if (lane_idx() < 16) map[lane_idx()] = a.load->words[lane_idx()];
    __syncwarp();
    if (lane_idx() == 0)
      asm volatile(
          "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared_address(map)),
          "l"(a.in + 1024 * turn)
          : "memory");
    __syncwarp();
    asm volatile(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
        "128;" ::"l"(a.scratch),
        "r"(shared_address(map))
        : "memory");
    if (lane_idx() == 0) {
      asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(a.scratch) : "memory");
      arrive_expect(&full, kBoxBytes);
      tma_load(tile, reinterpret_cast<const TensorMap*>(a.scratch), 0, 0, &full);
    }
    wait(&full, turn);
    a.out[turn * 32 + lane_idx()] = tile[lane_idx()];
    fence_async_shared();
    __syncwarp();
  }
}

// The next map is for another CTA, which acquires it after a flag.
LEGAL(map_made_for_another_block) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  auto* words = reinterpret_cast<u64*>(a.scratch);
  if (blockIdx.x == 0) {
    if (lane_idx() < 16) words[lane_idx()] = a.load->words[lane_idx()];
    __syncwarp();
    if (lane_idx() == 0) {
      asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
      st_release_gpu(a.scratch + 64, 1);
    }
  } else if (lane_idx() == 0) {
    while (ld_acquire_gpu(a.scratch + 64) == 0) {
    }
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(words) : "memory");
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, reinterpret_cast<const TensorMap*>(words), 0, 0, &full);
    wait(&full, 0);
    a.out[0] = tile[5];
  }
}

// wgmma

namespace {

struct Tiles {
  alignas(1024) u32 a[512];
  alignas(256) u32 b[64];
};

__device__ __forceinline__ void fill(Tiles& t) {
  for (u32 i = threadIdx.x; i < 512; i += blockDim.x) t.a[i] = kOnes;
  for (u32 i = threadIdx.x; i < 64; i += blockDim.x) t.b[i] = kOnes;
  fence_async_shared();
}

}  // namespace

// One warp waits for the operand, and the warpgroup meets.
LEGAL(warpgroup_meets_behind_one_wait) {
  __shared__ Tiles t;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  fill(t);
  __syncthreads();
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      arrive_expect(&full, 2048);
      bulk_load(t.a, a.in, 2048, &full);
    }
    __syncwarp();
    wait(&full, 0);
  }
  named_sync(1, 128);
  float d[4];
  wgmma_fence();
  wgmma(d, wgmma_descriptor(t.a), wgmma_descriptor(t.b), 0);
  wgmma_commit();
  wgmma_wait<0>();
  a.out[threadIdx.x] = __float_as_uint(d[0]) & 1;
}

// Two results in turn: while one is multiplied the other is stored.
LEGAL(two_results_take_turns) {
  __shared__ Tiles t;
  fill(t);
  __syncthreads();
  float even[4], odd[4];
  wgmma_fence();
  wgmma(even, wgmma_descriptor(t.a), wgmma_descriptor(t.b), 0);
  wgmma_commit();
  wgmma(odd, wgmma_descriptor(t.a), wgmma_descriptor(t.b), 0);
  wgmma_commit();
  wgmma_wait<1>();
  a.out[threadIdx.x] = __float_as_uint(even[0]);
  wgmma_fence();
  wgmma(even, wgmma_descriptor(t.a), wgmma_descriptor(t.b), 1);
  wgmma_commit();
  wgmma_wait<1>();
  a.out[128 + threadIdx.x] = __float_as_uint(odd[1]);
  wgmma_wait<0>();
  a.out[256 + threadIdx.x] = __float_as_uint(even[0]);
}

// The result goes through shared memory to a bulk store, over the operand that it came from.
LEGAL(result_over_its_operand) {
  __shared__ Tiles t;
  fill(t);
  __syncthreads();
  float d[4];
  wgmma_fence();
  wgmma(d, wgmma_descriptor(t.a), wgmma_descriptor(t.b), 0);
  wgmma_commit();
  wgmma_wait<0>();
  __syncthreads();
  for (u32 i = 0; i < 4; ++i) t.a[i * 128 + threadIdx.x] = __float_as_uint(d[i]);
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out, t.a, 2048);
    bulk_commit();
    bulk_wait<0>();
  }
}

// Clusters

// Words go round a ring of four CTAs.
LEGAL(words_go_round_a_ring) {
  __shared__ alignas(16) u32 word;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  const u32 next = (cluster_rank() + 1) % 4;
  if (threadIdx.x == 0) {
    arrive_expect(&full, 4);
    u32 value = 100;
    if (cluster_rank() != 0) {
      wait_cluster(&full, 0);
      value = ld_shared(&word) + 1;
    }
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(peer(&word, next)),
        "r"(value), "r"(peer(&full, next))
        : "memory");
    if (cluster_rank() == 0) {
      wait_cluster(&full, 0);
      a.out[0] = ld_shared(&word);
    }
  }
  cluster_sync();
}

// One CTA loads for both; the peer expects its own bytes and hands its credit back.
LEGAL(one_cta_loads_for_both) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, 2);
  cluster_sync();
  for (u32 turn = 0; turn < 3; ++turn) {
    if (threadIdx.x == 0) arrive_expect(&full, kBoxBytes);
    if (threadIdx.x == 0 && cluster_rank() == 0) {
      wait_cluster(&empty, turn % 2 ^ 1);
      tma_load_multicast(tile, a.load, static_cast<int>(turn) * 16, 0, &full, 3);
    }
    __syncwarp();
    wait_cluster(&full, turn % 2);
    a.out[(turn * 2 + cluster_rank()) * 32 + threadIdx.x] = tile[threadIdx.x];
    fence_async_shared();
    __syncwarp();
    if (threadIdx.x == 0) arrive_peer(peer(&empty, 0));
  }
  cluster_sync();
}

// Sums of a cluster in the memory of its first CTA.
LEGAL(cluster_adds_up_in_its_first_cta) {
  __shared__ u32 sum;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) sum = 0;
  cluster.sync();
  atomicAdd(cluster.map_shared_rank(&sum, 0), a.in[blockIdx.x * 32 + threadIdx.x]);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) a.out[0] = sum;
}

// Two barriers of the cluster, of which the second is waited for where the CTA ends.
LEGAL(last_cluster_barrier_waited_for_at_the_end) {
  __shared__ u32 tile[32];
  tile[threadIdx.x] = cluster_rank() * 100 + threadIdx.x;
  cluster_sync();
  const u32 theirs = ld_peer(peer(&tile[31 - threadIdx.x], cluster_rank() ^ 1));
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  a.out[cluster_rank() * 32 + threadIdx.x] = theirs;
  cluster_wait();
}

// Global memory

LEGAL(pointer_published) {
  if (threadIdx.x != 0) return;
  auto* slot = reinterpret_cast<u64*>(a.scratch + 256);
  cuda::atomic_ref<u64, cuda::thread_scope_device> published(*slot);
  if (blockIdx.x == 0) {
    u32* node = a.scratch + 16;
    node[0] = 3;
    node[1] = 4;
    published.store(reinterpret_cast<u64>(node), cuda::memory_order_release);
  } else {
    u64 seen = 0;
    while ((seen = published.load(cuda::memory_order_acquire)) == 0) {
    }
    const u32* node = reinterpret_cast<const u32*>(seen);
    a.out[0] = node[0] + node[1];
  }
}

LEGAL(queue_between_two_blocks) {
  if (threadIdx.x != 0) return;
  u32 *head = a.scratch + 64, *tail = a.scratch + 128;
  for (u32 i = 0; i < 6; ++i) {
    if (blockIdx.x == 0) {
      while (i - ld_acquire_gpu(tail) == 2) __nanosleep(20);
      a.scratch[i % 2] = 10 + i;
      st_release_gpu(head, i + 1);
    } else {
      while (ld_acquire_gpu(head) == i) __nanosleep(20);
      a.out[i] = a.scratch[i % 2];
      st_release_gpu(tail, i + 1);
    }
  }
}

// Each sees the other, or the other sees it.
LEGAL(two_flags_and_a_sequential_fence) {
  if (threadIdx.x != 0) return;
  u32 *mine = a.scratch + blockIdx.x * 32, *other = a.scratch + (blockIdx.x ^ 1) * 32;
  st_relaxed_gpu(mine, 1);
  asm volatile("fence.sc.gpu;" ::: "memory");
  if (ld_relaxed_gpu(other) == 0) atomicOr(a.scratch + 64, 1u);
  a.out[blockIdx.x] = 1;
}

// The last block finds all parts and leaves the counter as it found it.
LEGAL(last_block_leaves_the_counter_at_zero) {
  __shared__ bool is_last;
  a.scratch[64 + blockIdx.x * 64 + threadIdx.x] = blockIdx.x + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) is_last = add_acq_rel_gpu(a.scratch, 1) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  u32 sum = 0;
  for (u32 i = 0; i < gridDim.x; ++i) sum += a.scratch[64 + i * 64 + threadIdx.x];
  a.out[threadIdx.x] = sum;
  if (threadIdx.x == 0) a.scratch[0] = 0;
}

// libcu++

LEGAL(pipeline_with_unified_roles) {
  __shared__ alignas(16) u32 tile[3][64][4];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  u32 asked = 0;
  for (u32 turn = 0; turn < 5; ++turn) {
    for (; asked < 5 && asked < turn + 3; ++asked) {
      pipe.producer_acquire();
      cuda::memcpy_async(&tile[asked % 3][threadIdx.x], a.in + asked * 256 + threadIdx.x * 4,
                         cuda::aligned_size_t<16>(16), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    a.out[turn * 64 + threadIdx.x] = tile[turn % 3][63 - threadIdx.x][0];
    pipe.consumer_release();
  }
}

LEGAL(barrier_object_by_parity) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ u32 word;
  if (threadIdx.x == 0) init(&bar, 32);
  __syncthreads();
  for (u32 turn = 0; turn < 2; ++turn) {
    if (warp_idx() == 0) {
      if (lane_idx() == 0) word = turn;
      (void)bar.arrive();
    }
    bar.wait_parity(turn % 2 != 0);
    a.out[turn * 64 + threadIdx.x] = word;
    __syncthreads();
  }
}

// Dependent launches

LEGAL(dependent_launch_prepares_before_it_waits) {
  __shared__ u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  a.out[1024 + blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  a.out[blockIdx.x * 64 + threadIdx.x] = a.scratch[blockIdx.x * 64 + threadIdx.x] + tile[threadIdx.x];
}

LEGAL(dependent_launch_of_other_memory) { a.out[blockIdx.x * 64 + threadIdx.x] = a.in[threadIdx.x]; }

LEGAL(launch_that_fills_for_a_legal_one) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  for (u32 i = 0; i < 200; ++i) __nanosleep(100);
  a.scratch[blockIdx.x * 64 + threadIdx.x] = threadIdx.x + 1;
}

LEGAL(registers_taken_by_two_groups) {
  if (warp_idx() < 4) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  }
  a.out[threadIdx.x] = warp_idx();
}
