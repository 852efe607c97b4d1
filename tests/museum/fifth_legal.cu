// SPDX-License-Identifier: Apache-2.0
//
// Legal programs of the fifth set: objects of libcu++ at every scope, groups of every size, flags as collectives
// have them, copies in both directions, and loops whose last turn differs.
#include "ptx.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_shuffle.cuh>
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
__device__ inline void st_async_four(u32 to, uint4 v, u32 bar) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
      "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(bar)
      : "memory");
}
__device__ inline void bulk_add_to_peer(u32 to, const void* from, u32 bytes, u32 bar) {
  asm volatile(
      "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], [%1], %2, "
      "[%3];" ::"r"(to),
      "r"(shared_address(from)), "r"(bytes), "r"(bar)
      : "memory");
}
__device__ inline void bulk_multicast(void* to, const void* from, u32 bytes, u64* bar, u32 mask) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
      "[%3], "
      "%4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(bar)), "h"(static_cast<unsigned short>(mask))
      : "memory");
}
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

LEGAL(packed_halves_by_atomics) {
  __shared__ __half2 cell[16];
  auto* sums = reinterpret_cast<__nv_bfloat162*>(a.scratch);
  if (threadIdx.x < 16) cell[threadIdx.x] = __half2half2(__float2half(0.0f));
  __syncthreads();
  atomicAdd(&cell[threadIdx.x % 16], __floats2half2_rn(1.0f, 2.0f));
  atomicAdd(&sums[threadIdx.x % 16], __floats2bfloat162_rn(1.0f, 2.0f));
  __syncthreads();
  atomicAdd(reinterpret_cast<__half*>(cell) + threadIdx.x % 32, __float2half(1.0f));
  __syncthreads();
  if (threadIdx.x < 16) a.out[threadIdx.x] = reinterpret_cast<const u32*>(cell)[threadIdx.x];
}

LEGAL(bit_fields_in_turn) {
  struct Fields {
    u32 low : 12;
    u32 high : 20;
  };
  __shared__ Fields fields[32];
  if (warp_idx() == 0) reinterpret_cast<u32*>(fields)[lane_idx()] = 0;
  __syncthreads();
  if (warp_idx() == 0) fields[lane_idx()].low = lane_idx();
  __syncthreads();
  if (warp_idx() == 1) fields[lane_idx()].high = fields[lane_idx()].low + 1;
  __syncthreads();
  a.out[threadIdx.x] = fields[31 - lane_idx()].high;
}

LEGAL(record_of_four_writers) {
  __shared__ uint4 record[32];
  reinterpret_cast<u32*>(record)[lane_idx() * 4 + warp_idx()] = a.in[threadIdx.x];
  __syncthreads();
  const uint4 mine = record[31 - lane_idx()];
  a.out[threadIdx.x] = mine.x + mine.y + mine.z + mine.w;
}

// Each warp has a byte of a word; one thread looks at all four.
LEGAL(four_flags_polled_as_one_word) {
  __shared__ union {
    volatile unsigned char of_warp[4];
    volatile u32 all;
  } flags;
  __shared__ u32 tile[128];
  if (threadIdx.x == 0) flags.all = 0;
  __syncthreads();
  tile[threadIdx.x] = a.in[threadIdx.x];
  __syncwarp();
  __threadfence_block();
  if (lane_idx() == 0) flags.of_warp[warp_idx()] = 1;
  if (threadIdx.x == 0) {
    while (flags.all != 0x01010101) __nanosleep(20);
    __threadfence_block();
    u32 sum = 0;
    for (u32 i = 0; i < 128; ++i) sum += tile[i];
    a.out[0] = sum;
  }
}

LEGAL(strings_of_odd_lengths_side_by_side) {
  __shared__ char text[256];
  u32 first = 0;
  for (u32 i = 0; i < threadIdx.x; ++i) first += 1 + i % 7;
  for (u32 i = 0; i < 1 + threadIdx.x % 7; ++i) text[first + i] = static_cast<char>('a' + threadIdx.x % 26);
  __syncthreads();
  a.out[threadIdx.x] = static_cast<u32>(text[first]) + static_cast<u32>(text[(first + 9) % 253]);
}

// Cooperative groups

LEGAL(group_updates_an_atomic) {
  using Ref = cuda::atomic_ref<u32, cuda::thread_scope_block>;
  __shared__ u32 sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  Ref ref(sum);
  cg::reduce_update_async(tile, ref, a.in[threadIdx.x], cg::plus<u32>());
  __syncthreads();
  a.out[threadIdx.x] = sum;
}

LEGAL(groups_of_eight_make_turns_of_their_own) {
  __shared__ u32 slot[64];
  const auto group = cg::tiled_partition<8>(cg::this_thread_block());
  u32 sum = 0;
  for (u32 turn = 0; turn <= group.meta_group_rank(); ++turn) {
    slot[threadIdx.x] = a.in[turn * 64 + threadIdx.x];
    group.sync();
    sum += slot[threadIdx.x ^ 5];
    group.sync();
  }
  a.out[threadIdx.x] = sum;
}

LEGAL(block_group_in_two_parts) {
  __shared__ u32 tile[64];
  const auto block = cg::this_thread_block();
  for (u32 turn = 0; turn < 2; ++turn) {
    tile[threadIdx.x] = a.in[turn * 64 + threadIdx.x];
    auto token = block.barrier_arrive();
    const u32 own = a.in[threadIdx.x] * 2;
    block.barrier_wait(std::move(token));
    a.out[turn * 64 + threadIdx.x] = own + tile[63 - threadIdx.x];
    block.sync();
  }
}

LEGAL(groups_of_groups) {
  __shared__ u32 tile[64];
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const auto eight = cg::tiled_partition<8>(warp);
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (warp.meta_group_rank() == 0) {
    eight.sync();
    a.out[threadIdx.x] = tile[threadIdx.x ^ 7];
  } else {
    const auto pair = cg::tiled_partition<2>(eight);
    pair.sync();
    a.out[threadIdx.x] = tile[threadIdx.x ^ 1] + pair.shfl_xor(a.in[threadIdx.x], 1);
  }
}

// libcu++

// All threads arrive, and the last to do so adds.
LEGAL(barrier_with_a_completion_step) {
  struct Step {
    u32* sum;
    u32* parts;
    __device__ void operator()() noexcept {
      for (u32 i = 0; i < 64; ++i) *sum += parts[i];
    }
  };
  using Barrier = cuda::barrier<cuda::thread_scope_block, Step>;
  __shared__ alignas(Barrier) char storage[sizeof(Barrier)];
  __shared__ u32 parts[64], sum;
  Barrier& barrier = reinterpret_cast<Barrier&>(storage);
  if (threadIdx.x == 0) {
    sum = 0;
    new (&barrier) Barrier(64, Step{&sum, parts});
  }
  __syncthreads();
  for (u32 turn = 0; turn < 2; ++turn) {
    parts[threadIdx.x] = a.in[turn * 64 + threadIdx.x];
    barrier.arrive_and_wait();
    a.out[turn * 64 + threadIdx.x] = sum;
    barrier.arrive_and_wait();
  }
}

// A barrier object in global memory, which CTAs meet at.
LEGAL(barrier_object_of_the_device) {
  using Barrier = cuda::barrier<cuda::thread_scope_device>;
  auto& barrier = *reinterpret_cast<Barrier*>(a.scratch + 1024);
  u32* is_made = a.scratch + 1152;
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) {
      new (&barrier) Barrier(gridDim.x);
      st_release_gpu(is_made, 1);
    } else {
      while (ld_acquire_gpu(is_made) == 0) __nanosleep(20);
    }
  }
  for (u32 turn = 0; turn < 2; ++turn) {
    a.scratch[turn * 128 + blockIdx.x * 32 + lane_idx()] = turn + blockIdx.x;
    __syncwarp();
    if (lane_idx() == 0) barrier.arrive_and_wait();
    __syncwarp();
    a.out[turn * 128 + blockIdx.x * 32 + lane_idx()] =
        a.scratch[turn * 128 + (blockIdx.x + 1) % gridDim.x * 32 + lane_idx()];
  }
}

LEGAL(latch_object_of_the_device) {
  using Latch = cuda::latch<cuda::thread_scope_device>;
  auto& latch = *reinterpret_cast<Latch*>(a.scratch + 1024);
  u32* is_made = a.scratch + 1152;
  a.scratch[blockIdx.x * 32 + lane_idx()] = a.in[blockIdx.x * 32 + lane_idx()];
  __syncwarp();
  if (lane_idx() == 0) {
    if (blockIdx.x == 0) {
      new (&latch) Latch(gridDim.x);
      st_release_gpu(is_made, 1);
    } else {
      while (ld_acquire_gpu(is_made) == 0) __nanosleep(20);
    }
    latch.count_down();
    if (blockIdx.x == 2) latch.wait();
  }
  __syncwarp();
  if (blockIdx.x == 2) a.out[lane_idx()] = a.scratch[lane_idx()] + a.scratch[32 + lane_idx()];
}

// A ring between CTAs: one semaphore counts what is there, the other what is free.
LEGAL(semaphores_of_a_ring_between_blocks) {
  using Semaphore = cuda::counting_semaphore<cuda::thread_scope_device, 2>;
  auto& filled = *reinterpret_cast<Semaphore*>(a.scratch + 1024);
  auto& free = *reinterpret_cast<Semaphore*>(a.scratch + 1056);
  u32* is_made = a.scratch + 1152;
  if (lane_idx() != 0) return;
  if (blockIdx.x == 0) {
    new (&filled) Semaphore(0);
    new (&free) Semaphore(2);
    st_release_gpu(is_made, 1);
    for (u32 k = 0; k < 5; ++k) {
      free.acquire();
      a.scratch[k % 2] = a.in[k];
      filled.release();
    }
  } else {
    while (ld_acquire_gpu(is_made) == 0) __nanosleep(20);
    for (u32 k = 0; k < 5; ++k) {
      filled.acquire();
      a.out[k] = a.scratch[k % 2];
      free.release();
    }
  }
}

LEGAL(flag_object_as_a_lock) {
  auto& lock = *reinterpret_cast<cuda::std::atomic_flag*>(a.scratch + 1024);
  if (lane_idx() != 0) return;
  while (lock.test_and_set(cuda::std::memory_order_acquire)) __nanosleep(20);
  a.scratch[0] += blockIdx.x + 1;
  lock.clear(cuda::std::memory_order_release);
}

LEGAL(atomic_maximum_of_floats_by_exchange) {
  using Ref = cuda::atomic_ref<float, cuda::thread_scope_device>;
  Ref maximum(reinterpret_cast<float*>(a.out)[0]);
  const float mine = static_cast<float>(a.in[blockIdx.x * 64 + threadIdx.x]);
  float old = maximum.load(cuda::memory_order_relaxed);
  while (old < mine && !maximum.compare_exchange_weak(old, mine, cuda::memory_order_relaxed)) {
  }
  Ref(reinterpret_cast<float*>(a.out)[1]).fetch_add(1.0f, cuda::memory_order_relaxed);
}

LEGAL(one_thread_copies_for_a_barrier_object) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ alignas(16) u32 tile[64];
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  if (threadIdx.x == 0) cuda::memcpy_async(tile, a.in, cuda::aligned_size_t<16>(sizeof tile), barrier);
  barrier.arrive_and_wait();
  a.out[threadIdx.x] = tile[63 - threadIdx.x];
}

LEGAL(pipeline_object_between_two_roles_of_uneven_size) {
  constexpr auto scope = cuda::thread_scope_block;
  __shared__ cuda::pipeline_shared_state<scope, 3> state;
  __shared__ alignas(16) u32 tiles[3][128];
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state, 32u);
  if (warp_idx() == 0) {
    for (u32 k = 0; k < 5; ++k) {
      pipe.producer_acquire();
      cuda::memcpy_async(&tiles[k % 3][lane_idx() * 4], a.in + k * 128 + lane_idx() * 4,
                         cuda::aligned_size_t<16>(16), pipe);
      pipe.producer_commit();
    }
  } else {
    for (u32 k = 0; k < 5; ++k) {
      pipe.consumer_wait();
      a.out[k * 64 + threadIdx.x - 32] = tiles[k % 3][127 - threadIdx.x];
      pipe.consumer_release();
    }
  }
  pipe.quit();
}

// CUB

LEGAL(cub_exchanges_shuffles_and_flags) {
  using Exchange = cub::BlockExchange<u32, 64, 2>;
  using Shuffle = cub::BlockShuffle<u32, 64>;
  using Heads = cub::BlockDiscontinuity<u32, 64>;
  __shared__ union {
    typename Exchange::TempStorage exchange;
    typename Shuffle::TempStorage shuffle;
    typename Heads::TempStorage heads;
  } storage;
  u32 items[2] = {a.in[threadIdx.x * 2] / 3, a.in[threadIdx.x * 2 + 1] / 3};
  u32 flags[2];
  Heads(storage.heads).FlagHeads(flags, items, [](u32 x, u32 y) { return x != y; });
  __syncthreads();
  Exchange(storage.exchange).BlockedToStriped(items, items);
  __syncthreads();
  u32 before = 0;
  Shuffle(storage.shuffle).Offset(items[0], before, -1);
  a.out[threadIdx.x] = items[1] + before + flags[0] * 1000 + flags[1] * 2000;
}

LEGAL(cub_merges) {
  using Sort = cub::BlockMergeSort<u32, 64, 2>;
  __shared__ typename Sort::TempStorage storage;
  u32 keys[2] = {(a.in[threadIdx.x] * 37) % 64, (a.in[64 + threadIdx.x] * 11) % 64};
  Sort(storage).Sort(keys, [](u32 x, u32 y) { return x < y; });
  a.out[threadIdx.x * 2] = keys[0];
  a.out[threadIdx.x * 2 + 1] = keys[1];
}

// Order between CTAs and within one

LEGAL(list_pushed_and_taken_whole) {
  using Ref = cuda::atomic_ref<u32, cuda::thread_scope_device>;
  Ref head(a.scratch[1024]);
  if (lane_idx() != 0) return;
  if (blockIdx.x < 3) {
    const u32 node = 64 + blockIdx.x * 2;
    a.scratch[node] = a.in[blockIdx.x];
    u32 next = head.load(cuda::memory_order_relaxed);
    do {
      a.scratch[node + 1] = next;
    } while (!head.compare_exchange_weak(next, node, cuda::memory_order_release, cuda::memory_order_relaxed));
  } else {
    u32 sum = 0, count = 0;
    while (count < 3) {
      for (u32 node = head.exchange(0, cuda::memory_order_acquire); node != 0; node = a.scratch[node + 1]) {
        sum += a.scratch[node];
        ++count;
      }
    }
    a.out[0] = sum;
  }
}

// A barrier of the grid whose sense turns, with a back-off that grows.
LEGAL(grid_barrier_with_back_off) {
  u32* count = a.scratch + 1024;
  u32* sense = a.scratch + 1056;
  for (u32 round = 0; round < 3; ++round) {
    a.scratch[round * 128 + blockIdx.x * 32 + lane_idx()] = round * 3 + blockIdx.x;
    __syncwarp();
    if (lane_idx() == 0) {
      const u32 wanted = (round + 1) % 2;
      if (add_acq_rel_gpu(count, 1) == gridDim.x - 1) {
        st_relaxed_gpu(count, 0);
        st_release_gpu(sense, wanted);
      } else {
        for (u32 pause = 8; ld_acquire_gpu(sense) != wanted; pause = pause < 256 ? pause * 2 : pause)
          __nanosleep(pause);
      }
    }
    __syncwarp();
    a.out[round * 128 + blockIdx.x * 32 + lane_idx()] =
        a.scratch[round * 128 + (blockIdx.x + 1) % gridDim.x * 32 + lane_idx()];
  }
}

LEGAL(all_reduce_by_counting_flags) {
  u32* flags = a.scratch + 1024;
  for (u32 round = 1; round <= 3; ++round) {
    a.scratch[round % 2 * 128 + blockIdx.x * 64 + threadIdx.x] = round * 10 + blockIdx.x;
    __syncthreads();
    if (threadIdx.x < 2) {
      st_release_sys(flags + threadIdx.x * 32 + blockIdx.x, round);
      while (ld_acquire_sys(flags + blockIdx.x * 32 + threadIdx.x) < round) __nanosleep(20);
    }
    __syncthreads();
    a.out[round * 128 + blockIdx.x * 64 + threadIdx.x] =
        a.scratch[round % 2 * 128 + threadIdx.x] + a.scratch[round % 2 * 128 + 64 + threadIdx.x];
  }
}

// Data and flag go together in each half of a line, as in low-latency protocols of collectives.
LEGAL(lines_of_data_and_flag) {
  u32* line = a.scratch + lane_idx() * 4;
  if (blockIdx.x == 0) {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(line), "r"(a.in[lane_idx()]), "r"(1),
                 "r"(a.in[32 + lane_idx()]), "r"(1)
                 : "memory");
  } else {
    u32 first, flag, second, flag_of_second;
    do {
      asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(first), "=r"(flag), "=r"(second), "=r"(flag_of_second)
                   : "l"(line)
                   : "memory");
    } while (flag != 1 || flag_of_second != 1);
    a.out[lane_idx()] = first + second;
  }
}

// The value that is acquired is of an atomic that goes on where the release was.
LEGAL(chain_of_flags_by_atomics) {
  u32* flag = a.scratch + 1024;
  if (lane_idx() != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = a.in[3];
    st_release_gpu(flag, 1);
  } else if (blockIdx.x == 1) {
    while (ld_relaxed_gpu(flag) != 1) __nanosleep(20);
    atomicAdd(flag, 1);
  } else {
    while (ld_acquire_gpu(flag) != 2) __nanosleep(20);
    a.out[0] = a.scratch[0];
  }
}

LEGAL(readers_and_a_writer) {
  u32* lock = a.scratch + 1024;  // readers; 1,000 for a writer
  if (lane_idx() != 0) return;
  if (blockIdx.x == 0) {
    while (cas_acquire_gpu(lock, 0, 1000) != 0) __nanosleep(20);
    a.scratch[0] = 1;
    a.scratch[1] = 1;
    add_release_gpu(lock, ~u32{999});
  } else {
    for (;;) {
      const u32 readers = ld_relaxed_gpu(lock);
      if (readers < 1000 && cas_acquire_gpu(lock, readers, readers + 1) == readers) break;
      __nanosleep(20);
    }
    const u32 difference = a.scratch[0] - a.scratch[1];
    add_release_gpu(lock, ~u32{0});
    a.out[blockIdx.x] = difference;
  }
}

// Lanes of one warp take a lock one after the other, since Volta.
LEGAL(lanes_of_a_warp_take_a_lock) {
  __shared__ u32 lock, sum;
  if (lane_idx() == 0) lock = sum = 0;
  __syncwarp();
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  __threadfence_block();
  sum += lane_idx();
  __threadfence_block();
  atomicExch(&lock, 0);
  __syncwarp();
  a.out[lane_idx()] = sum;
}

// One warp writes a ring in shared memory that another reads; head and tail are volatile.
LEGAL(ring_of_volatile_counters) {
  __shared__ u32 item[4];
  __shared__ volatile u32 head, tail;
  if (threadIdx.x < 2) (threadIdx.x == 0 ? head : tail) = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (u32 k = 0; k < 10; ++k) {
      while (k - tail >= 4) {
      }
      __threadfence_block();
      item[k % 4] = a.in[k];
      __threadfence_block();
      head = k + 1;
    }
  } else if (threadIdx.x == 32) {
    for (u32 k = 0; k < 10; ++k) {
      while (head <= k) {
      }
      __threadfence_block();
      a.out[k] = item[k % 4];
      __threadfence_block();
      tail = k + 1;
    }
  }
}

// The owner takes from one end, a thief from the other; the last item goes to who swaps first.
LEGAL(work_is_stolen) {
  using Ref = cuda::atomic_ref<int, cuda::thread_scope_device>;
  Ref top(reinterpret_cast<int*>(a.scratch)[1024]), bottom(reinterpret_cast<int*>(a.scratch)[1056]);
  u32* taken = a.scratch + 2048;
  if (lane_idx() != 0) return;
  if (blockIdx.x == 0) {
    for (int i = 0; i < 4; ++i) {
      Ref(reinterpret_cast<int*>(a.scratch)[i]).store(i, cuda::memory_order_relaxed);
      bottom.store(i + 1, cuda::memory_order_release);
    }
    for (;;) {
      const int at = bottom.load(cuda::memory_order_relaxed) - 1;
      bottom.store(at, cuda::memory_order_relaxed);
      cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
      int first = top.load(cuda::memory_order_relaxed);
      if (first > at) {
        bottom.store(at + 1, cuda::memory_order_relaxed);
        break;
      }
      const int item = Ref(reinterpret_cast<int*>(a.scratch)[at]).load(cuda::memory_order_relaxed);
      bool is_mine = true;
      if (first == at) {
        is_mine = top.compare_exchange_strong(first, first + 1, cuda::memory_order_seq_cst);
        bottom.store(at + 1, cuda::memory_order_relaxed);
      }
      if (is_mine) atomicAdd(taken + item, 1);
      if (first == at) break;
    }
  } else {
    for (int tries = 0; tries < 4; ++tries) {
      int first = top.load(cuda::memory_order_acquire);
      cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
      if (first >= bottom.load(cuda::memory_order_acquire)) continue;
      const int item = Ref(reinterpret_cast<int*>(a.scratch)[first]).load(cuda::memory_order_relaxed);
      if (top.compare_exchange_strong(first, first + 1, cuda::memory_order_seq_cst)) atomicAdd(taken + item, 1);
    }
  }
}

LEGAL(histograms_of_warps_merged) {
  __shared__ u32 bins[4][16];
  for (u32 i = threadIdx.x; i < 64; i += blockDim.x) bins[i / 16][i % 16] = 0;
  __syncthreads();
  for (u32 k = 0; k < 4; ++k) atomicAdd_block(&bins[warp_idx()][a.in[k * 128 + threadIdx.x] * 7 % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) {
    u32 sum = 0;
    for (u32 i = 0; i < 4; ++i) sum += bins[i][threadIdx.x];
    atomicAdd(a.out + threadIdx.x, sum);
  }
}

// A poll with a limit of time that is not reached.
LEGAL(polled_until_a_limit_of_time) {
  u32* flag = a.scratch + 1024;
  if (lane_idx() != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = a.in[1];
    st_release_gpu(flag, 1);
  } else {
    const long long begin = clock64();
    while (ld_acquire_gpu(flag) == 0) {
      if (clock64() - begin > 200'000'000'000) __trap();
    }
    a.out[0] = a.scratch[0];
  }
}

// Lanes

LEGAL(votes_after_lanes_have_left) {
  const u32 value = a.in[lane_idx()];
  const u32 here = __ballot_sync(0xffffffff, value % 4 != 0);
  if (value % 4 == 0) return;
  const u32 odd = __ballot_sync(here, value % 2 == 1);
  const u32 sum = __reduce_add_sync(here, value);
  const u32 first = __shfl_sync(here, value, __ffs(static_cast<int>(here)) - 1);
  a.out[lane_idx()] = odd + sum + first;
}

LEGAL(shuffles_of_segments_with_masks) {
  const u32 value = a.in[lane_idx()];
  const u32 mask = lane_idx() < 16 ? 0x0000ffff : 0xffff0000;
  u32 sum = value;
  for (u32 step = 4; step != 0; step /= 2) sum += __shfl_xor_sync(mask, sum, static_cast<int>(step), 8);
  int all_equal = 0;
  const u32 equal = __match_all_sync(mask, lane_idx() / 16, &all_equal);
  a.out[lane_idx()] = sum + equal + static_cast<u32>(all_equal);
}

LEGAL(sorted_in_a_local_array) {
  u32 item[16];
  for (u32 i = 0; i < 16; ++i) item[i] = a.in[(threadIdx.x * 7 + i * 13) % 64];
  for (u32 i = 1; i < 16; ++i) {
    for (u32 k = i; k > 0 && item[k - 1] > item[k]; --k) {
      const u32 swapped = item[k];
      item[k] = item[k - 1];
      item[k - 1] = swapped;
    }
  }
  a.out[threadIdx.x] = item[threadIdx.x % 16];
}

// Copies

LEGAL(tail_filled_with_zeros_then_written) {
  __shared__ alignas(16) u32 row[32][4];
  const u32 bytes = lane_idx() < 20 ? 16 : 8;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(row[lane_idx()])),
               "l"(a.in + lane_idx() * 4), "r"(bytes)
               : "memory");
  cp_async_commit();
  cp_async_wait<0>();
  __syncwarp();
  if (lane_idx() >= 20) row[51 - lane_idx()][3] += 5;
  __syncwarp();
  a.out[lane_idx()] = row[31 - lane_idx()][3] + row[lane_idx()][2];
}

// Stages of four-byte copies whose last turn is shorter.
LEGAL(four_byte_copies_with_a_remainder) {
  __shared__ u32 stage[3][64];
  const u32 words = a.in[299];  // 300
  const u32 turns = (words + 63) / 64;
  const auto load = [&](u32 k) {
    const u32 word = k * 64 + threadIdx.x;
    if (k < turns && word < words)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&stage[k % 3][threadIdx.x])),
                   "l"(a.in + word)
                   : "memory");
    else if (k < turns) stage[k % 3][threadIdx.x] = 0;
    cp_async_commit();
  };
  load(0);
  load(1);
  u32 sum = 0;
  for (u32 k = 0; k < turns; ++k) {
    cp_async_wait<1>();
    __syncthreads();
    load(k + 2);
    sum += stage[k % 3][63 - threadIdx.x];
  }
  a.out[threadIdx.x] = sum;
}

LEGAL(bulk_sums_into_a_peer) {
  __shared__ alignas(128) u32 mine[32], sum[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  mine[lane_idx()] = lane_idx() + cluster_rank();
  sum[lane_idx()] = 100;
  fence_async_shared();
  __syncwarp();
  cluster_sync();
  if (lane_idx() == 0) {
    arrive_expect(&full, 512);
    for (u32 rank = 0; rank < 4; ++rank) bulk_add_to_peer(peer(sum, rank), mine, 128, peer(&full, rank));
  }
  __syncwarp();
  wait_cluster(&full, 0);
  a.out[cluster_rank() * 32 + lane_idx()] = sum[lane_idx()];
  __syncwarp();
  cluster_sync();
}

LEGAL(copy_within_a_ctas_own_memory) {
  __shared__ alignas(128) u32 from[64], to[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  from[threadIdx.x] = a.in[threadIdx.x];
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&full, 256);
    bulk_to_peer(peer(to, cluster_rank()), from, 256, peer(&full, cluster_rank()));
  }
  __syncwarp();
  wait(&full, 0);
  a.out[threadIdx.x] = to[63 - threadIdx.x];
}

LEGAL(linear_copies_to_several) {
  __shared__ alignas(128) u32 tile[4][32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (lane_idx() == 0) {
    arrive_expect(&full, 512);
    bulk_multicast(tile[cluster_rank()], a.in + cluster_rank() * 64, 128, &full, 15);
  }
  __syncwarp();
  wait_cluster(&full, 0);
  u32 sum = 0;
  for (u32 rank = 0; rank < 4; ++rank) sum += tile[rank][31 - lane_idx()];
  a.out[cluster_rank() * 32 + lane_idx()] = sum;
  __syncwarp();
  cluster_sync();
}

LEGAL(map_of_stores_replaced_when_they_are_done) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[256];
  if (lane_idx() < 16) map[lane_idx()] = a.store->words[lane_idx()];
  for (u32 i = lane_idx(); i < 256; i += 32) tile[i] = i;
  fence_async_shared();
  __syncwarp();
  for (u32 group = 0; group < 3; ++group) {
    if (lane_idx() == 0) replace_address(map, a.out + group * 1024);
    __syncwarp();
    publish_map(a.scratch, map);
    if (lane_idx() == 0) {
      acquire_map(a.scratch);
      tma_store(reinterpret_cast<const TensorMap*>(a.scratch), 0, 0, tile);
      bulk_commit();
      bulk_wait<0>();
    }
    __syncwarp();
  }
}

// Prefetches read nothing that could differ.
LEGAL(prefetches_beside_those_who_write) {
  if (blockIdx.x == 0) {
    a.scratch[threadIdx.x] = threadIdx.x;
  } else if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 256;" ::"l"(a.scratch) : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(a.store), "r"(0), "r"(0)
                 : "memory");
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.scratch + 32) : "memory");
    asm volatile("prefetch.tensormap [%0];" ::"l"(a.load) : "memory");
  }
  a.out[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
}

// Every CTA sends a record to every other.
LEGAL(records_from_all_to_all) {
  __shared__ uint4 box[4][8];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (lane_idx() == 0) arrive_expect(&full, 4 * 8 * 16);
  cluster_sync();
  const u32 rank = lane_idx() / 8, slot = lane_idx() % 8;
  st_async_four(peer(&box[cluster_rank()][slot], rank), make_uint4(cluster_rank(), rank, slot, a.in[lane_idx()]),
                peer(&full, rank));
  __syncwarp();
  wait_cluster(&full, 0);
  const uint4 record = box[rank][slot];
  a.out[cluster_rank() * 32 + lane_idx()] = record.x * 1000 + record.y * 100 + record.z * 10 + record.w;
  cluster_sync();
}

LEGAL(words_with_credit) {
  __shared__ u32 slot;
  __shared__ u64 full, credit;
  init_all(&full, 1, 1);
  init_all(&credit, 1, 1);
  cluster_sync();
  if (lane_idx() == 0) {
    for (u32 turn = 0; turn < 4; ++turn) {
      if (cluster_rank() == 1) {
        if (turn != 0) wait_cluster(&credit, (turn + 1) % 2);
        st_async(peer(&slot, 0), 10 + turn, peer(&full, 0));
      } else {
        arrive_expect(&full, 4);
        wait_cluster(&full, turn % 2);
        a.out[turn] = ld_shared(&slot);
        if (turn != 3) arrive_peer(peer(&credit, 1));
      }
    }
  }
  __syncwarp();
  cluster_sync();
}

LEGAL(words_of_a_peer_stored_by_a_copy) {
  __shared__ alignas(128) u32 tile[32];
  cluster_sync();
  for (u32 turn = 0; turn < 2; ++turn) {
    st_peer(peer(tile + lane_idx(), 1 - cluster_rank()), turn * 64 + cluster_rank() * 32 + lane_idx());
    cluster_sync();
    if (lane_idx() == 0) {
      fence_async_shared();
      bulk_store(a.out + turn * 64 + cluster_rank() * 32, tile, 128);
      bulk_commit();
      bulk_wait<0>();
    }
    __syncwarp();
    cluster_sync();
  }
}

// Rings

LEGAL(two_groups_take_tiles_in_turn) {
  __shared__ alignas(128) u32 stage[3][64];
  __shared__ u64 full[3], empty[3];
  init_all(full, 3, 1);
  init_all(empty, 3, 1);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 k = 0; k < 15; ++k) {
        wait(&empty[k % 3], (k / 3 + 1) % 2);
        arrive_expect(&full[k % 3], 256);
        bulk_load(stage[k % 3], a.in + k * 64, 256, &full[k % 3]);
      }
    }
    return;
  }
  const u32 group = warp_idx() - 1;
  u32 place = group * 3;
  for (u32 tile = group; tile < 5; tile += 2) {
    if (tile != 0) named_sync(1 + group, 64);
    u32 sum = 0;
    for (u32 k = 0; k < 3; ++k, ++place) {
      wait(&full[place % 3], place / 3 % 2);
      sum += stage[place % 3][lane_idx()];
      __syncwarp();
      if (lane_idx() == 0) arrive(&empty[place % 3]);
    }
    place += 3;
    if (tile != 4) named_arrive(2 - group, 64);
    a.out[tile * 32 + lane_idx()] = sum;
  }
}

// A consumer that needs no more goes on releasing, or leaves the count.
LEGAL(consumer_leaves_the_ring_by_dropping_out) {
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
  const u32 turns = warp_idx() == 1 ? 6 : 3;
  for (u32 k = 0; k < turns; ++k) {
    wait(&full[k % 2], k / 2 % 2);
    a.out[(k * 2 + warp_idx() - 1) * 32 + lane_idx()] = stage[k % 2][lane_idx()];
    __syncwarp();
    if (lane_idx() == 0) {
      if (k + 2 < turns || warp_idx() == 1) arrive(&empty[k % 2]);
      else arrive_drop(&empty[k % 2]);
    }
  }
}

// Three groups take turns by named barriers with partial counts, as in attention.
LEGAL(three_groups_take_turns) {
  __shared__ u32 staging[32];
  const u32 group = warp_idx();
  const u32 next = (group + 1) % 3;
  if (group == 2) named_arrive(1, 64);
  for (u32 turn = 0; turn < 3; ++turn) {
    named_sync(1 + group, 64);
    staging[lane_idx()] = turn * 3 + group;
    __syncwarp();
    a.out[(turn * 3 + group) * 32 + lane_idx()] = staging[31 - lane_idx()];
    if (turn < 2 || group < 2) named_arrive(1 + next, 64);
  }
}

LEGAL(operand_of_two_groups_filled_in_turn) {
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
    __syncthreads();
  }
  a.out[threadIdx.x] = __float_as_uint(d[0]);
}

// A kernel in small: registers moved, operands by a copying warp, two tiles, results stored from their staging.
LEGAL(persistent_kernel_of_two_roles) {
  struct Stage {
    alignas(128) u32 a[512];
    alignas(128) u32 b[64];
  };
  __shared__ Stage stage[2];
  __shared__ alignas(128) u32 staging[2][128];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 4);
  if (threadIdx.x >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 128) {
      for (u32 k = 0; k < 6; ++k) {
        wait(&empty[k % 2], (k / 2 + 1) % 2);
        arrive_expect(&full[k % 2], 2304);
        bulk_load(stage[k % 2].a, a.in + k * 64, 2048, &full[k % 2]);
        bulk_load(stage[k % 2].b, a.in + k * 64, 256, &full[k % 2]);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 200;");
  for (u32 tile = 0; tile < 3; ++tile) {
    float d[4] = {};
    for (u32 k = 0; k < 2; ++k) {
      const u32 at = (tile * 2 + k) % 2;
      wait(&full[at], (tile * 2 + k) / 2 % 2);
      wgmma_fence();
      wgmma(d, wgmma_descriptor(stage[at].a), wgmma_descriptor(stage[at].b), k != 0);
      wgmma_commit();
      wgmma_wait<0>();
      if (lane_idx() == 0) arrive(&empty[at]);
    }
    if (threadIdx.x == 0) bulk_wait_read<1>();
    named_sync(1, 128);
    staging[tile % 2][threadIdx.x] = __float_as_uint(d[0]) + threadIdx.x;
    fence_async_shared();
    named_sync(1, 128);
    if (threadIdx.x == 0) {
      bulk_store(a.out + tile * 128, staging[tile % 2], 512);
      bulk_commit();
    }
  }
  if (threadIdx.x == 0) bulk_wait<0>();
}

// Launches

LEGAL(launch_before_one_that_prefetches) {
  launch_dependents();
  for (u32 i = 0; i < 200; ++i) __nanosleep(100);
  a.scratch[blockIdx.x * 64 + threadIdx.x] = threadIdx.x + 1;
  launch_dependents();
}

LEGAL(dependent_launch_prefetches_and_waits_twice) {
  if (threadIdx.x == 0) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.scratch + blockIdx.x * 64) : "memory");
    asm volatile("prefetch.tensormap [%0];" ::"l"(a.load) : "memory");
  }
  wait_for_the_launch_before();
  const u32 value = a.scratch[blockIdx.x * 64 + threadIdx.x];
  launch_dependents();
  wait_for_the_launch_before();
  a.out[blockIdx.x * 64 + threadIdx.x] = value;
}
