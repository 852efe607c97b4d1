// SPDX-License-Identifier: Apache-2.0
//
// Legal programs of threads, flags and barriers: what must not be reported.
#include "ptx.h"

// One lock, taken by a compare-and-swap, given back by an exchange, fences on both sides.
LEGAL(spin_lock_in_global) {
  u32* lock = a.scratch;
  u32* sum = a.scratch + 32;
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0u, 1u) != 0) {
  }
  __threadfence();
  st_weak(sum, ld_weak(sum) + blockIdx.x + 1);
  __threadfence();
  atomicExch(lock, 0u);
  if (add_acq_rel_gpu(a.scratch + 64, 1) == gridDim.x - 1) a.out[0] = ld_weak(sum);
}

LEGAL(spin_lock_in_shared) {
  __shared__ u32 lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  if (lane_idx() == 0) {
    while (atomicCAS(&lock, 0u, 1u) != 0) {
    }
    __threadfence_block();
    st_shared(&sum, ld_shared(&sum) + warp_idx());
    __threadfence_block();
    atomicExch(&lock, 0u);
  }
  __syncthreads();
  a.out[threadIdx.x] = sum;
}

// A lock whose tickets are served in order.
LEGAL(ticket_lock) {
  u32* next = a.scratch;
  u32* serving = a.scratch + 1;
  u32* sum = a.scratch + 32;
  if (threadIdx.x != 0) return;
  const u32 ticket = atomicAdd(next, 1u);
  while (ld_acquire_gpu(serving) != ticket) {
  }
  st_weak(sum, ld_weak(sum) + 1);
  if (ticket == gridDim.x - 1) a.out[0] = ld_weak(sum);
  st_release_gpu(serving, ticket + 1);
}

LEGAL(flag_with_fences) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = 5;
    __threadfence();
    st_volatile(a.scratch + 64, 1);
  } else {
    while (ld_volatile(a.scratch + 64) == 0) {
    }
    __threadfence();
    a.out[0] = ld_weak(a.scratch);
  }
}

LEGAL(flag_release_acquire_gpu) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = 5;
    st_release_gpu(a.scratch + 64, 1);
  } else {
    while (ld_acquire_gpu(a.scratch + 64) == 0) {
    }
    a.out[0] = ld_weak(a.scratch);
  }
}

LEGAL(flag_release_acquire_sys) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = 5;
    st_release_sys(a.scratch + 64, 1);
  } else {
    while (ld_acquire_sys(a.scratch + 64) == 0) {
    }
    a.out[0] = ld_weak(a.scratch);
  }
}

LEGAL(flag_release_acquire_cta) {
  if (threadIdx.x == 0) {
    a.scratch[0] = 5;
    st_release_cta(a.scratch + 64, 1);
  } else if (threadIdx.x == 32) {
    while (ld_acquire_cta(a.scratch + 64) == 0) {
    }
    a.out[0] = ld_weak(a.scratch);
  }
}

LEGAL(flag_release_acquire_cluster) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = 5;
    st_release_cluster(a.scratch + 64, 1);
  } else {
    while (ld_acquire_cluster(a.scratch + 64) == 0) {
    }
    a.out[0] = ld_weak(a.scratch);
  }
}

LEGAL(flag_in_shared_release_acquire) {
  __shared__ u32 data, flag;
  if (threadIdx.x == 0) st_shared_relaxed(&flag, 0);
  __syncthreads();
  if (threadIdx.x == 32) {
    st_shared(&data, 7);
    st_shared_release(&flag, 1);
  } else if (threadIdx.x == 0) {
    while (ld_shared_acquire(&flag) == 0) {
    }
    a.out[0] = ld_shared(&data);
  }
}

LEGAL(flag_in_shared_volatile_with_fences) {
  __shared__ u32 data, flag;
  if (threadIdx.x == 0) st_shared_volatile(&flag, 0);
  __syncthreads();
  if (threadIdx.x == 32) {
    st_shared(&data, 7);
    __threadfence_block();
    st_shared_volatile(&flag, 1);
  } else if (threadIdx.x == 0) {
    while (ld_shared_volatile(&flag) == 0) {
    }
    __threadfence_block();
    a.out[0] = ld_shared(&data);
  }
}

// All accesses of one word are strong: no race, though nothing orders them.
LEGAL(strong_accesses_only) {
  if (blockIdx.x == 0) st_relaxed_gpu(a.scratch + threadIdx.x, 1);
  else a.out[threadIdx.x] = ld_relaxed_gpu(a.scratch + threadIdx.x) & 0;
}

LEGAL(last_block) {
  __shared__ u32 is_last;
  a.scratch[blockIdx.x * 64 + threadIdx.x] = a.in[threadIdx.x];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(a.scratch + 1024, 1u) == gridDim.x - 1;
  __syncthreads();
  if (is_last) {
    __threadfence();
    u32 sum = 0;
    for (u32 i = 0; i < gridDim.x; ++i) sum += ld_weak(a.scratch + i * 64 + (threadIdx.x ^ 32));
    a.out[threadIdx.x] = sum;
  }
}

// As CUB and CUTLASS have it: the fence is in the thread that counts, behind the barrier.
LEGAL(last_block_fence_behind_the_barrier) {
  __shared__ u32 is_last;
  a.scratch[blockIdx.x * 64 + threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(a.scratch + 1024, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (is_last) {
    u32 sum = 0;
    for (u32 i = 0; i < gridDim.x; ++i) sum += ld_weak(a.scratch + i * 64 + (threadIdx.x ^ 32));
    a.out[threadIdx.x] = sum;
  }
}

LEGAL(grid_barrier) {
  a.scratch[blockIdx.x * 32 + threadIdx.x] = blockIdx.x + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    add_release_gpu(a.scratch + 512, 1);
    while (ld_acquire_gpu(a.scratch + 512) != gridDim.x) {
    }
  }
  __syncthreads();
  a.out[blockIdx.x * 32 + threadIdx.x] = ld_weak(a.scratch + (blockIdx.x ^ 1) * 32 + threadIdx.x);
}

LEGAL(decoupled_look_back) {
  u32* value = a.scratch;
  u32* status = a.scratch + 64;
  if (threadIdx.x != 0) return;
  u32 before = 0;
  if (blockIdx.x > 0) {
    while (ld_acquire_gpu(status + blockIdx.x - 1) == 0) {
    }
    before = ld_weak(value + blockIdx.x - 1);
  }
  const u32 total = before + a.in[blockIdx.x];
  st_weak(value + blockIdx.x, total);
  st_release_gpu(status + blockIdx.x, 1);
  a.out[blockIdx.x] = total;
}

// Value and status in one word of 64 bits need no fence at all.
LEGAL(look_back_in_one_word) {
  u64* words = reinterpret_cast<u64*>(a.scratch);
  if (threadIdx.x != 0) return;
  u64 before = 0;
  if (blockIdx.x > 0) {
    do {
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(before) : "l"(words + blockIdx.x - 1) : "memory");
    } while (before >> 32 == 0);
  }
  const u32 total = static_cast<u32>(before) + a.in[blockIdx.x];
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words + blockIdx.x), "l"(u64{1} << 32 | total)
               : "memory");
  a.out[blockIdx.x] = total;
}

// One atomic for all lanes of a warp that are here.
LEGAL(warp_aggregated_counter) {
  u32 place = 0;
  const bool takes = a.in[threadIdx.x] % 3 == 0;
  if (takes) {
    const u32 active = __activemask();
    const u32 leader = __ffs(active) - 1;
    if (lane_idx() == leader) place = atomicAdd(a.scratch, static_cast<u32>(__popc(active)));
    place = __shfl_sync(active, place, leader) + __popc(active & ((1u << lane_idx()) - 1));
  }
  a.out[threadIdx.x] = takes ? 1 : 0;
}

// Cooperative groups of 8 threads: each its own mask.
LEGAL(tiles_of_eight) {
  const u32 mask = 0xFFu << (lane_idx() / 8 * 8);
  u32 sum = a.in[threadIdx.x];
  for (u32 step = 4; step > 0; step /= 2) sum += __shfl_xor_sync(mask, sum, step);
  if (lane_idx() / 8 % 2 == 0) __syncwarp(mask);
  a.out[threadIdx.x] = sum;
}

LEGAL(shuffles_in_two_branches) {
  const u32 value = a.in[threadIdx.x];
  u32 got;
  if (lane_idx() < 16) got = __shfl_xor_sync(0x0000FFFFu, value, 1);
  else got = __shfl_down_sync(0xFFFF0000u, value, 2) + 1;
  a.out[threadIdx.x] = got;
}

LEGAL(ballot_and_match_of_half_a_warp) {
  u32 got = 0;
  if (lane_idx() >= 16)
    got = __ballot_sync(0xFFFF0000u, a.in[threadIdx.x] & 1) + __match_any_sync(0xFFFF0000u, 3);
  a.out[threadIdx.x] = got;
}

LEGAL(exited_warps_at_syncthreads) {
  __shared__ u32 tile[128];
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (warp_idx() == 3) return;
  __syncthreads();
  a.out[threadIdx.x] = tile[threadIdx.x < 96 ? 95 - threadIdx.x : 0];
}

LEGAL(exited_lanes_at_syncthreads) {
  __shared__ u32 tile[64];
  if (lane_idx() >= 20) return;
  tile[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  a.out[threadIdx.x] = tile[threadIdx.x ^ 32];
}

LEGAL(named_barrier_hand_over) {
  __shared__ u32 tile[32];
  for (u32 turn = 0; turn < 3; ++turn) {
    if (warp_idx() == 0) {
      if (turn > 0) named_sync(3, 64);
      st_shared(&tile[lane_idx()], a.in[turn * 32 + lane_idx()]);
      named_arrive(2, 64);
    } else {
      named_sync(2, 64);
      a.out[turn * 32 + lane_idx()] = ld_shared(&tile[lane_idx() ^ 5]);
      if (turn < 2) named_arrive(3, 64);
    }
  }
}

// Many lanes of one instruction store the same value to one place.
LEGAL(same_value_from_all_lanes) {
  __shared__ u32 word;
  st_shared(&word, 11);
  __syncwarp();
  a.out[0] = 11;
  a.out[1 + threadIdx.x] = ld_shared(&word);
}

LEGAL(unwritten_padding_is_read_and_dropped) {
  __shared__ u32 tile[64];
  const u32 valid = 40;
  if (threadIdx.x < valid) tile[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  const u32 value = ld_shared(&tile[threadIdx.x]);
  if (threadIdx.x < valid) a.out[threadIdx.x] = value;
}

LEGAL(unwritten_padding_is_selected_away) {
  __shared__ u32 tile[64];
  const u32 valid = 40;
  if (threadIdx.x < valid) tile[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  const u32 value = ld_shared(&tile[threadIdx.x]);
  a.out[threadIdx.x] = threadIdx.x < valid ? value : 0;
}

LEGAL(histogram_of_atomics) {
  __shared__ u32 bins[32];
  if (threadIdx.x < 32) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[a.in[threadIdx.x] % 32], 1u);
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&a.out[threadIdx.x], bins[threadIdx.x]);
}

LEGAL(last_warp_in_shared) {
  __shared__ u32 parts[4], count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (lane_idx() == 0) {
    st_shared(&parts[warp_idx()], a.in[warp_idx()]);
    __threadfence_block();
    if (atomicAdd(&count, 1u) == 3) {
      __threadfence_block();
      u32 sum = 0;
      for (u32 w = 0; w < 4; ++w) sum += ld_shared(&parts[w]);
      a.out[0] = sum;
    }
  }
}

LEGAL(exchange_initialises_shared) {
  __shared__ u32 word;
  if (threadIdx.x == 0) atomicExch(&word, 4u);
  __syncthreads();
  a.out[threadIdx.x] = word;
}

// Tiles from a counter in global memory, broadcast through shared memory.
LEGAL(tile_counter) {
  __shared__ u32 tile;
  for (;;) {
    if (threadIdx.x == 0) tile = atomicAdd(a.scratch, 1u);
    __syncthreads();
    const u32 mine = tile;
    __syncthreads();
    if (mine >= 6) return;
    a.out[mine * 64 + threadIdx.x] = a.in[mine];
  }
}
