// SPDX-License-Identifier: Apache-2.0
//
// Threads of one CTA and the barriers between them.
#include "ptx.h"

// Counts by atomics, read by other warps. Strong accesses conflict with weak ones.
EXHIBIT(histogram_read_early) {
  __shared__ u32 bins[32];
  if (threadIdx.x < 32) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[a.in[threadIdx.x] % 32], 1u);
  if (mended) __syncthreads();
  if (threadIdx.x < 32) a.out[threadIdx.x] = bins[threadIdx.x];
}

// The bins are cleared by one warp and counted in by the others.
EXHIBIT(histogram_cleared_late) {
  __shared__ u32 bins[32];
  if (threadIdx.x < 32) bins[threadIdx.x] = 0;
  if (mended) __syncthreads();
  atomicAdd(&bins[a.in[threadIdx.x] % 32], 1u);
  __syncthreads();
  if (threadIdx.x < 32) a.out[threadIdx.x] = bins[threadIdx.x];
}

EXHIBIT(transpose_without_barrier) {
  __shared__ u32 tile[128];
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (mended) __syncthreads();
  a.out[threadIdx.x] = tile[127 - threadIdx.x];
}

// The second turn overwrites what slow threads still read.
EXHIBIT(one_barrier_a_turn) {
  __shared__ u32 tile[64];
  u32 sum = 0;
  for (u32 turn = 0; turn < 3; ++turn) {
    tile[threadIdx.x] = a.in[turn * 64 + threadIdx.x];
    __syncthreads();
    sum += tile[threadIdx.x ^ 32];
    if (mended) __syncthreads();
  }
  a.out[threadIdx.x] = sum;
}

// A tree reduction whose last five steps trust that a warp runs in step.
EXHIBIT(warp_synchronous_reduction) {
  __shared__ u32 sums[64];
  sums[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) {
    for (u32 step = 32; step > 0; step /= 2) {
      const u32 other = ld_shared(&sums[threadIdx.x + step]);
      if (mended) __syncwarp();
      st_shared(&sums[threadIdx.x], sums[threadIdx.x] + other);
      if (mended) __syncwarp();
    }
    if (threadIdx.x == 0) a.out[0] = sums[0];
  }
}

// A flag without a fence orders nothing, volatile or not.
EXHIBIT(volatile_flag_in_shared) {
  __shared__ u32 data, flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 32) {
    st_shared(&data, 7);
    if (mended) fence_cta();
    st_shared_volatile(&flag, 1);
  } else if (threadIdx.x == 0) {
    while (ld_shared_volatile(&flag) == 0) {
    }
    if (mended) fence_cta();
    a.out[0] = ld_shared(&data);
  }
}

// The lock is taken by an atomic and given back by one, with no fence on either side.
EXHIBIT(lock_without_fences) {
  __shared__ u32 lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(&lock, 0u, 1u) != 0) {
    }
    if (mended) __threadfence_block();
    st_shared(&sum, ld_shared(&sum) + 1 + warp_idx());
    if (mended) __threadfence_block();
    atomicExch(&lock, 0u);
  }
  __syncthreads();
  if (threadIdx.x == 0) a.out[0] = sum;
}

// The last warp to arrive sums up the others' results: the counter needs a fence on both sides.
EXHIBIT(last_warp_without_fence) {
  __shared__ u32 parts[4], count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (lane_idx() == 0) {
    st_shared(&parts[warp_idx()], a.in[warp_idx()]);
    if (mended) __threadfence_block();
    if (atomicAdd(&count, 1u) == 3) {
      if (mended) __threadfence_block();
      u32 sum = 0;
      for (u32 w = 0; w < 4; ++w) sum += ld_shared(&parts[w]);
      a.out[0] = sum;
    }
  }
}

// Two warps write the same word with different values.
EXHIBIT(two_writers) {
  __shared__ u32 leader;
  if (mended ? threadIdx.x == 0 : lane_idx() == 0) leader = warp_idx() + 1;
  __syncthreads();
  a.out[threadIdx.x] = leader;
}

// The index was meant to be computed by thread 0 for all; no barrier follows.
EXHIBIT(broadcast_without_barrier) {
  __shared__ u32 tile_idx;
  if (threadIdx.x == 0) tile_idx = a.in[5];
  if (mended) __syncthreads();
  a.out[threadIdx.x] = tile_idx;
}

// Persistent loop: the index of the next tile is overwritten while slow threads still read the last one.
EXHIBIT(tile_index_overwritten) {
  __shared__ u32 tile_idx;
  for (u32 turn = 0; turn < 3; ++turn) {
    if (threadIdx.x == 0) tile_idx = a.in[turn];
    __syncthreads();
    a.out[turn * 64 + threadIdx.x] = tile_idx;
    if (mended) __syncthreads();
  }
}

// Half of the threads come to another barrier than the rest.
EXHIBIT(barrier_in_a_branch) {
  __shared__ u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (mended || threadIdx.x < 32) __syncthreads();
  if (threadIdx.x < 32) a.out[threadIdx.x] = tile[threadIdx.x + 32];
}

// An early return before a barrier with a count: the others wait for the warp that has gone.
EXHIBIT(early_return_before_counted_barrier) {
  __shared__ u32 tile[128];
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (!mended && warp_idx() == 3) return;
  named_sync(1, 128);
  if (warp_idx() == 3) return;
  a.out[threadIdx.x] = tile[threadIdx.x + 32];
}

// An early return that arrives on the barrier, and does not wait for what it then reads.
EXHIBIT(early_return_arrives_only) {
  __shared__ u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (warp_idx() == 1 && !mended) {
    named_arrive(1, 64);
  } else {
    named_sync(1, 64);
  }
  a.out[threadIdx.x] = tile[threadIdx.x ^ 32];
}

// Two pairs of warps use one named barrier for different things.
EXHIBIT(barrier_id_shared_by_two_roles) {
  __shared__ u32 tile[128];
  tile[threadIdx.x] = a.in[threadIdx.x];
  const u32 pair = warp_idx() / 2;
  named_sync(mended ? 1 + pair : 1, 64);
  a.out[threadIdx.x] = tile[threadIdx.x ^ 32];
}

// The producer's count includes a warp that never comes.
EXHIBIT(named_barrier_count_too_large) {
  __shared__ u32 tile[32];
  const u32 count = mended ? 64 : 96;
  if (warp_idx() == 0) {
    tile[threadIdx.x] = a.in[threadIdx.x];
    named_arrive(2, count);
  } else if (warp_idx() == 1) {
    named_sync(2, count);
    a.out[lane_idx()] = tile[lane_idx()];
  }
}

// Arriver and waiter disagree about the count.
EXHIBIT(named_barrier_counts_differ) {
  __shared__ u32 tile[64];
  if (warp_idx() < 2) {
    tile[threadIdx.x] = a.in[threadIdx.x];
    named_arrive(2, mended ? 96 : 64);
  } else {
    named_sync(2, 96);
    a.out[lane_idx()] = tile[lane_idx()] + tile[lane_idx() + 32];
  }
}

// The consumer hands the buffer back before it has read it.
EXHIBIT(named_barrier_handed_back_early) {
  __shared__ u32 tile[32];
  for (u32 turn = 0; turn < 3; ++turn) {
    if (warp_idx() == 0) {
      if (turn > 0) named_sync(3, 64);
      st_shared(&tile[lane_idx()], a.in[turn * 32 + lane_idx()]);
      named_arrive(2, 64);
    } else {
      named_sync(2, 64);
      if (!mended && turn < 2) named_arrive(3, 64);
      a.out[turn * 32 + lane_idx()] = ld_shared(&tile[lane_idx()]);
      if (mended && turn < 2) named_arrive(3, 64);
    }
  }
}

// A word that nobody has written decides where the result goes.
EXHIBIT(index_from_unwritten_shared) {
  __shared__ u32 offsets[64];
  if (mended || threadIdx.x != 40) offsets[threadIdx.x] = threadIdx.x;
  __syncthreads();
  a.out[offsets[threadIdx.x] % 64] = threadIdx.x;
}

// The tail of the tile was never filled, and is summed up all the same.
EXHIBIT(sum_of_unwritten_tail) {
  __shared__ u32 tile[64];
  const u32 valid = mended ? 64 : 48;
  if (threadIdx.x < valid) tile[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  a.out[threadIdx.x] = tile[threadIdx.x] + 1;
}

// Bytes of one word, written by two warps of different widths.
EXHIBIT(byte_and_word_of_one_place) {
  __shared__ u32 words[4];
  if (threadIdx.x == 0) words[1] = 0x01020304;
  if (mended) __syncthreads();
  if (threadIdx.x == 32) reinterpret_cast<unsigned char*>(words)[5] = 0x7F;
  __syncthreads();
  if (threadIdx.x == 0) a.out[0] = words[1];
}

// shfl.sync with a mask of all lanes in a branch that half of them take, and the others never come.
EXHIBIT(shuffle_in_a_branch_with_full_mask) {
  const u32 value = a.in[threadIdx.x];
  u32 other = 0;
  if (threadIdx.x < 16) {
    other = __shfl_xor_sync(mended ? 0x0000FFFFu : 0xFFFFFFFFu, value, 1);
  } else {
    a.out[64 + threadIdx.x] = __reduce_add_sync(0xFFFF0000u, value);
  }
  __syncwarp();
  a.out[threadIdx.x] = other;
}

// The executing lane is not in its own mask.
EXHIBIT(shuffle_without_own_lane) {
  const u32 mask = mended ? 0xFFFFFFFFu : 0x0000FFFFu;
  a.out[threadIdx.x] = __shfl_xor_sync(mask, a.in[threadIdx.x], 1);
}
