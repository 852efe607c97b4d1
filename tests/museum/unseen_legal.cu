// SPDX-License-Identifier: Apache-2.0
//
// Legal programs of the second set: cooperative groups, libcu++, CUB, and what people write by hand.
#include "ptx.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

namespace cg = cooperative_groups;

// Cooperative groups

LEGAL(groups_of_sixteen_reduce) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const u32 sum = cg::reduce(tile, a.in[threadIdx.x], cg::plus<u32>());
  if (tile.thread_rank() == 0) a.out[tile.meta_group_rank()] = sum;
}

LEGAL(coalesced_threads_count_together) {
  if (a.in[threadIdx.x] % 3 == 0) {
    const auto group = cg::coalesced_threads();
    u32 first = 0;
    if (group.thread_rank() == 0) first = atomicAdd(a.scratch, group.size());
    first = group.shfl(first, 0);
    a.scratch[64 + first + group.thread_rank()] = threadIdx.x;
  }
  __syncthreads();
  if (threadIdx.x == 0) a.out[0] = atomicAdd(a.scratch, 0u);
}

LEGAL(groups_by_label) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const auto group = cg::labeled_partition(tile, a.in[threadIdx.x] % 3);
  a.out[threadIdx.x] = cg::reduce(group, 1u, cg::plus<u32>());
}

LEGAL(groups_by_a_predicate) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const auto group = cg::binary_partition(tile, a.in[threadIdx.x] % 5 == 0);
  a.out[threadIdx.x] = cg::reduce(group, a.in[threadIdx.x], cg::greater<u32>());
}

LEGAL(group_scan) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  a.out[threadIdx.x] = cg::exclusive_scan(tile, a.in[threadIdx.x]);
}

LEGAL(group_copies) {
  __shared__ alignas(16) u32 tile[256];
  const auto block = cg::this_thread_block();
  for (u32 k = 0; k < 2; ++k) {
    cg::memcpy_async(block, tile, a.in + k * 256, sizeof tile);
    cg::wait(block);
    a.out[k * 64 + threadIdx.x] = tile[255 - threadIdx.x];
    block.sync();
  }
}

LEGAL(group_copies_in_two_stages) {
  __shared__ alignas(16) u32 tile[2][256];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile[0], a.in, sizeof tile[0]);
  for (u32 k = 0; k < 3; ++k) {
    if (k < 2) {
      cg::memcpy_async(block, tile[(k + 1) % 2], a.in + (k + 1) * 256, sizeof tile[0]);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    a.out[k * 64 + threadIdx.x] = tile[k % 2][255 - threadIdx.x];
    block.sync();
  }
}

LEGAL(one_of_a_group_is_invoked) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const u32 first = cg::invoke_one_broadcast(tile, [&] { return atomicAdd(a.scratch, 32u); });
  a.out[first + tile.thread_rank()] = 1;
}

LEGAL(cluster_group_shares_memory) {
  __shared__ u32 tile[32];
  const auto cluster = cg::this_cluster();
  tile[threadIdx.x] = cluster.block_rank() * 100 + threadIdx.x;
  cluster.sync();
  const u32* other = cluster.map_shared_rank(tile, (cluster.block_rank() + 1) % cluster.num_blocks());
  a.out[cluster.block_rank() * 32 + threadIdx.x] = other[31 - threadIdx.x];
  cluster.sync();
}

LEGAL(cluster_group_in_two_parts) {
  __shared__ u32 tile[32];
  const auto cluster = cg::this_cluster();
  tile[threadIdx.x] = threadIdx.x;
  auto token = cluster.barrier_arrive();
  const u32 own = a.in[threadIdx.x];
  cluster.barrier_wait(std::move(token));
  a.out[cluster.block_rank() * 32 + threadIdx.x] = own + *cluster.map_shared_rank(&tile[threadIdx.x], 0);
  cluster.sync();
}

// libcu++

using Barrier = cuda::barrier<cuda::thread_scope_block>;

LEGAL(barrier_object) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  __shared__ u32 tile[64];
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  for (u32 k = 0; k < 3; ++k) {
    tile[threadIdx.x] = a.in[k * 64 + threadIdx.x];
    barrier.arrive_and_wait();
    a.out[k * 64 + threadIdx.x] = tile[63 - threadIdx.x];
    barrier.arrive_and_wait();
  }
}

LEGAL(barrier_object_in_two_parts) {
  __shared__ Barrier barrier;
  __shared__ u32 tile[64];
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  tile[threadIdx.x] = threadIdx.x;
  auto token = barrier.arrive();
  const u32 own = a.in[threadIdx.x];
  barrier.wait(std::move(token));
  a.out[threadIdx.x] = own + tile[63 - threadIdx.x];
}

// The producer and consumer of the programming guide.
LEGAL(barrier_objects_of_a_ring) {
  __shared__ Barrier ready[2], filled[2];
  __shared__ u32 tiles[2][32];
  if (threadIdx.x < 2) {
    init(&ready[threadIdx.x], 64);
    init(&filled[threadIdx.x], 64);
  }
  __syncthreads();
  if (warp_idx() == 0) {
    for (u32 k = 0; k < 4; ++k) {
      ready[k % 2].arrive_and_wait();
      tiles[k % 2][lane_idx()] = a.in[k * 32 + lane_idx()];
      (void)filled[k % 2].arrive();
    }
  } else {
    (void)ready[0].arrive();
    (void)ready[1].arrive();
    for (u32 k = 0; k < 4; ++k) {
      filled[k % 2].arrive_and_wait();
      a.out[k * 32 + lane_idx()] = tiles[k % 2][31 - lane_idx()];
      (void)ready[k % 2].arrive();
    }
  }
}

LEGAL(barrier_object_left_early) {
  __shared__ Barrier barrier;
  __shared__ u32 tile[64];
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  tile[threadIdx.x] = threadIdx.x;
  if (warp_idx() == 1) {
    barrier.arrive_and_drop();
    return;
  }
  barrier.arrive_and_wait();
  a.out[threadIdx.x] = tile[63 - threadIdx.x];
  barrier.arrive_and_wait();
  a.out[64 + threadIdx.x] = tile[threadIdx.x ^ 1];
}

LEGAL(barrier_object_and_copies) {
  __shared__ Barrier barrier;
  __shared__ alignas(16) u32 tile[256];
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  for (u32 k = 0; k < 2; ++k) {
    cuda::memcpy_async(cg::this_thread_block(), tile, a.in + k * 256, cuda::aligned_size_t<16>(sizeof tile),
                       barrier);
    barrier.arrive_and_wait();
    a.out[k * 64 + threadIdx.x] = tile[255 - threadIdx.x];
    barrier.arrive_and_wait();
  }
}

LEGAL(barrier_object_and_counted_bytes) {
  __shared__ Barrier barrier;
  __shared__ alignas(16) u32 tile[256];
  if (threadIdx.x == 0) {
    init(&barrier, 64);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, a.in, cuda::aligned_size_t<16>(sizeof tile), barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof tile);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  a.out[threadIdx.x] = tile[255 - threadIdx.x];
}

LEGAL(pipeline_of_one_thread) {
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
    a.out[k * 64 + threadIdx.x] = tiles[k % 2][255 - threadIdx.x];
    __syncthreads();
    pipe.consumer_release();
  }
}

LEGAL(pipeline_of_a_block) {
  constexpr auto scope = cuda::thread_scope_block;
  __shared__ cuda::pipeline_shared_state<scope, 2> state;
  __shared__ alignas(16) u32 tiles[2][256];
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (u32 next = 0, k = 0; k < 4; ++k) {
    for (; next < 4 && next < k + 2; ++next) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tiles[next % 2], a.in + next * 256, cuda::aligned_size_t<16>(1024), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    a.out[k * 64 + threadIdx.x] = tiles[k % 2][255 - threadIdx.x];
    pipe.consumer_release();
  }
}

LEGAL(pipeline_of_two_roles) {
  constexpr auto scope = cuda::thread_scope_block;
  __shared__ cuda::pipeline_shared_state<scope, 2> state;
  __shared__ alignas(16) u32 tiles[2][128];
  const auto block = cg::this_thread_block();
  const auto role = warp_idx() == 0 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  for (u32 k = 0; k < 4; ++k) {
    if (role == cuda::pipeline_role::producer) {
      pipe.producer_acquire();
      cuda::memcpy_async(&tiles[k % 2][lane_idx() * 4], a.in + k * 128 + lane_idx() * 4,
                         cuda::aligned_size_t<16>(16), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      a.out[k * 32 + lane_idx()] = tiles[k % 2][127 - lane_idx()];
      pipe.consumer_release();
    }
  }
}

LEGAL(atomic_ref_flag) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<u32, cuda::thread_scope_device> flag(a.scratch[64]);
  if (blockIdx.x == 0) {
    a.scratch[0] = 42;
    flag.store(1, cuda::memory_order_release);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    a.out[0] = a.scratch[0];
  }
}

LEGAL(atomic_ref_waits_and_is_notified) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<u32, cuda::thread_scope_device> flag(a.scratch[64]);
  if (blockIdx.x == 0) {
    a.scratch[0] = 42;
    flag.store(1, cuda::memory_order_release);
    flag.notify_all();
  } else {
    flag.wait(0, cuda::memory_order_acquire);
    a.out[0] = a.scratch[0];
  }
}

LEGAL(semaphore_object) {
  __shared__ cuda::binary_semaphore<cuda::thread_scope_block> lock;
  __shared__ u32 sum;
  if (threadIdx.x == 0) {
    new (&lock) cuda::binary_semaphore<cuda::thread_scope_block>(1);
    sum = 0;
  }
  __syncthreads();
  if (lane_idx() == 0) {
    lock.acquire();
    sum += warp_idx() + 1;
    lock.release();
  }
  __syncthreads();
  a.out[threadIdx.x] = sum;
}

LEGAL(latch_object) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(Latch) char storage[sizeof(Latch)];
  __shared__ u32 tile[64];
  Latch& latch = reinterpret_cast<Latch&>(storage);
  if (threadIdx.x == 0) new (&latch) Latch(64);
  __syncthreads();
  tile[threadIdx.x] = a.in[threadIdx.x];
  latch.arrive_and_wait();
  a.out[threadIdx.x] = tile[63 - threadIdx.x];
}

// CUB

LEGAL(cub_reduces_twice) {
  using Reduce = cub::BlockReduce<u32, 128>;
  __shared__ Reduce::TempStorage storage;
  for (u32 k = 0; k < 2; ++k) {
    const u32 sum = Reduce(storage).Sum(a.in[k * 128 + threadIdx.x]);
    if (threadIdx.x == 0) a.out[k] = sum;
    __syncthreads();
  }
}

LEGAL(cub_scans) {
  using Scan = cub::BlockScan<u32, 128>;
  __shared__ Scan::TempStorage storage;
  u32 sum = 0, total = 0;
  Scan(storage).ExclusiveSum(a.in[threadIdx.x], sum, total);
  a.out[threadIdx.x] = sum + total;
}

LEGAL(cub_sorts) {
  using Sort = cub::BlockRadixSort<u32, 64, 2>;
  __shared__ Sort::TempStorage storage;
  u32 keys[2] = {a.in[127 - threadIdx.x] * 7 % 64, a.in[threadIdx.x] * 5 % 64};
  Sort(storage).Sort(keys, 0, 6);
  a.out[threadIdx.x * 2] = keys[0];
  a.out[threadIdx.x * 2 + 1] = keys[1];
}

LEGAL(cub_loads_and_stores_transposed) {
  using Load = cub::BlockLoad<u32, 64, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<u32, 64, 4, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    Load::TempStorage load;
    Store::TempStorage store;
  } storage;
  u32 items[4];
  Load(storage.load).Load(a.in, items);
  __syncthreads();
  for (u32& item : items) item *= 2;
  Store(storage.store).Store(a.out, items);
}

LEGAL(cub_histogram) {
  using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 16, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ Histogram::TempStorage storage;
  __shared__ u32 bins[16];
  unsigned char samples[4];
  for (u32 i = 0; i < 4; ++i) samples[i] = static_cast<unsigned char>(a.in[threadIdx.x * 4 + i] % 16);
  Histogram(storage).Histogram(samples, bins);
  __syncthreads();
  if (threadIdx.x < 16) a.out[threadIdx.x] = bins[threadIdx.x];
}

LEGAL(cub_warps) {
  using Reduce = cub::WarpReduce<u32>;
  using Scan = cub::WarpScan<u32>;
  __shared__ Reduce::TempStorage reduce[2];
  __shared__ Scan::TempStorage scan[2];
  const u32 sum = Reduce(reduce[warp_idx()]).Sum(a.in[threadIdx.x], 20);
  u32 before;
  Scan(scan[warp_idx()]).ExclusiveSum(a.in[threadIdx.x], before);
  a.out[threadIdx.x] = lane_idx() == 0 ? sum : before;
}

// What people write by hand

// Decoupled look-back with status and value in one word of 64 bits.
LEGAL(look_back_in_64_bits) {
  u64* states = reinterpret_cast<u64*>(a.scratch);
  const u32 sum = __reduce_add_sync(0xFFFFFFFFu, a.in[blockIdx.x * 32 + threadIdx.x]);
  if (threadIdx.x != 0) return;
  const auto publish = [&](u64 status, u64 value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(states + blockIdx.x), "l"(status << 32 | value)
                 : "memory");
  };
  u32 before = 0;
  if (blockIdx.x > 0) {
    publish(1, sum);
    for (u32 block = blockIdx.x - 1;;) {
      u64 seen;
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(states + block) : "memory");
      if (seen >> 32 == 0) continue;
      before += static_cast<u32>(seen);
      if (seen >> 32 == 2) break;
      --block;
    }
  }
  publish(2, before + sum);
  a.out[blockIdx.x] = before;
}

LEGAL(last_block_by_wrapping_counter) {
  __shared__ bool is_last;
  a.scratch[blockIdx.x * 64 + threadIdx.x] = a.in[threadIdx.x];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicInc(a.scratch + 1024, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (is_last) {
    __threadfence();
    u32 sum = 0;
    for (u32 i = 0; i < gridDim.x; ++i) sum += ld_weak(a.scratch + i * 64 + (63 - threadIdx.x));
    a.out[threadIdx.x] = sum;
  }
}

// CUTLASS's semaphore: the parts of a tile are added in their turn.
LEGAL(split_k_in_turns) {
  u32* turn = a.scratch + 1024;
  for (;;) {
    const u32 now = threadIdx.x == 0 ? ld_acquire_gpu(turn) : 0;
    if (__syncthreads_and(threadIdx.x != 0 || now == blockIdx.x)) break;
  }
  st_weak(a.out + threadIdx.x, ld_weak(a.out + threadIdx.x) * 3 + blockIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) st_release_gpu(turn, blockIdx.x + 1);
}

LEGAL(split_k_by_float_atomics) {
  float* sums = reinterpret_cast<float*>(a.out);
  atomicAdd(sums + threadIdx.x, static_cast<float>(blockIdx.x + 1));
}

// Stream K: helpers leave their parts in a workspace, the owner adds them.
LEGAL(stream_k_fix_up) {
  u32* arrived = a.scratch + 2048;
  if (blockIdx.x > 0) {
    st_weak(a.scratch + blockIdx.x * 64 + threadIdx.x, a.in[threadIdx.x] * blockIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
  } else {
    u32 sum = a.in[threadIdx.x];
    if (threadIdx.x == 0) {
      while (ld_acquire_gpu(arrived) != gridDim.x - 1) __nanosleep(20);
    }
    __syncthreads();
    for (u32 i = 1; i < gridDim.x; ++i) sum += ld_weak(a.scratch + i * 64 + threadIdx.x);
    a.out[threadIdx.x] = sum;
  }
}

LEGAL(tiles_from_a_counter) {
  __shared__ u32 tile[2];
  for (u32 k = 0;; ++k) {
    if (threadIdx.x == 0) tile[k % 2] = atomicAdd(a.scratch, 1u);
    __syncthreads();
    const u32 mine = tile[k % 2];
    if (mine >= 8) break;
    a.out[mine * 64 + threadIdx.x] = mine + 1;
  }
}

LEGAL(lock_with_back_off) {
  if (threadIdx.x == 0) {
    u32 pause = 8;
    while (atomicCAS(a.scratch, 0u, 1u) != 0) {
      __nanosleep(pause);
      if (pause < 256) pause *= 2;
    }
    __threadfence();
    st_weak(a.scratch + 32, ld_weak(a.scratch + 32) + 1);
    __threadfence();
    atomicExch(a.scratch, 0u);
  }
}

// A peer sends words and counts their bytes.
LEGAL(words_sent_to_a_peer) {
  __shared__ alignas(16) u32 words[2][32];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  cluster_sync();
  const u32 other = cluster_rank() ^ 1;
  for (u32 k = 0; k < 2; ++k) {
    if (threadIdx.x == 0) arrive_expect(&full[k], 128);
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                     peer(&words[k][threadIdx.x], other)),
                 "r"(cluster_rank() * 100 + k * 10 + threadIdx.x), "r"(peer(&full[k], other))
                 : "memory");
  }
  for (u32 k = 0; k < 2; ++k) {
    wait_cluster(&full[k], 0);
    a.out[(cluster_rank() * 2 + k) * 32 + threadIdx.x] = ld_shared(&words[k][31 - threadIdx.x]);
  }
  cluster_sync();
}

LEGAL(sums_sent_to_a_peer) {
  __shared__ u32 sum;
  __shared__ u64 full;
  if (threadIdx.x == 0) sum = 0;
  init_all(&full, 1, 1);
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) arrive_expect(&full, 4 * 128);
  asm volatile(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(
          peer(&sum, 0)),
      "r"(threadIdx.x), "r"(peer(&full, 0))
      : "memory");
  if (cluster_rank() == 0) {
    wait_cluster(&full, 0);
    a.out[threadIdx.x] = ld_shared(&sum);
  }
  cluster_sync();
}

// Four CTAs bring a quarter each for all.
LEGAL(multicast_of_quarters) {
  __shared__ alignas(128) u32 tile[4][256];
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, 4);
  cluster_sync();
  for (u32 k = 0; k < 3; ++k) {
    if (threadIdx.x == 0) {
      wait_cluster(&empty, k % 2 ^ 1);
      arrive_expect(&full, 4 * kBoxBytes);
      tma_load_multicast(tile[cluster_rank()], a.load, static_cast<int>(k) * 16,
                         static_cast<int>(cluster_rank()) * 16, &full, 15);
    }
    wait_cluster(&full, k % 2);
    a.out[(k * 4 + cluster_rank()) * 64 + threadIdx.x] = ld_shared(&tile[threadIdx.x / 16][threadIdx.x]);
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x < 4) arrive_peer(peer(&empty, threadIdx.x));
  }
  cluster_sync();
}

// Consumers with tokens of their own, and a producer that is a whole warpgroup.
LEGAL(producer_warps_elect_one) {
  __shared__ alignas(128) u32 tiles[2][256];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 2);
  if (warp_idx() == 0) {
    for (u32 k = 0; k < 4; ++k) {
      wait(&empty[k % 2], k / 2 % 2 ^ 1);
      if (elect()) {
        arrive_expect(&full[k % 2], kBoxBytes);
        tma_load(tiles[k % 2], a.load, static_cast<int>(k) * 16, 0, &full[k % 2]);
      }
      __syncwarp();
    }
  } else {
    for (u32 k = 0; k < 4; ++k) {
      wait(&full[k % 2], k / 2 % 2);
      a.out[(k * 2 + warp_idx() - 1) * 32 + lane_idx()] = ld_shared(&tiles[k % 2][lane_idx()]);
      fence_async_shared();
      __syncwarp();
      if (elect()) arrive(&empty[k % 2]);
    }
  }
}
