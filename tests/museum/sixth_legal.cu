// SPDX-License-Identifier: Apache-2.0
//
// Legal programs of the sixth set.
#include "ptx.h"

namespace {

__device__ inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ inline void wait_for_the_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ inline void fence_sc_gpu() { asm volatile("fence.sc.gpu;" ::: "memory"); }

__device__ inline u32 exchange_acq_rel_gpu(u32* p, u32 v) {
  u32 old;
  asm volatile("atom.exch.acq_rel.gpu.global.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
}
__device__ inline u32 cas_acq_rel_gpu(u32* p, u32 expected, u32 v) {
  u32 old;
  asm volatile("atom.cas.acq_rel.gpu.global.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "l"(p), "r"(expected), "r"(v)
               : "memory");
  return old;
}

__device__ inline void bulk_multicast(void* to, const void* from, u32 bytes, u64* bar, u32 mask) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
      "[%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(bar)), "h"(static_cast<unsigned short>(mask))
      : "memory");
}

__device__ inline void add_four(u32* to, float x, float y, float z, float w) {
  asm volatile("red.relaxed.gpu.global.v4.f32.add [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(x), "f"(y), "f"(z),
               "f"(w)
               : "memory");
}

__device__ __forceinline__ void store_result(const Args& a, const float (&d)[4]) {
  for (u32 i = 0; i < 4; ++i) a.out[threadIdx.x * 4 + i] = __float_as_uint(d[i]);
}

}  // namespace

// Barriers

// fence.mbarrier_init is a release of the cluster, for barriers; the barrier of the cluster need not be one.
LEGAL(barriers_made_visible_by_a_relaxed_cluster_barrier) {
  __shared__ u32 word[32];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    bar_init(&full, 32);
    fence_init();
  }
  __syncwarp();
  cluster_arrive_relaxed();
  cluster_wait();
  const u32 other = cluster_rank() ^ 1;
  st_peer(peer(word + lane_idx(), other), a.in[lane_idx()]);
  arrive_peer(peer(&full, other));
  wait_cluster(&full, 0);
  a.out[cluster_rank() * 32 + lane_idx()] = word[lane_idx()];
  cluster_sync();
}

LEGAL(relaxed_arrivals_and_waits_between_fences) {
  __shared__ u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    tile[lane_idx()] = a.in[lane_idx()];
    fence_cta();
    arrive_relaxed(&full);
  } else {
    wait_relaxed(&full, 0);
    fence_cta();
    a.out[lane_idx()] = tile[lane_idx()];
  }
}

LEGAL(arrivals_are_counted_and_waits_have_a_limit) {
  __shared__ u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 64);
  tile[threadIdx.x] = a.in[threadIdx.x];
  const u64 token = arrive_token(&full);
  u32 pending, done = 0;
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(token));
  while (done == 0) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2, %3; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(shared_address(&full)), "l"(token), "r"(100)
                 : "memory");
  }
  a.out[threadIdx.x] = tile[63 - threadIdx.x] + (pending > 64 ? 1 : 0);
}

// Halves of a warp come to the cluster's barrier by themselves.
LEGAL(halves_of_a_warp_come_to_the_clusters_barrier) {
  __shared__ u32 word[32];
  word[lane_idx()] = a.in[lane_idx()];
  if (lane_idx() < 16) {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  } else {
    __nanosleep(50);
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  }
  a.out[cluster_rank() * 32 + lane_idx()] = ld_peer(peer(word + 31 - lane_idx(), cluster_rank() ^ 1));
  __syncwarp();
  cluster_sync();
}

// A stage with the number 0 is the last one.
LEGAL(last_stage_says_so) {
  __shared__ u32 stage[2];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 2);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 i = 0; i < 6; ++i) {
        wait(&empty[i % 2], i / 2 % 2 ^ 1);
        stage[i % 2] = i < 5 ? a.in[i] : 0;
        arrive(&full[i % 2]);
      }
    }
    return;
  }
  u32 sum = 0;
  for (u32 i = 0;; ++i) {
    wait(&full[i % 2], i / 2 % 2);
    const u32 number = stage[i % 2];
    __syncwarp();
    if (lane_idx() == 0) arrive(&empty[i % 2]);
    if (number == 0) break;
    sum += number;
  }
  a.out[threadIdx.x] = sum;
}

LEGAL(two_producers_expect_what_each_brings) {
  __shared__ alignas(128) u32 tile[96];
  __shared__ u64 full;
  init_all(&full, 1, 2);
  if (threadIdx.x == 0) {
    arrive_expect(&full, 128);
    bulk_load(tile, a.in, 128, &full);
  } else if (threadIdx.x == 32) {
    bulk_load(tile + 32, a.in + 64, 256, &full);
    arrive_expect(&full, 256);
  } else if (warp_idx() == 2) {
    wait(&full, 0);
    for (u32 i = lane_idx(); i < 96; i += 32) a.out[i] = tile[i];
  }
  __syncthreads();
}

LEGAL(halves_of_a_warp_wait_for_two_warps) {
  __shared__ u32 tile[2][16];
  __shared__ u64 full[2];
  init_all(full, 2, 16);
  if (warp_idx() < 2) {
    if (lane_idx() < 16) {
      tile[warp_idx()][lane_idx()] = a.in[threadIdx.x];
      arrive(&full[warp_idx()]);
    }
    return;
  }
  u32 value;
  if (lane_idx() < 16) {
    wait(&full[0], 0);
    value = tile[0][lane_idx()];
  } else {
    wait(&full[1], 0);
    value = tile[1][lane_idx() - 16];
  }
  __syncwarp();
  a.out[lane_idx()] = __shfl_xor_sync(0xffffffff, value, 16);
}

// The lanes of one warp are both sides of a ring.
LEGAL(one_lane_produces_for_the_others) {
  __shared__ u32 stage[2];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 31);
  u32 sum = 0;
  if (lane_idx() == 0) {
    for (u32 i = 0; i < 4; ++i) {
      wait(&empty[i % 2], i / 2 % 2 ^ 1);
      stage[i % 2] = a.in[i];
      arrive(&full[i % 2]);
    }
  } else {
    for (u32 i = 0; i < 4; ++i) {
      wait(&full[i % 2], i / 2 % 2);
      sum += stage[i % 2];
      arrive(&empty[i % 2]);
    }
  }
  __syncwarp();
  a.out[lane_idx()] = sum;
}

// One number for two groups of different sizes, one after the other.
LEGAL(number_of_a_barrier_used_by_two_groups) {
  __shared__ u32 tile[128];
  tile[threadIdx.x] = a.in[threadIdx.x];
  u32 value = 0;
  if (warp_idx() < 2) {
    named_sync(1, 64);
    value = tile[63 - threadIdx.x];
  }
  __syncthreads();
  tile[threadIdx.x] = value + threadIdx.x;
  if (warp_idx() != 0) {
    named_sync(1, 96);
    value = tile[159 - threadIdx.x];
  }
  a.out[threadIdx.x] = value;
}

LEGAL(ring_of_named_barriers) {
  __shared__ u32 stage[2][32];
  u32 sum = 0;
  for (u32 i = 0; i < 5; ++i) {
    const u32 full = 1 + i % 2, empty = 3 + i % 2;
    if (warp_idx() == 0) {
      if (i >= 2) named_sync(empty, 64);
      stage[i % 2][lane_idx()] = a.in[i * 32 + lane_idx()];
      named_arrive(full, 64);
    } else {
      named_sync(full, 64);
      sum += stage[i % 2][31 - lane_idx()];
      if (i < 3) named_arrive(empty, 64);
    }
  }
  a.out[threadIdx.x] = sum;
}

// Flags, locks and counters

LEGAL(warps_meet_by_flags_of_rounds) {
  __shared__ u32 flags[2][4], tile[128];
  if (threadIdx.x < 8) flags[threadIdx.x / 4][threadIdx.x % 4] = 0;
  __syncthreads();
  tile[threadIdx.x] = a.in[threadIdx.x];
  __syncwarp();
  if (lane_idx() == 0) {
    for (u32 round = 0; round < 2; ++round) {
      __threadfence_block();
      st_shared_volatile(&flags[round][(warp_idx() + (1 << round)) % 4], 1);
      while (ld_shared_volatile(&flags[round][warp_idx()]) == 0) {
      }
      __threadfence_block();
    }
  }
  __syncwarp();
  a.out[threadIdx.x] = tile[127 - threadIdx.x];
}

LEGAL(polled_by_an_atomic_of_nothing) {
  u32* flag = a.scratch + 64;
  if (blockIdx.x == 0) {
    a.scratch[lane_idx()] = a.in[lane_idx()];
    __threadfence();
    __syncwarp();
    if (lane_idx() == 0) atomicExch(flag, 1);
    return;
  }
  if (lane_idx() == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
  }
  __syncwarp();
  a.out[lane_idx()] = a.scratch[lane_idx()];
}

LEGAL(vector_sums_of_blocks) {
  add_four(a.scratch + lane_idx() * 4, 1, 2, 3, 4);
  __syncwarp();
  u32 before = 0;
  if (lane_idx() == 0) {
    __threadfence();
    before = atomicAdd(a.scratch + 256, 1);
    __threadfence();
  }
  before = __shfl_sync(0xffffffff, before, 0);
  if (before + 1 != gridDim.x) return;
  __syncwarp();
  for (u32 i = 0; i < 4; ++i) a.out[lane_idx() * 4 + i] = ld_weak(a.scratch + lane_idx() * 4 + i);
}

LEGAL(sums_go_up_a_tree) {
  u32* sums = a.scratch;
  u32* flags = a.scratch + 512;
  u32 sum = a.in[blockIdx.x * 32 + lane_idx()];
  for (u32 step = 1; step < gridDim.x; step *= 2) {
    if (blockIdx.x % (2 * step) != 0) {
      sums[blockIdx.x * 32 + lane_idx()] = sum;
      __syncwarp();
      if (lane_idx() == 0) st_release_gpu(flags + blockIdx.x, 1);
      return;
    }
    while (ld_acquire_gpu(flags + blockIdx.x + step) == 0) {
    }
    sum += sums[(blockIdx.x + step) * 32 + lane_idx()];
  }
  a.out[lane_idx()] = sum;
}

LEGAL(petersons_lock) {
  if (threadIdx.x != 0) return;
  const u32 me = blockIdx.x, other = 1 - me;
  u32* wants = a.scratch;
  u32* turn = a.scratch + 2;
  u32* count = a.scratch + 64;
  for (u32 i = 0; i < 2; ++i) {
    st_relaxed_gpu(wants + me, 1);
    fence_sc_gpu();
    st_relaxed_gpu(turn, other);
    fence_sc_gpu();
    while (ld_acquire_gpu(wants + other) == 1 && ld_acquire_gpu(turn) == other) {
    }
    st_weak(count, ld_weak(count) + 1);
    st_release_gpu(wants + me, 0);
  }
}

LEGAL(lock_with_a_queue) {
  if (threadIdx.x != 0) return;
  const u32 me = blockIdx.x;
  u32* tail = a.scratch;
  u32* next = a.scratch + 16;
  u32* waits = a.scratch + 32;
  u32* count = a.scratch + 64;
  st_relaxed_gpu(next + me, 0);
  st_relaxed_gpu(waits + me, 1);
  const u32 before = exchange_acq_rel_gpu(tail, me + 1);
  if (before != 0) {
    st_release_gpu(next + before - 1, me + 1);
    while (ld_acquire_gpu(waits + me) != 0) {
    }
  }
  st_weak(count, ld_weak(count) + 1);
  u32 successor = ld_acquire_gpu(next + me);
  if (successor == 0) {
    if (cas_acq_rel_gpu(tail, me + 1, 0) == me + 1) return;
    while ((successor = ld_acquire_gpu(next + me)) == 0) {
    }
  }
  st_release_gpu(waits + successor - 1, 0);
}

LEGAL(lock_of_sixteen_bits) {
  auto* lock = reinterpret_cast<unsigned short*>(a.scratch + 64) + 1;
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, static_cast<unsigned short>(0), static_cast<unsigned short>(1)) != 0) __nanosleep(20);
    __threadfence();
    st_weak(a.scratch, ld_weak(a.scratch) + 1);
    __threadfence();
    atomicCAS(lock, static_cast<unsigned short>(1), static_cast<unsigned short>(0));
  }
}

// A record of 16 bytes goes over whole.
LEGAL(exchanged_in_sixteen_bytes) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    asm volatile(
        "{.reg .b128 o, n; mov.b128 n, {%0, %1}; atom.relaxed.gpu.global.exch.b128 o, [%2], n;}" ::"l"(u64{7}),
        "l"(u64{9}), "l"(a.scratch)
        : "memory");
    return;
  }
  u64 low = 0, high = 0;
  while (low == 0)
    asm volatile(
        "{.reg .b128 o, z; mov.b128 z, {%3, %3}; atom.relaxed.gpu.global.cas.b128 o, [%2], z, z; mov.b128 {%0, "
        "%1}, o;}"
        : "=l"(low), "=l"(high)
        : "l"(a.scratch), "l"(u64{0})
        : "memory");
  a.out[0] = static_cast<u32>(low);
  a.out[1] = static_cast<u32>(high);
}

LEGAL(launch_that_stores_by_a_copy) {
  __shared__ alignas(128) u32 tile[32];
  launch_dependents();
  tile[lane_idx()] = a.in[lane_idx()];
  fence_async_shared();
  __syncwarp();
  if (lane_idx() == 0) {
    bulk_store(a.scratch, tile, 128);
    bulk_commit();
    bulk_wait_read<0>();
  }
}

LEGAL(dependent_launch_reads_what_a_copy_stored) {
  wait_for_the_launch_before();
  a.out[lane_idx()] = a.scratch[lane_idx()];
}

LEGAL(launch_that_raises_a_flag) {
  launch_dependents();
  a.scratch[lane_idx()] = a.in[lane_idx()];
  __syncwarp();
  if (lane_idx() == 0) st_release_gpu(a.scratch + 64, 1);
}

// Launches that run at the same time may speak to each other like CTAs of one.
LEGAL(dependent_launch_takes_a_flag) {
  while (ld_acquire_gpu(a.scratch + 64) == 0) {
  }
  a.out[lane_idx()] = a.scratch[lane_idx()];
}

// Copies

LEGAL(copy_from_a_peer_multiplied) {
  __shared__ alignas(128) u32 staged[512], x[512], y[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  for (u32 i = threadIdx.x; i < 512; i += 128) staged[i] = kOnes;
  if (threadIdx.x < 64) y[threadIdx.x] = kOnes;
  fence_async_shared();
  if (threadIdx.x == 0) arrive_expect(&full, 2048);
  __syncwarp();
  cluster_sync();
  const u32 other = cluster_rank() ^ 1;
  if (threadIdx.x == 0) bulk_to_peer(peer(x, other), staged, 2048, peer(&full, other));
  __syncwarp();
  wait_cluster(&full, 0);
  float d[4] = {};
  wgmma_fence();
  wgmma(d, wgmma_descriptor(x), wgmma_descriptor(y), 0);
  wgmma_commit();
  wgmma_wait<0>();
  if (cluster_rank() == 0) store_result(a, d);
  cluster_sync();
}

LEGAL(tile_read_while_it_is_stored) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out, tile, 256);
    bulk_commit();
  }
  a.out[64 + threadIdx.x] = tile[63 - threadIdx.x];
  if (threadIdx.x == 0) bulk_wait<0>();
}

LEGAL(operand_stored_while_it_is_multiplied) {
  __shared__ alignas(128) u32 x[512], y[64];
  for (u32 i = threadIdx.x; i < 512; i += 128) x[i] = kOnes;
  if (threadIdx.x < 64) y[threadIdx.x] = kOnes;
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.scratch, x, 2048);
    bulk_commit();
  }
  __syncwarp();
  float d[4] = {};
  wgmma_fence();
  wgmma(d, wgmma_descriptor(x), wgmma_descriptor(y), 0);
  wgmma_commit();
  wgmma_wait<0>();
  store_result(a, d);
  if (threadIdx.x == 0) bulk_wait<0>();
}

// Half a line is loaded by a copy, the other half is written by another CTA.
LEGAL(line_shared_by_a_copy_and_by_stores) {
  __shared__ alignas(128) u32 tile[16];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (blockIdx.x == 1) {
    if (lane_idx() < 16) a.scratch[16 + lane_idx()] = lane_idx();
    return;
  }
  if (lane_idx() == 0) {
    arrive_expect(&full, 64);
    bulk_load(tile, a.scratch, 64, &full);
  }
  __syncwarp();
  wait(&full, 0);
  if (lane_idx() < 16) a.out[lane_idx()] = tile[lane_idx()];
}

LEGAL(line_shared_by_read_only_loads_and_by_stores) {
  if (blockIdx.x == 1) {
    if (lane_idx() < 16) a.scratch[16 + lane_idx()] = lane_idx();
    return;
  }
  if (lane_idx() < 16) a.out[lane_idx()] = ld_nc(a.scratch + lane_idx());
}

LEGAL(multicast_to_none_but_itself) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, 128);
    bulk_multicast(tile, a.in + cluster_rank() * 32, 128, &full, 1 << cluster_rank());
  }
  __syncwarp();
  wait(&full, 0);
  a.out[cluster_rank() * 32 + lane_idx()] = tile[lane_idx()];
}
