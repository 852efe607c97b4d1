// SPDX-License-Identifier: Apache-2.0
//
// The seventh set in global memory: counters, flags and locks between blocks, memory of the heap, tensor maps
// that threads make, launches that overlap.
#include "ptx.h"

namespace {

__device__ inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ inline void wait_for_the_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

__device__ inline u64 ld_relaxed_pair(const u32* p) {
  u64 v;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline void st_relaxed_pair(u32* p, u32 low, u32 high) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(u64{high} << 32 | low) : "memory");
}

// A warp makes a map of `in` with a field changed, and shows it to those who acquire it.
template <class Change>
__device__ __forceinline__ void publish_map(const Args& a, u64 (&map)[16], void* to, Change change) {
  if (lane_idx() < 16) map[lane_idx()] = a.load->words[lane_idx()];
  __syncwarp();
  if (lane_idx() == 0) change(shared_address(map));
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
      "128;" ::"l"(to),
      "r"(shared_address(map))
      : "memory");
  __syncwarp();
}
__device__ inline void acquire_map(const void* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

}  // namespace

// Counters

// One thread tells of the additions of its block before all of them have been made.
EXHIBIT(group_told_before_all_threads_have_added) {
  u32* counts = a.scratch;
  u32* told = a.scratch + 512;
  atomicAdd(counts + a.in[blockIdx.x * 64 + threadIdx.x] % 16, 1);
  if (mended) __syncthreads();
  if (threadIdx.x == 0) {
    add_release_gpu(told, 1);
    while (ld_acquire_gpu(told) < gridDim.x) {
    }
  }
  __syncthreads();
  a.out[blockIdx.x * 64 + threadIdx.x] = ld_weak(counts + threadIdx.x % 16);
}

// All blocks take the number of this call from memory; the first writes the next one there.
EXHIBIT(call_number_advanced_before_all_blocks_have_read_it) {
  if (threadIdx.x != 0) return;
  const u32 now = ld_weak(a.scratch) + 1;
  bool advances = blockIdx.x == 0;
  if (mended) advances = add_acq_rel_gpu(a.scratch + 64, 1) + 1 == gridDim.x;
  if (advances) st_weak(a.scratch, now);
  a.out[blockIdx.x] = now;
}

// Any part that is there is taken for all of them.
EXHIBIT(owner_waits_for_one_of_two_contributors) {
  u32* done = a.scratch + 512;
  if (blockIdx.x != 0) {
    a.scratch[blockIdx.x * 32 + lane_idx()] = a.in[blockIdx.x * 32 + lane_idx()];
    __syncwarp();
    if (lane_idx() == 0) add_release_gpu(done, 1);
    return;
  }
  while (ld_acquire_gpu(done) < (mended ? 2 : 1)) {
  }
  a.out[lane_idx()] = a.scratch[32 + lane_idx()] + a.scratch[64 + lane_idx()];
}

// Leaders of clusters meet, and nobody has told them that their peers have written.
EXHIBIT(leaders_meet_for_clusters_that_have_not_met) {
  a.scratch[blockIdx.x * 32 + lane_idx()] = a.in[blockIdx.x * 32 + lane_idx()];
  __syncwarp();
  if (mended) cluster_sync();
  if (cluster_rank() == 0 && lane_idx() == 0) {
    add_acq_rel_gpu(a.scratch + 512, 1);
    while (ld_acquire_gpu(a.scratch + 512) < 2) {
    }
  }
  __syncwarp();
  cluster_sync();
  a.out[blockIdx.x * 32 + lane_idx()] = ld_weak(a.scratch + (blockIdx.x ^ 3) * 32 + lane_idx());
}

// Flags

// The word is the flag: zero until it has come, and zero again for a later turn. The peer may be one turn ahead.
EXHIBIT(word_of_the_next_turn_cleared) {
  if (lane_idx() != 0) return;
  const u32 me = blockIdx.x, other = 1 - me;
  const auto slot = [&](u32 owner, u32 turn) { return a.scratch + owner * 64 + turn % 3 * 16; };
  u32 sum = 0;
  for (u32 turn = 0; turn < 5; ++turn) {
    st_release_gpu(slot(other, turn), turn + 1 + me);
    u32 value = 0;
    while (value == 0) value = ld_acquire_gpu(slot(me, turn));
    sum += value;
    st_weak(slot(me, turn + (mended ? 2 : 1)), 0);
  }
  a.out[me] = sum;
}

// Data and flag make one word of 64 bits, and are stored as two.
EXHIBIT(line_of_data_and_flag_stored_in_two_parts) {
  u32* line = a.scratch + lane_idx() * 2;
  if (blockIdx.x == 0) {
    if (mended) {
      st_relaxed_pair(line, a.in[lane_idx()], 1);
    } else {
      st_relaxed_gpu(line, a.in[lane_idx()]);
      st_relaxed_gpu(line + 1, 1);
    }
    return;
  }
  u64 pair = 0;
  while (pair >> 32 == 0) pair = ld_relaxed_pair(line);
  a.out[lane_idx()] = static_cast<u32>(pair);
}

// A key is claimed first, and its value comes later.
EXHIBIT(value_of_a_key_that_is_already_there) {
  u32* keys = a.scratch;
  u32* values = a.scratch + 64;
  if (blockIdx.x == 0) {
    atomicCAS(keys + lane_idx(), 0, lane_idx() + 1);
    st_relaxed_gpu(values + lane_idx(), a.in[lane_idx()]);
    return;
  }
  while (ld_relaxed_gpu(keys + lane_idx()) == 0) {
  }
  u32 value = 0;
  if (mended) {
    while (value == 0) value = ld_relaxed_gpu(values + lane_idx());
  } else {
    value = ld_weak(values + lane_idx());
  }
  a.out[lane_idx()] = value;
}

// Each block holds one lock and waits for the other.
EXHIBIT(two_locks_taken_in_opposite_order) {
  if (lane_idx() != 0) return;
  const u32 first = mended ? 0 : blockIdx.x % 2;
  u32* lock = a.scratch + 64;
  const auto take = [&](u32 i) {
    while (cas_acquire_gpu(lock + i, 0, 1) != 0) __nanosleep(20);
  };
  take(first);
  __nanosleep(200);
  take(1 - first);
  st_weak(a.scratch, ld_weak(a.scratch) + 1);
  st_release_gpu(lock + 1 - first, 0);
  st_release_gpu(lock + first, 0);
}

// Memory of the heap

EXHIBIT(heap_block_given_back_before_all_have_read) {
  __shared__ u32* block;
  if (threadIdx.x == 0) block = static_cast<u32*>(malloc(256));
  __syncthreads();
  block[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  a.out[threadIdx.x] = block[63 - threadIdx.x];
  if (mended) __syncthreads();
  if (threadIdx.x == 0) free(block);
}

// Tensor maps

// The rows of a group are 63 words apart; a map counts in units of 16 bytes.
EXHIBIT(rows_of_a_group_not_a_multiple_of_sixteen_bytes_apart) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  publish_map(a, map, a.scratch, [](u32 in_shared) {
    asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(in_shared),
                 "l"(u64{mended ? 256 : 252})
                 : "memory");
  });
  if (lane_idx() == 0) {
    acquire_map(a.scratch);
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, reinterpret_cast<const TensorMap*>(a.scratch), 0, 0, &full);
  }
  __syncwarp();
  wait(&full, 0);
  for (u32 i = lane_idx(); i < 256; i += 32) a.out[i] = tile[i];
}

// The fence that takes over the map stands before the flag that tells of it.
EXHIBIT(map_acquired_before_the_flag_is_seen) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  u32* flag = a.scratch + 512;
  if (blockIdx.x == 0) {
    publish_map(a, map, a.scratch, [&](u32 in_shared) {
      asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(in_shared),
                   "l"(a.in + 1024)
                   : "memory");
    });
    if (lane_idx() == 0) st_release_gpu(flag, 1);
    return;
  }
  if (lane_idx() == 0) {
    if (!mended) acquire_map(a.scratch);
    while (ld_acquire_gpu(flag) == 0) {
    }
    if (mended) acquire_map(a.scratch);
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, reinterpret_cast<const TensorMap*>(a.scratch), 0, 0, &full);
  }
  __syncwarp();
  wait(&full, 0);
  for (u32 i = lane_idx(); i < 256; i += 32) a.out[i] = tile[i];
}

// Launches that overlap

LEGAL(launch_that_clears_counters) {
  launch_dependents();
  for (u32 i = 0; i < 200; ++i) __nanosleep(100);
  a.scratch[threadIdx.x] = 0;
}

EXHIBIT(dependent_launch_counts_before_the_counters_are_cleared) {
  if (mended) wait_for_the_launch_before();
  a.out[lane_idx()] = atomicAdd(a.scratch + lane_idx(), a.in[lane_idx()]);
  if (!mended) wait_for_the_launch_before();
}
