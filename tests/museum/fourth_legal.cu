// SPDX-License-Identifier: Apache-2.0
//
// Legal programs of the fourth set: the same parts of kernels as its bugs, put together in other ways.
#include "ptx.h"

#include <cuda/atomic>

namespace {

__device__ inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ inline void wait_for_the_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

__device__ inline void st_async(u32 to, u32 value, u32 bar) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(to), "r"(value),
               "r"(bar)
               : "memory");
}

__device__ inline void bulk_add(void* to, const void* from, u32 bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}

}  // namespace

LEGAL(stream_k_in_turn) {
  u32* turn = a.scratch + 1024;
  if (blockIdx.x != 0) {
    if (threadIdx.x == 0) {
      while (ld_relaxed_gpu(turn) != blockIdx.x) __nanosleep(20);
      fence_gpu();
    }
    __syncthreads();
  }
  a.scratch[threadIdx.x] += blockIdx.x + 1;
  if (blockIdx.x == gridDim.x - 1) {
    a.out[threadIdx.x] = a.scratch[threadIdx.x];
    return;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicExch(turn, blockIdx.x + 1);
  }
}

LEGAL(ring_of_four_stages_by_cp_async) {
  __shared__ alignas(16) u32 stage[4][64][4];
  const u32 steps = a.in[4];  // 5
  for (u32 k = 0; k < 3; ++k) {
    if (k < steps) cp_async(stage[k][threadIdx.x], a.in + k * 256 + threadIdx.x * 4);
    cp_async_commit();
  }
  u32 sum = 0;
  for (u32 k = 0; k < steps; ++k) {
    cp_async_wait<2>();
    __syncthreads();
    const u32 next = k + 3;
    if (next < steps) cp_async(stage[next % 4][threadIdx.x], a.in + next * 256 + threadIdx.x * 4);
    cp_async_commit();
    sum += stage[k % 4][threadIdx.x ^ 32][0];
  }
  cp_async_wait<0>();
  a.out[threadIdx.x] = sum;
}

// Two warps read; two of their lanes tell one CTA each.
LEGAL(multicast_ring_released_by_two_lanes) {
  __shared__ alignas(128) u32 stage[3][512];
  __shared__ u64 full[3], empty[3];
  init_all(full, 3, 1);
  init_all(empty, 3, 4);
  cluster_sync();
  const u32 rank = cluster_rank();
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 k = 0; k < 4; ++k) {
        wait_cluster(&empty[k % 3], (k / 3 + 1) % 2);  // passes at once in the first round
        arrive_expect(&full[k % 3], 2 * kBoxBytes);
        tma_load_multicast(stage[k % 3] + rank * 256, a.load, 16 * static_cast<int>(k),
                           16 * static_cast<int>(rank), &full[k % 3], 3);
      }
    }
  } else {
    for (u32 k = 0; k < 4; ++k) {
      wait_cluster(&full[k % 3], k / 3 % 2);
      a.out[(rank * 4 + k) * 64 + threadIdx.x - 32] = stage[k % 3][threadIdx.x] + stage[k % 3][256 + threadIdx.x];
      __syncwarp();
      if (lane_idx() < 2) arrive_peer(peer(&empty[k % 3], lane_idx()));
    }
  }
  __syncwarp();
  cluster_sync();
}

LEGAL(groups_take_turns_by_named_barriers) {
  __shared__ u32 staging[64];
  const u32 group = threadIdx.x / 64, thread = threadIdx.x % 64;
  if (group == 1) named_arrive(1, 128);
  for (u32 tile = 0; tile < 3; ++tile) {
    named_sync(1 + group, 128);
    staging[thread] = tile * 2 + group;
    named_sync(3 + group, 64);
    a.out[(tile * 2 + group) * 64 + thread] = staging[63 - thread];
    if (group == 0 || tile < 2) named_arrive(2 - group, 128);
  }
}

// A consumed stage is the staging tile of the results, and then gets the next operands.
LEGAL(results_staged_in_a_consumed_stage) {
  __shared__ alignas(128) u32 stage[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  for (u32 tile = 0; tile < 3; ++tile) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, 256);
      bulk_load(stage, a.in + tile * 64, 256, &full);
    }
    wait(&full, tile % 2);
    const u32 value = stage[63 - threadIdx.x];
    __syncthreads();
    stage[threadIdx.x] = value + 1;
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(a.out + tile * 64, stage, 256);
      bulk_commit();
      bulk_wait_read<0>();
    }
  }
  if (threadIdx.x == 0) bulk_wait<0>();
}

LEGAL(launch_before_the_weights) {
  launch_dependents();
  for (u32 i = 0; i < 200; ++i) __nanosleep(100);
  a.scratch[threadIdx.x] = threadIdx.x + 1;
}

LEGAL(weights_fetched_before_the_launch_before) {
  __shared__ alignas(128) u32 weights[64], activations[64];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full[0], 256);
    bulk_load(weights, a.in, 256, &full[0]);
    wait_for_the_launch_before();
    arrive_expect(&full[1], 256);
    bulk_load(activations, a.scratch, 256, &full[1]);
  }
  wait(&full[0], 0);
  wait(&full[1], 0);
  a.out[threadIdx.x] = weights[threadIdx.x] + activations[threadIdx.x];
}

LEGAL(tile_numbers_in_a_ring) {
  __shared__ u32 tile[2];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 64);
  if (warp_idx() == 2) {
    if (lane_idx() == 0) {
      u32 next = blockIdx.x;
      for (u32 turn = 0;; ++turn) {
        wait(&empty[turn % 2], (turn / 2 + 1) % 2);
        tile[turn % 2] = next;
        arrive(&full[turn % 2]);
        if (next >= 6) break;
        next = gridDim.x + atomicAdd(a.scratch + 1024, 1);
      }
    }
    return;
  }
  for (u32 turn = 0;; ++turn) {
    wait(&full[turn % 2], turn / 2 % 2);
    const u32 mine = ld_shared(&tile[turn % 2]);
    arrive(&empty[turn % 2]);
    if (mine >= 6) break;
    a.out[mine * 64 + threadIdx.x] = mine;
  }
}

// Two slots, so that one barrier a round is enough.
LEGAL(cluster_sums_in_two_slots) {
  __shared__ u32 part[2][4];
  cluster_sync();
  for (u32 round = 0; round < 4; ++round) {
    if (threadIdx.x < 4)
      st_peer(peer(&part[round % 2][cluster_rank()], threadIdx.x), round * 10 + cluster_rank());
    __syncwarp();
    cluster_sync();
    const u32* mine = part[round % 2];
    if (threadIdx.x == 0) a.out[cluster_rank() * 4 + round] = mine[0] + mine[1] + mine[2] + mine[3];
    __syncwarp();
  }
  cluster_sync();
}

// Each CTA writes into the next one's slot and is told by it when that is free again.
LEGAL(ring_through_a_cluster_with_credits) {
  __shared__ u32 slot;
  __shared__ u64 full, credit;
  init_all(&full, 1, 1);
  init_all(&credit, 1, 1);
  cluster_sync();
  const u32 next = (cluster_rank() + 1) % 4, before = (cluster_rank() + 3) % 4;
  if (threadIdx.x == 0) {
    u32 value = cluster_rank();
    for (u32 turn = 0; turn < 4; ++turn) {
      if (turn != 0) wait_cluster(&credit, (turn + 1) % 2);
      st_peer(peer(&slot, next), value);
      arrive_peer(peer(&full, next));
      wait_cluster(&full, turn % 2);
      value = slot;
      arrive_peer(peer(&credit, before));
    }
    a.out[cluster_rank()] = value;
  }
  __syncwarp();
  cluster_sync();
}

LEGAL(ring_between_ctas_with_fences) {
  u32* full = a.scratch + 1024;
  u32* acked = a.scratch + 1056;
  for (u32 turn = 1; turn <= 3; ++turn) {
    u32* seen = blockIdx.x == 0 ? acked : full;
    u32* told = blockIdx.x == 0 ? full : acked;
    while (ld_relaxed_gpu(seen) != turn - (blockIdx.x == 0 ? 1 : 0)) __nanosleep(20);
    fence_gpu();
    __syncwarp();
    if (blockIdx.x == 0) a.scratch[lane_idx()] = turn * 100 + lane_idx();
    else a.out[turn * 32 + lane_idx()] = a.scratch[31 - lane_idx()];
    __syncwarp();
    if (lane_idx() == 0) {
      fence_gpu();
      st_relaxed_gpu(told, turn);
    }
  }
}

// A scan over CTAs: each looks back over sums that are there, packed with their state into one word.
LEGAL(look_back_at_packed_states) {
  auto* states = reinterpret_cast<u64*>(a.scratch);
  using Ref = cuda::atomic_ref<u64, cuda::thread_scope_device>;
  const u32 own = __reduce_add_sync(0xffffffff, a.in[blockIdx.x * 32 + lane_idx()]);
  u32 before = 0;
  if (lane_idx() == 0) {
    if (blockIdx.x != 0) {
      Ref(states[blockIdx.x]).store(u64{1} << 32 | own, cuda::memory_order_relaxed);
      for (u32 back = blockIdx.x; back-- > 0;) {
        u64 state = 0;
        while ((state = Ref(states[back]).load(cuda::memory_order_relaxed)) >> 32 == 0) __nanosleep(20);
        before += static_cast<u32>(state);
        if (state >> 32 == 2) break;
      }
    }
    Ref(states[blockIdx.x]).store(u64{2} << 32 | (before + own), cuda::memory_order_relaxed);
  }
  before = __shfl_sync(0xffffffff, before, 0);
  a.out[blockIdx.x * 32 + lane_idx()] = before + own;
}

// The same with the sums in words of their own.
LEGAL(look_back_at_states_and_sums) {
  u32* state = a.scratch;
  u32* sums = a.scratch + 64;
  u32* prefixes = a.scratch + 128;
  const u32 own = __reduce_add_sync(0xffffffff, a.in[blockIdx.x * 32 + lane_idx()]);
  u32 before = 0;
  if (lane_idx() == 0) {
    if (blockIdx.x != 0) {
      sums[blockIdx.x] = own;
      __threadfence();
      st_volatile(state + blockIdx.x, 1);
      for (u32 back = blockIdx.x; back-- > 0;) {
        u32 seen = 0;
        while ((seen = ld_volatile(state + back)) == 0) __nanosleep(20);
        __threadfence();
        before += seen == 2 ? prefixes[back] : sums[back];
        if (seen == 2) break;
      }
    }
    prefixes[blockIdx.x] = before + own;
    __threadfence();
    st_volatile(state + blockIdx.x, 2);
  }
  before = __shfl_sync(0xffffffff, before, 0);
  a.out[blockIdx.x * 32 + lane_idx()] = before + own;
}

// The bytes may come before they are expected, as long as an arrival is missing.
LEGAL(words_sent_before_they_are_expected) {
  __shared__ u32 box[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  const u32 other = 1 - cluster_rank();
  st_async(peer(&box[lane_idx()], other), cluster_rank() * 100 + lane_idx(), peer(&full, other));
  __syncwarp();
  if (lane_idx() == 0) arrive_expect(&full, 128);
  __syncwarp();
  wait_cluster(&full, 0);
  a.out[cluster_rank() * 32 + lane_idx()] = box[lane_idx()];
  cluster_sync();
}

LEGAL(grid_barrier_by_generation) {
  u32* count = a.scratch + 1024;
  u32* generation = a.scratch + 1056;
  for (u32 round = 0; round < 2; ++round) {
    a.scratch[round * 256 + blockIdx.x * 64 + threadIdx.x] = round + blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      const u32 now = ld_volatile(generation);
      __threadfence();
      if (atomicAdd(count, 1) == gridDim.x - 1) {
        *count = 0;
        __threadfence();
        atomicAdd(generation, 1);
      } else {
        while (ld_volatile(generation) == now) __nanosleep(20);
      }
      __threadfence();
    }
    __syncthreads();
    a.out[round * 256 + blockIdx.x * 64 + threadIdx.x] =
        a.scratch[round * 256 + (blockIdx.x + 1) % gridDim.x * 64 + threadIdx.x];
  }
}

// The stage before the last is given back while the last is multiplied.
LEGAL(stage_given_back_one_group_late) {
  struct Stage {
    alignas(128) u32 a[512];
    alignas(128) u32 b[64];
  };
  __shared__ Stage stage[2];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 32);
  init_all(empty, 2, 128);
  if (warp_idx() == 4) {
    for (u32 k = 0; k < 4; ++k) {
      wait(&empty[k % 2], (k / 2 + 1) % 2);
      for (u32 i = lane_idx(); i < 512; i += 32) stage[k % 2].a[i] = kOnes;
      for (u32 i = lane_idx(); i < 64; i += 32) stage[k % 2].b[i] = kOnes;
      fence_async_shared();
      arrive(&full[k % 2]);
    }
    return;
  }
  float d[4] = {};
  for (u32 k = 0; k < 4; ++k) {
    wait(&full[k % 2], k / 2 % 2);
    wgmma_fence();
    wgmma(d, wgmma_descriptor(stage[k % 2].a), wgmma_descriptor(stage[k % 2].b), k != 0);
    wgmma_commit();
    wgmma_wait<1>();
    if (k != 0) arrive(&empty[(k - 1) % 2]);
  }
  wgmma_wait<0>();
  a.out[threadIdx.x] = __float_as_uint(d[0]);
}

// All CTAs add by copies, and the last of them reads.
LEGAL(last_cta_reads_what_copies_added) {
  __shared__ alignas(128) u32 part[64];
  __shared__ u32 is_last;
  part[threadIdx.x] = blockIdx.x + 1;
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_add(a.scratch, part, 256);
    bulk_commit();
    bulk_wait<0>();
    fence_async();
    __threadfence();
    is_last = atomicAdd(a.scratch + 1024, 1) == gridDim.x - 1 ? 1 : 0;
    __threadfence();
    fence_async();
  }
  __syncthreads();
  if (is_last != 0) a.out[threadIdx.x] = a.scratch[threadIdx.x];
}

// A look at the next stage's barrier that may well fail, before the wait for it.
LEGAL(peek_at_the_next_stage) {
  __shared__ alignas(128) u32 stage[2][64];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 2);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 k = 0; k < 5; ++k) {
        wait(&empty[k % 2], (k / 2 + 1) % 2);
        arrive_expect(&full[k % 2], 256);
        bulk_load(stage[k % 2], a.in + k * 64, 256, &full[k % 2]);
      }
    }
    return;
  }
  bool is_there = try_wait(&full[0], 0);
  for (u32 k = 0; k < 5; ++k) {
    if (!is_there) wait(&full[k % 2], k / 2 % 2);
    a.out[k * 64 + threadIdx.x - 32] = stage[k % 2][threadIdx.x - 32];
    if (k < 4) is_there = try_wait(&full[(k + 1) % 2], (k + 1) / 2 % 2);
    __syncwarp();
    if (lane_idx() == 0) arrive(&empty[k % 2]);
  }
}

// Lanes copy rows of different lengths, and each says how much.
LEGAL(each_lane_expects_its_row) {
  __shared__ alignas(128) u32 rows[32][16];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  const u32 words = 4 + lane_idx() % 4 * 4;
  arrive_expect(&full, words * 4);
  bulk_load(rows[lane_idx()], a.in + lane_idx() * 16, words * 4, &full);
  wait(&full, 0);
  a.out[lane_idx()] = rows[31 - lane_idx()][3];
}
