// SPDX-License-Identifier: Apache-2.0
//
// A fifth set of bugs, written as one batch before their author had read any check: idioms of libcu++,
// cooperative groups and CUB, flags of collectives, words that several threads share, and mistakes from public
// threads.
#include "ptx.h"

#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

namespace cg = cooperative_groups;

namespace {

__device__ inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ inline void wait_for_the_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

__device__ inline void st_async(u32 to, u32 value, u32 bar) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(to),
               "r"(value), "r"(bar)
               : "memory");
}

__device__ inline void bulk_add_to_peer(u32 to, const void* from, u32 bytes, u32 bar) {
  asm volatile(
      "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], [%1], %2, "
      "[%3];" ::"r"(to),
      "r"(shared_address(from)), "r"(bytes), "r"(bar)
      : "memory");
}

// A warp copies the map in shared memory to global memory, for the copies that acquire it.
__device__ inline void publish_map(const void* to, const u64 (&map)[16]) {
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
      "128;" ::"l"(to),
      "r"(shared_address(map))
      : "memory");
}
__device__ inline void acquire_map(const void* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}
__device__ inline void replace_address(u64 (&map)[16], const void* address) {
  asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared_address(map)),
               "l"(address)
               : "memory");
}

}  // namespace

// Words that several threads share

// Packed atomics, and a plain store of one half of the pair.
EXHIBIT(packed_halves_added_and_stored) {
  __shared__ __half2 cell[32];
  if (warp_idx() == 0) cell[lane_idx()] = __half2half2(__float2half(0.0f));
  __syncthreads();
  if (warp_idx() == 0) atomicAdd(&cell[lane_idx()], __half2half2(__float2half(1.0f)));
  if (mended) __syncthreads();
  if (warp_idx() == 1) cell[lane_idx()].y = __float2half(4.0f);
  __syncthreads();
  a.out[threadIdx.x] = reinterpret_cast<const u32*>(cell)[lane_idx()];
}

// Two warps set a bit-field each, and both read and write the byte between.
EXHIBIT(bit_fields_of_one_word) {
  struct Fields {
    u32 low : 12;
    u32 high : 20;
  };
  __shared__ Fields fields[32];
  if (warp_idx() == 0) reinterpret_cast<u32*>(fields)[lane_idx()] = 0;
  __syncthreads();
  if (warp_idx() == 0) fields[lane_idx()].low = lane_idx() * 100;
  if (mended) __syncthreads();
  if (warp_idx() == 1) fields[lane_idx()].high = lane_idx() * 10;
  __syncthreads();
  a.out[threadIdx.x] = fields[lane_idx()].low + fields[lane_idx()].high;
}

// A record is loaded whole; its last word is of a warp that is not in the barrier.
EXHIBIT(record_of_four_writers_loaded_whole) {
  __shared__ uint4 record[32];
  reinterpret_cast<u32*>(record)[lane_idx() * 4 + warp_idx()] = a.in[threadIdx.x];
  if (mended) __syncthreads();
  else if (warp_idx() < 3) named_sync(1, 96);
  if (warp_idx() == 0) {
    const uint4 mine = record[31 - lane_idx()];
    a.out[lane_idx()] = mine.x + mine.y + mine.z + mine.w;
  }
}

// A thread that has nothing to add clears the sum before it is stored.
EXHIBIT(idle_thread_clears_the_sum_too_early) {
  __shared__ u32 sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (u32 turn = 0; turn < 2; ++turn) {
    if (threadIdx.x < 32) atomicAdd(&sum, a.in[turn * 32 + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) a.out[turn] = sum;
    if (mended) __syncthreads();
    if (threadIdx.x == 63) sum = 0;
    __syncthreads();
  }
}

// Two of CUB's collectives in one union.
EXHIBIT(scan_and_sum_share_their_storage) {
  using Scan = cub::BlockScan<u32, 128, cub::BLOCK_SCAN_WARP_SCANS>;
  using Reduce = cub::BlockReduce<u32, 128>;
  __shared__ union {
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
  } storage;
  u32 prefix;
  Scan(storage.scan).ExclusiveSum(a.in[threadIdx.x], prefix);
  if (mended) __syncthreads();
  const u32 sum = Reduce(storage.reduce).Sum(prefix);
  if (threadIdx.x == 0) a.out[0] = sum;
  a.out[128 + threadIdx.x] = prefix;
}

// A barrier for 48 threads does not exist, so there is none.
EXHIBIT(forty_eight_threads_without_a_barrier) {
  __shared__ u32 tile[64];
  if (threadIdx.x < 48) tile[threadIdx.x] = a.in[threadIdx.x];
  if (mended) __syncthreads();
  if (threadIdx.x < 48) a.out[threadIdx.x] = tile[47 - threadIdx.x];
}

// A vote makes the lanes meet, but orders no memory.
EXHIBIT(leader_of_equal_keys_reads_behind_a_match) {
  __shared__ u32 value[32];
  value[lane_idx()] = a.in[lane_idx()];
  const u32 equal = __match_any_sync(0xffffffff, lane_idx() % 4);
  if (mended) __syncwarp();
  if (lane_idx() + 1 == static_cast<u32>(__ffs(static_cast<int>(equal)))) {
    u32 sum = 0;
    for (u32 lanes = equal; lanes != 0; lanes &= lanes - 1) sum += value[__ffs(static_cast<int>(lanes)) - 1];
    a.out[lane_idx()] = sum;
  }
}

// A value is asked of a lane that has returned.
EXHIBIT(shuffle_from_a_lane_that_has_left) {
  const u32 value = a.in[lane_idx()];
  if (!mended && lane_idx() == 31) return;
  a.out[lane_idx()] = __shfl_sync(0xffffffff, value, 31);
}

// What the first makes, the second uses as soon as it sees the state, which it does not acquire.
EXHIBIT(table_made_once_and_found_by_a_volatile_state) {
  __shared__ u32 table[32], state;
  if (threadIdx.x == 0) state = 0;
  __syncthreads();
  if (lane_idx() == 0) {
    if (atomicCAS(&state, 0, 1) == 0) {
      for (u32 i = 0; i < 32; ++i) st_shared(table + i, i * i);
      if (mended) st_shared_release(&state, 2);
      else st_shared_volatile(&state, 2);
    } else {
      while ((mended ? ld_shared_acquire(&state) : ld_shared_volatile(&state)) != 2) __nanosleep(20);
    }
  }
  __syncwarp();
  a.out[threadIdx.x] = ld_shared(table + 31 - lane_idx());
}

// Whether to go on is cleared for the next turn before all have looked.
EXHIBIT(loop_flag_cleared_before_all_have_read_it) {
  __shared__ u32 has_changed;
  u32 turn = 0;
  for (;; ++turn) {
    if (threadIdx.x == 0) has_changed = 0;
    __syncthreads();
    if (turn < 2 && threadIdx.x == 40) has_changed = 1;
    __syncthreads();
    if (has_changed == 0) break;
    if (mended) __syncthreads();
  }
  a.out[threadIdx.x] = turn;
}

// Groups

EXHIBIT(groups_of_four_exchange_over_eight) {
  __shared__ u32 tile[64];
  const auto group = cg::tiled_partition < mended ? 8 : 4 > (cg::this_thread_block());
  tile[threadIdx.x] = a.in[threadIdx.x];
  group.sync();
  a.out[threadIdx.x] = tile[threadIdx.x ^ 4];
}

EXHIBIT(coalesced_leader_writes_and_nobody_meets) {
  __shared__ u32 first;
  if (a.in[lane_idx()] % 3 == 0) {
    const auto group = cg::coalesced_threads();
    if (group.thread_rank() == 0) first = atomicAdd(a.scratch, group.size());
    if (mended) group.sync();
    a.out[first + group.thread_rank()] = lane_idx();
  }
}

EXHIBIT(block_group_reads_between_arrive_and_wait) {
  __shared__ u32 tile[64];
  const auto block = cg::this_thread_block();
  st_shared(tile + threadIdx.x, a.in[threadIdx.x]);
  auto token = block.barrier_arrive();
  u32 value = 0;
  if (!mended) value = ld_shared(tile + 63 - threadIdx.x);
  block.barrier_wait(std::move(token));
  if (mended) value = ld_shared(tile + 63 - threadIdx.x);
  a.out[threadIdx.x] = value;
}

// The writer arrives for two turns, which makes the barrier's count without the reader.
EXHIBIT(writer_arrives_twice_before_the_reader_comes) {
  __shared__ u32 tile[2][32];
  for (u32 turn = 0; turn < 2; ++turn) {
    if (warp_idx() == 0) {
      if (mended && turn == 1) named_sync(2, 64);
      tile[turn][lane_idx()] = turn * 32 + lane_idx();
      named_arrive(1, 64);
    } else {
      named_sync(1, 64);
      a.out[turn * 32 + lane_idx()] = tile[turn][31 - lane_idx()];
      if (mended && turn == 0) named_arrive(2, 64);
    }
  }
}

// Two clusters' worth of turns: the second CTA goes round once more and reads the first, which has left.
EXHIBIT(cluster_of_two_trip_counts) {
  __shared__ u32 tile[32];
  const u32 turns = mended ? 3 : 2 + cluster_rank();
  u32 sum = 0;
  for (u32 turn = 0; turn < turns; ++turn) {
    st_shared(tile + lane_idx(), turn + lane_idx());
    cluster_sync();
    sum += ld_peer(peer(tile + 31 - lane_idx(), 1 - cluster_rank()));
    cluster_sync();
  }
  a.out[cluster_rank() * 32 + lane_idx()] = sum;
}

// libcu++

EXHIBIT(semaphore_object_released_before_the_write) {
  using Semaphore = cuda::binary_semaphore<cuda::thread_scope_block>;
  __shared__ alignas(Semaphore) char storage[sizeof(Semaphore)];
  __shared__ u32 value;
  Semaphore& is_there = reinterpret_cast<Semaphore&>(storage);
  if (threadIdx.x == 0) new (&is_there) Semaphore(0);
  __syncthreads();
  if (threadIdx.x == 0) {
    if (!mended) is_there.release();
    value = a.in[5];
    if (mended) is_there.release();
  }
  if (threadIdx.x == 32) {
    is_there.acquire();
    a.out[0] = value;
  }
}

// The semaphore says how many items there are, not who takes which.
EXHIBIT(two_takers_of_one_head) {
  using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block>;
  __shared__ alignas(Semaphore) char storage[sizeof(Semaphore)];
  __shared__ u32 item[2], head;
  Semaphore& items = reinterpret_cast<Semaphore&>(storage);
  if (threadIdx.x == 0) {
    new (&items) Semaphore(0);
    head = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    item[0] = 3;
    item[1] = 4;
    items.release(2);
  }
  if (threadIdx.x == 32 || threadIdx.x == 64) {
    items.acquire();
    const u32 at = mended ? atomicAdd(&head, 1) : head++;
    a.out[item[at]] = 1;
  }
}

EXHIBIT(latch_object_counted_down_before_the_store) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(Latch) char storage[sizeof(Latch)];
  __shared__ u32 tile[64];
  Latch& latch = reinterpret_cast<Latch&>(storage);
  if (threadIdx.x == 0) new (&latch) Latch(64);
  __syncthreads();
  if (!mended) latch.count_down();
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (mended) latch.count_down();
  latch.wait();
  a.out[threadIdx.x] = tile[63 - threadIdx.x];
}

#pragma nv_diag_suppress static_var_with_dynamic_init
EXHIBIT(copies_of_a_barrier_object_met_by_syncthreads) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ alignas(16) u32 tile[256];
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  cuda::memcpy_async(cg::this_thread_block(), tile, a.in, cuda::aligned_size_t<16>(sizeof tile), barrier);
  if (mended) barrier.arrive_and_wait();
  else __syncthreads();
  a.out[threadIdx.x] = tile[255 - threadIdx.x];
  if (!mended) barrier.arrive_and_wait();
}

EXHIBIT(pipeline_object_reads_the_stage_ahead) {
  __shared__ alignas(16) u32 tiles[2][256];
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  const auto load = [&](u32 k) {
    pipe.producer_acquire();
    cuda::memcpy_async(&tiles[k % 2][threadIdx.x * 4], a.in + k * 256 + threadIdx.x * 4,
                       cuda::aligned_size_t<16>(16), pipe);
    pipe.producer_commit();
  };
  load(0);
  for (u32 k = 0; k < 4; ++k) {
    if (k < 3) load(k + 1);
    if (k < 3) cuda::pipeline_consumer_wait_prior<1>(pipe);
    else cuda::pipeline_consumer_wait_prior<0>(pipe);
    __syncthreads();
    a.out[k * 64 + threadIdx.x] = tiles[mended ? k % 2 : (k + 1) % 2][255 - threadIdx.x];
    __syncthreads();
    pipe.consumer_release();
  }
}

// Order between CTAs

// A node is pushed by a compare-and-swap that releases nothing.
EXHIBIT(list_node_pushed_relaxed) {
  using Ref = cuda::atomic_ref<u32, cuda::thread_scope_device>;
  Ref head(a.scratch[1024]);
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[64] = a.in[9];
    u32 next = 0;
    head.compare_exchange_strong(next, 64, mended ? cuda::memory_order_release : cuda::memory_order_relaxed,
                                 cuda::memory_order_relaxed);
  } else {
    u32 node = 0;
    while ((node = head.exchange(0, cuda::memory_order_acquire)) == 0) __nanosleep(20);
    a.out[0] = a.scratch[node];
  }
}

EXHIBIT(flag_object_cleared_relaxed) {
  auto& lock = *reinterpret_cast<cuda::std::atomic_flag*>(a.scratch + 1024);
  if (threadIdx.x != 0) return;
  while (lock.test_and_set(cuda::std::memory_order_acquire)) __nanosleep(20);
  a.scratch[0] += blockIdx.x + 1;
  lock.clear(mended ? cuda::std::memory_order_release : cuda::std::memory_order_relaxed);
  a.out[blockIdx.x] = 1;
}

// One counter for two barriers, up and down again: who is slow does not see it at its top.
EXHIBIT(grid_barrier_counts_up_and_down) {
  for (u32 round = 0; round < 2; ++round) {
    a.scratch[round * 128 + blockIdx.x * 32 + lane_idx()] = round + blockIdx.x;
    __syncwarp();
    u32* count = a.scratch + 1024 + (mended ? round * 32 : 0);
    const bool is_up = mended || round == 0;
    if (lane_idx() == 0) {
      add_acq_rel_gpu(count, is_up ? 1u : ~0u);
      while (ld_acquire_gpu(count) != (is_up ? gridDim.x : 0)) __nanosleep(20);
    }
    __syncwarp();
    a.out[round * 128 + blockIdx.x * 32 + lane_idx()] =
        a.scratch[round * 128 + (blockIdx.x + 1) % gridDim.x * 32 + lane_idx()];
  }
}

// The peer waits for the flag of one round, and the flag goes on to the next.
EXHIBIT(all_reduce_waits_for_one_value_of_a_flag) {
  u32* flags = a.scratch + 1024;
  const u32 other = 1 - blockIdx.x;
  for (u32 round = 1; round <= 3; ++round) {
    a.scratch[round * 64 + blockIdx.x * 32 + lane_idx()] = round * 10 + blockIdx.x;
    __syncwarp();
    if (lane_idx() == 0) {
      st_release_gpu(flags + blockIdx.x, round);
      if (mended) {
        while (ld_acquire_gpu(flags + other) < round) __nanosleep(20);
      } else {
        while (ld_acquire_gpu(flags + other) != round) __nanosleep(20);
      }
    }
    __syncwarp();
    a.out[round * 64 + blockIdx.x * 32 + lane_idx()] = a.scratch[round * 64 + other * 32 + lane_idx()];
  }
}

EXHIBIT(all_reduce_starts_with_relaxed_flags) {
  u32* flags = a.scratch + 1024;
  a.scratch[blockIdx.x * 64 + threadIdx.x] = a.in[threadIdx.x] + blockIdx.x;
  __syncthreads();
  if (threadIdx.x < 2) {
    u32* theirs = flags + threadIdx.x * 32 + blockIdx.x;
    const u32* mine = flags + blockIdx.x * 32 + threadIdx.x;
    if (mended) {
      st_release_sys(theirs, 1);
      while (ld_acquire_sys(mine) == 0) __nanosleep(20);
    } else {
      st_relaxed_gpu(theirs, 1);
      while (ld_relaxed_gpu(mine) == 0) __nanosleep(20);
    }
  }
  __syncthreads();
  a.out[blockIdx.x * 64 + threadIdx.x] = a.scratch[threadIdx.x] + a.scratch[64 + threadIdx.x];
}

// Volatile accesses do not race, and nothing orders the two.
EXHIBIT(message_of_two_volatile_words) {
  u32* flag = a.scratch + 1024;
  if (lane_idx() != 0) return;
  if (blockIdx.x == 0) {
    st_volatile(a.scratch, 7);
    if (mended) __threadfence();
    st_volatile(flag, 1);
  } else {
    while (ld_volatile(flag) == 0) __nanosleep(20);
    if (mended) __threadfence();
    a.out[0] = ld_volatile(a.scratch);
  }
}

// The word that is acquired is a store of another thread than the one that released.
EXHIBIT(chain_of_flags_broken_by_a_store) {
  u32* flag = a.scratch + 1024;
  if (lane_idx() != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = a.in[3];
    st_release_gpu(flag, 1);
  } else if (blockIdx.x == 1) {
    while (ld_relaxed_gpu(flag) != 1) __nanosleep(20);
    if (mended) atomicAdd(flag, 1);
    else st_relaxed_gpu(flag, 2);
  } else {
    while (ld_acquire_gpu(flag) != 2) __nanosleep(20);
    a.out[0] = a.scratch[0];
  }
}

// A fence orders the accesses of the thread that executes it.
EXHIBIT(fence_in_the_lane_beside) {
  u32* flag = a.scratch + 1024;
  if (blockIdx.x == 0) {
    if (lane_idx() == 0) st_weak(a.scratch, a.in[7]);
    if (lane_idx() == (mended ? 0 : 1)) __threadfence();
    if (lane_idx() == 0) st_volatile(flag, 1);
  } else if (lane_idx() == 0) {
    while (ld_acquire_gpu(flag) == 0) __nanosleep(20);
    a.out[0] = ld_weak(a.scratch);
  }
}

EXHIBIT(flag_of_cluster_scope_between_clusters) {
  u32* flag = a.scratch + 1024;
  if (lane_idx() != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = a.in[3];
    if (mended) st_release_gpu(flag, 1);
    else st_release_cluster(flag, 1);
  } else if (blockIdx.x == 2) {
    while ((mended ? ld_acquire_gpu(flag) : ld_acquire_cluster(flag)) == 0) __nanosleep(20);
    a.out[0] = a.scratch[0];
  }
}

// A warp that sends one token to two experts counts it twice, and the count is full without the other warp.
EXHIBIT(finish_counter_raised_twice_by_one_warp) {
  u32* finished = a.scratch + 1024;
  u32* flag = a.scratch + 1056;
  if (blockIdx.x == 0) {
    if (warp_idx() < 2) {
      a.scratch[threadIdx.x] = a.in[threadIdx.x];
      __syncwarp();
      if (lane_idx() == 0) add_release_gpu(finished, !mended && warp_idx() == 0 ? 2 : 1);
    } else if (lane_idx() == 0) {
      while (ld_acquire_gpu(finished) < 2) __nanosleep(20);
      st_release_gpu(flag, 1);
    }
    return;
  }
  if (threadIdx.x == 0) {
    while (ld_acquire_gpu(flag) == 0) __nanosleep(20);
  }
  __syncthreads();
  if (threadIdx.x < 64) a.out[threadIdx.x] = a.scratch[threadIdx.x];
}

LEGAL(launch_that_reads_while_the_next_begins) {
  launch_dependents();
  for (u32 i = 0; i < 200; ++i) __nanosleep(100);
  a.out[blockIdx.x * 64 + threadIdx.x] = a.scratch[blockIdx.x * 64 + threadIdx.x];
}

// Only blocks with work wait for the launch before; the others clear what it still reads.
EXHIBIT(idle_block_clears_before_the_launch_before_is_over) {
  if (mended || blockIdx.x == 0) wait_for_the_launch_before();
  if (blockIdx.x == 0) a.out[1024 + threadIdx.x] = a.out[threadIdx.x] + 1;
  else a.scratch[blockIdx.x * 64 + threadIdx.x] = 5;
}

// Copies

// The zeros that fill a copy up to 16 bytes are writes, too.
EXHIBIT(zeros_behind_a_tail_over_what_was_stored) {
  __shared__ alignas(16) u32 row[32][4];
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 8;" ::"r"(shared_address(row[lane_idx()])),
               "l"(a.in + lane_idx() * 4)
               : "memory");
  cp_async_commit();
  if (mended) cp_async_wait<0>();
  st_shared(&row[lane_idx()][3], 77);
  if (!mended) cp_async_wait<0>();
  a.out[lane_idx()] = ld_shared(&row[lane_idx()][3]) + ld_shared(&row[lane_idx()][1]);
}

// The threads that copied wait for their copies after the barrier.
EXHIBIT(copies_of_a_few_waited_for_behind_the_barrier) {
  __shared__ alignas(16) u32 row[64];
  __shared__ alignas(16) u32 own[64][4];
  if (threadIdx.x < 16) cp_async(row + threadIdx.x * 4, a.in + threadIdx.x * 4);
  cp_async_commit();
  if (mended) cp_async_wait<0>();
  __syncthreads();
  cp_async(own[threadIdx.x], a.in + 256 + threadIdx.x * 4);
  cp_async_commit();
  cp_async_wait<0>();
  a.out[threadIdx.x] = row[63 - threadIdx.x] + own[threadIdx.x][0];
}

EXHIBIT(bulk_sum_into_a_peer_read_early) {
  __shared__ alignas(128) u32 mine[32], sum[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  mine[lane_idx()] = lane_idx() + cluster_rank();
  sum[lane_idx()] = 100;
  fence_async_shared();
  __syncwarp();
  cluster_sync();
  if (lane_idx() == 0) {
    const u32 other = 1 - cluster_rank();
    arrive_expect(&full, 128);
    bulk_add_to_peer(peer(sum, other), mine, 128, peer(&full, other));
  }
  __syncwarp();
  if (mended) wait_cluster(&full, 0);
  a.out[cluster_rank() * 32 + lane_idx()] = ld_shared(&sum[lane_idx()]);
  if (!mended) wait_cluster(&full, 0);
  __syncwarp();
  cluster_sync();
}

// The map of the next group's tensor over the one that a store may still read.
EXHIBIT(map_of_stores_replaced_under_a_store) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[256];
  if (lane_idx() < 16) map[lane_idx()] = a.store->words[lane_idx()];
  for (u32 i = lane_idx(); i < 256; i += 32) tile[i] = i;
  fence_async_shared();
  __syncwarp();
  for (u32 group = 0; group < 2; ++group) {
    if (lane_idx() == 0) replace_address(map, a.out + group * 2048);
    __syncwarp();
    publish_map(a.scratch, map);
    if (lane_idx() == 0) {
      acquire_map(a.scratch);
      tma_store(reinterpret_cast<const TensorMap*>(a.scratch), 0, 0, tile);
      bulk_commit();
      if (mended || group == 1) bulk_wait<0>();
    }
    __syncwarp();
  }
}

// Two warps copy with a map that one of them acquires.
EXHIBIT(map_acquired_by_one_of_two_producers) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[2][256];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  if (warp_idx() == 0) {
    if (lane_idx() < 16) map[lane_idx()] = a.load->words[lane_idx()];
    __syncwarp();
    if (lane_idx() == 0) replace_address(map, a.in);
    __syncwarp();
    publish_map(a.scratch, map);
  }
  __syncthreads();
  if (lane_idx() == 0) {
    if (mended || warp_idx() == 0) acquire_map(a.scratch);
    arrive_expect(&full[warp_idx()], kBoxBytes);
    tma_load(tile[warp_idx()], reinterpret_cast<const TensorMap*>(a.scratch), 16, 16, &full[warp_idx()]);
  }
  __syncwarp();
  wait(&full[warp_idx()], 0);
  a.out[threadIdx.x] = tile[warp_idx()][lane_idx()];
}

// Peers write a tile that its owner stores by a copy.
EXHIBIT(words_of_a_peer_stored_without_a_proxy_fence) {
  __shared__ alignas(128) u32 tile[32];
  cluster_sync();
  st_peer(peer(tile + lane_idx(), 1 - cluster_rank()), cluster_rank() * 32 + lane_idx());
  cluster_sync();
  if (mended) fence_async_shared();
  if (lane_idx() == 0) {
    bulk_store(a.out + cluster_rank() * 32, tile, 128);
    bulk_commit();
    bulk_wait<0>();
  }
  __syncwarp();
  cluster_sync();
}

// The owner waits for a copy, and a peer reads what it brings.
EXHIBIT(peer_reads_a_tile_that_its_owner_waits_for) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (lane_idx() == 0) {
    arrive_expect(&full, 128);
    bulk_load(tile, a.in + cluster_rank() * 32, 128, &full);
  }
  __syncwarp();
  if (mended) wait(&full, 0);
  cluster_sync();
  if (!mended) wait(&full, 0);
  a.out[cluster_rank() * 32 + lane_idx()] = ld_peer(peer(tile + lane_idx(), 1 - cluster_rank()));
  cluster_sync();
}

// A barrier of threads hands over what copies will bring.
EXHIBIT(named_barrier_hands_over_copies_in_flight) {
  __shared__ alignas(16) u32 tile[128];
  if (warp_idx() == 0) {
    cp_async(tile + lane_idx() * 4, a.in + lane_idx() * 4);
    cp_async_commit();
    if (mended) cp_async_wait<0>();
    named_arrive(1, 64);
    if (!mended) cp_async_wait<0>();
  } else {
    named_sync(1, 64);
    a.out[lane_idx()] = tile[127 - lane_idx()];
  }
}

// The second word is sent before the first has been read.
EXHIBIT(second_word_sent_without_credit) {
  __shared__ u32 slot;
  __shared__ u64 full, credit;
  init_all(&full, 1, 1);
  init_all(&credit, 1, 1);
  cluster_sync();
  if (lane_idx() == 0) {
    if (cluster_rank() == 1) {
      for (u32 turn = 0; turn < 2; ++turn) {
        if (mended && turn == 1) wait_cluster(&credit, 0);
        st_async(peer(&slot, 0), 10 + turn, peer(&full, 0));
      }
    } else {
      for (u32 turn = 0; turn < 2; ++turn) {
        arrive_expect(&full, 4);
        wait_cluster(&full, turn);
        a.out[turn] = ld_shared(&slot);
        if (turn == 0) arrive_peer(peer(&credit, 1));
      }
    }
  }
  __syncwarp();
  cluster_sync();
}

// Rings

// A look that may fail is not a wait.
EXHIBIT(tried_once_and_read) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, 256);
    bulk_load(tile, a.in, 256, &full);
  }
  __syncwarp();
  if (mended) wait(&full, 0);
  else try_wait(&full, 0);
  a.out[threadIdx.x] = ld_shared(tile + threadIdx.x);
  wait(&full, 0);
}

// The look is at the stage that has just been read.
EXHIBIT(peek_at_the_stage_before) {
  __shared__ alignas(128) u32 stage[2][64];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 1);
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
    a.out[k * 32 + lane_idx()] = ld_shared(&stage[k % 2][lane_idx()]);
    const u32 next = mended ? k + 1 : k;
    if (k < 4) is_there = try_wait(&full[next % 2], next / 2 % 2);
    __syncwarp();
    if (lane_idx() == 0) arrive(&empty[k % 2]);
  }
}

// Two groups take tiles in turn; one does not skip the steps of the other's.
EXHIBIT(group_does_not_skip_the_others_tile) {
  __shared__ alignas(128) u32 stage[4][64];
  __shared__ u64 full[4], empty[4];
  init_all(full, 4, 1);
  init_all(empty, 4, 1);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 k = 0; k < 8; ++k) {
        wait(&empty[k % 4], (k / 4 + 1) % 2);
        arrive_expect(&full[k % 4], 256);
        bulk_load(stage[k % 4], a.in + k * 64, 256, &full[k % 4]);
      }
    }
    return;
  }
  const u32 group = warp_idx() - 1;
  u32 place = group * 2;
  for (u32 tile = group; tile < 4; tile += 2) {
    u32 sum = 0;
    for (u32 k = 0; k < 2; ++k, ++place) {
      wait(&full[place % 4], place / 4 % 2);
      sum += stage[place % 4][lane_idx()];
      __syncwarp();
      if (lane_idx() == 0) arrive(&empty[place % 4]);
    }
    if (mended || group == 1) place += 2;
    a.out[tile * 32 + lane_idx()] = sum;
  }
}

// Two groups take tiles in turn from a ring that is no multiple of a tile: who does not wait for its turn takes a
// phase that has not begun for one that is over.
EXHIBIT(group_does_not_wait_for_its_turn) {
  __shared__ alignas(128) u32 stage[3][64];
  __shared__ u64 full[3], empty[3];
  init_all(full, 3, 1);
  init_all(empty, 3, 1);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 k = 0; k < 8; ++k) {
        wait(&empty[k % 3], (k / 3 + 1) % 2);
        arrive_expect(&full[k % 3], 256);
        bulk_load(stage[k % 3], a.in + k * 64, 256, &full[k % 3]);
      }
    }
    return;
  }
  const u32 group = warp_idx() - 1;
  u32 place = group * 2;
  for (u32 tile = group; tile < 4; tile += 2) {
    if (mended && tile != 0) named_sync(1 + group, 64);
    u32 sum = 0;
    for (u32 k = 0; k < 2; ++k, ++place) {
      wait(&full[place % 3], place / 3 % 2);
      sum += stage[place % 3][lane_idx()];
      __syncwarp();
      if (lane_idx() == 0) arrive(&empty[place % 3]);
    }
    place += 2;
    if (mended && tile != 3) named_arrive(2 - group, 64);
    a.out[tile * 32 + lane_idx()] = sum;
  }
}

// A consumer that has found what it looks for leaves, and its releases are missing.
EXHIBIT(consumer_that_has_enough_leaves_the_ring) {
  __shared__ alignas(128) u32 stage[2][64];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 2);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 k = 0; k < 6; ++k) {
        wait(&empty[k % 2], (k / 2 + 1) % 2);
        arrive_expect(&full[k % 2], 256);
        bulk_load(stage[k % 2], a.in + k * 64, 256, &full[k % 2]);
      }
    }
    return;
  }
  bool has_found = false;
  for (u32 k = 0; k < 6; ++k) {
    wait(&full[k % 2], k / 2 % 2);
    const u32 value = stage[k % 2][lane_idx()];
    if (!has_found) a.out[(k * 2 + warp_idx() - 1) * 32 + lane_idx()] = value;
    has_found = has_found || (warp_idx() == 2 && __any_sync(0xffffffff, value == 140));
    __syncwarp();
    if (!mended && has_found) break;
    if (lane_idx() == 0) arrive(&empty[k % 2]);
  }
}

// Every lane has a row to copy, but for the last eight.
EXHIBIT(lanes_without_a_row_are_counted) {
  __shared__ alignas(128) u32 row[32][8];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (lane_idx() < 24) {
    arrive_expect(&full, 32);
    bulk_load(row[lane_idx()], a.in + lane_idx() * 8, 32, &full);
  } else if (mended) {
    arrive(&full);
  }
  __syncwarp();
  wait(&full, 0);
  if (lane_idx() < 24) a.out[lane_idx()] = row[23 - lane_idx()][1];
}

// An operand that two groups of warps multiply is filled again when one of them is done.
EXHIBIT(operand_of_two_groups_filled_again) {
  struct Tiles {
    alignas(1024) u32 a[512];
    alignas(256) u32 b[2][64];
  };
  __shared__ Tiles t;
  const u32 group = threadIdx.x / 128;
  float d[4] = {};
  for (u32 k = 0; k < 3; ++k) {
    for (u32 i = threadIdx.x; i < 512; i += 256) t.a[i] = kOnes;
    if (threadIdx.x % 128 < 64) t.b[group][threadIdx.x % 128] = kOnes;
    fence_async_shared();
    __syncthreads();
    wgmma_fence();
    wgmma(d, wgmma_descriptor(t.a), wgmma_descriptor(t.b[group]), k != 0);
    wgmma_commit();
    wgmma_wait<0>();
    if (mended) __syncthreads();
  }
  a.out[threadIdx.x] = __float_as_uint(d[0]);
}

// The scale of the next turn over the one that the correction has not read.
EXHIBIT(row_maxima_overwritten_before_the_correction_reads) {
  __shared__ u32 maximum[64];
  __shared__ u64 full, empty;
  init_all(&full, 1, 64);
  init_all(&empty, 1, 64);
  if (threadIdx.x < 64) {
    for (u32 turn = 0; turn < 3; ++turn) {
      if (mended && turn != 0) wait(&empty, (turn + 1) % 2);
      maximum[threadIdx.x] = turn * 64 + threadIdx.x;
      arrive(&full);
    }
  } else {
    for (u32 turn = 0; turn < 3; ++turn) {
      wait(&full, turn % 2);
      a.out[turn * 64 + threadIdx.x - 64] = ld_shared(maximum + threadIdx.x - 64);
      arrive(&empty);
    }
  }
}
