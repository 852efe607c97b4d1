// SPDX-License-Identifier: Apache-2.0
//
// A third set of bugs that were written before anybody looked at what the checks make of them: barriers of warps
// and of libcu++, tensor maps made on the device, reductions by copies, memory that nobody wrote, dependent
// launches.
#include "ptx.h"

#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

// Named barriers and masks of a warp

// bar.red and bar.sync of one barrier in one phase.
EXHIBIT(votes_meet_a_plain_barrier) {
  u32 count = 0;
  if (warp_idx() == 0 || mended)
    asm volatile("{.reg .pred p; setp.lt.u32 p, %1, 40; barrier.red.popc.u32 %0, 1, 64, p;}"
                 : "=r"(count)
                 : "r"(threadIdx.x)
                 : "memory");
  else named_sync(1, 64);
  a.out[threadIdx.x] = warp_idx() == 0 ? count : 0;
}

EXHIBIT(named_barrier_sixteen) {
  const u32 id = a.in[mended ? 14 : 15];
  named_sync(id, 64);
  a.out[threadIdx.x] = id;
}

EXHIBIT(two_named_barriers_in_opposite_order) {
  const u32 first = warp_idx() == 0 || mended ? 1 : 2;
  named_sync(first, 64);
  named_sync(3 - first, 64);
  a.out[threadIdx.x] = 1;
}

// Eight warps in two halves; the halves' barrier counts one warp too few, so that it opens before the last has
// come.
EXHIBIT(named_barrier_of_three_of_four_warps) {
  __shared__ u32 part[8];
  const u32 half = warp_idx() / 4;
  if (lane_idx() == 0) part[warp_idx()] = warp_idx();
  __syncwarp();
  named_sync(1 + half, mended ? 128 : 96);
  if (lane_idx() == 0) a.out[warp_idx()] = part[half * 4 + (warp_idx() + 1) % 4];
}

EXHIBIT(syncwarp_of_the_lower_half) {
  __shared__ u32 tile[32];
  tile[lane_idx()] = lane_idx();
  if (mended) __syncwarp();
  else if (lane_idx() < 16) __syncwarp(0xffff);
  if (lane_idx() < 16) a.out[lane_idx()] = tile[lane_idx() + 16];
}

// The lanes make different numbers of turns, and each turn adds up all of them.
EXHIBIT(sum_in_turns_that_differ) {
  u32 sum = 0;
  const u32 turns = mended ? 4 : 1 + lane_idx() % 4;
  for (u32 turn = 0; turn < turns; ++turn) sum += __reduce_add_sync(0xffffffff, turn);
  __syncwarp();
  a.out[lane_idx()] = sum;
}

EXHIBIT(mask_taken_before_the_branch) {
  const u32 mask = __activemask();
  u32 value = lane_idx();
  if (lane_idx() < 8) value = __shfl_sync(mended ? 0xff : mask, value, 0);
  __syncwarp();
  a.out[lane_idx()] = value;
}

EXHIBIT(group_of_eight_does_not_meet) {
  __shared__ u32 tile[64];
  const auto group = cg::tiled_partition<8>(cg::this_thread_block());
  tile[threadIdx.x] = threadIdx.x;
  if (mended) group.sync();
  a.out[threadIdx.x] = tile[threadIdx.x ^ 7];
}

// libcu++

EXHIBIT(barrier_object_arrived_at_and_not_waited_for) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ u32 tile[64];
  if (threadIdx.x == 0) init(&bar, 64);
  __syncthreads();
  tile[threadIdx.x] = threadIdx.x;
  auto token = bar.arrive();
  if (mended) bar.wait(static_cast<decltype(token)&&>(token));
  a.out[threadIdx.x] = tile[threadIdx.x ^ 32];
}

EXHIBIT(barrier_object_counts_the_block) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, mended ? 32 : blockDim.x);
  __syncthreads();
  if (warp_idx() == 0) bar.arrive_and_wait();
  __syncthreads();
  a.out[threadIdx.x] = 1;
}

EXHIBIT(pipeline_object_waits_for_one_batch_of_two) {
  __shared__ alignas(16) u32 tile[2][32][4];
  auto pipe = cuda::make_pipeline();
  for (u32 turn = 0; turn < 2; ++turn) {
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[turn][lane_idx()], a.in + turn * 128 + lane_idx() * 4, cuda::aligned_size_t<16>(16),
                       pipe);
    pipe.producer_commit();
  }
  if (mended) cuda::pipeline_consumer_wait_prior<0>(pipe);
  else cuda::pipeline_consumer_wait_prior<1>(pipe);
  a.out[lane_idx()] = tile[1][lane_idx()][0];
}

EXHIBIT(pipeline_object_never_commits) {
  __shared__ alignas(16) u32 tile[32][4];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&tile[lane_idx()], a.in + lane_idx() * 4, cuda::aligned_size_t<16>(16), pipe);
  if (mended) pipe.producer_commit();
  pipe.consumer_wait();
  a.out[lane_idx()] = tile[lane_idx()][1];
  pipe.consumer_release();
}

EXHIBIT(pipeline_object_is_not_released) {
  __shared__ alignas(16) u32 tile[2][64][4];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (u32 turn = 0; turn < 4; ++turn) {
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[turn % 2][threadIdx.x], a.in + turn * 256 + threadIdx.x * 4,
                       cuda::aligned_size_t<16>(16), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    a.out[turn * 64 + threadIdx.x] = tile[turn % 2][threadIdx.x ^ 1][0];
    if (mended || turn == 0) pipe.consumer_release();
  }
}

EXHIBIT(barrier_object_expects_half_of_a_copy) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ alignas(16) u32 tile[64];
  if (threadIdx.x == 0) init(&bar, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, a.in, cuda::aligned_size_t<16>(256), bar);
    [[maybe_unused]] auto token = cuda::device::barrier_arrive_tx(bar, 1, mended ? 256 : 128);
  }
  bar.wait_parity(false);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

EXHIBIT(latch_of_one_too_few) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(Latch) unsigned char place[sizeof(Latch)];
  __shared__ u32 tile[64];
  Latch& latch = *reinterpret_cast<Latch*>(place);
  if (threadIdx.x == 0) new (&latch) Latch(mended ? 64 : 63);
  __syncthreads();
  if (threadIdx.x < 63 || mended) {
    tile[threadIdx.x] = threadIdx.x;
    latch.arrive_and_wait();
  } else {
    tile[threadIdx.x] = threadIdx.x;
  }
  a.out[threadIdx.x] = tile[63 - threadIdx.x];
}

EXHIBIT(atomic_ref_flag_without_release) {
  cuda::atomic_ref<u32, cuda::thread_scope_device> flag(a.scratch[64]);
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = 42;
    flag.store(1, mended ? cuda::memory_order_release : cuda::memory_order_relaxed);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    a.out[0] = a.scratch[0];
  }
}

EXHIBIT(fence_object_of_block_scope) {
  cuda::atomic_ref<u32, cuda::thread_scope_device> flag(a.scratch[64]);
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = 42;
    cuda::atomic_thread_fence(cuda::memory_order_release,
                              mended ? cuda::thread_scope_device : cuda::thread_scope_block);
    flag.store(1, cuda::memory_order_relaxed);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    a.out[0] = a.scratch[0];
  }
}

// mbarriers

// The parity of the third turn is 2.
EXHIBIT(parity_is_the_turn) {
  __shared__ u64 bar;
  init_all(&bar, 1, 32);
  for (u32 turn = 0; turn < 3; ++turn) {
    arrive(&bar);
    wait(&bar, mended ? turn % 2 : turn);
  }
  a.out[lane_idx()] = 1;
}

EXHIBIT(barrier_of_a_million_arrivals) {
  __shared__ u64 bar;
  const u32 count = a.in[mended ? 31 : 0] << (mended ? 0 : 20);
  init_all(&bar, 1, count);
  arrive(&bar);
  wait(&bar, 0);
  a.out[lane_idx()] = 1;
}

EXHIBIT(barrier_in_global_memory) {
  __shared__ u64 inside;
  u64* bar = mended ? &inside : reinterpret_cast<u64*>(a.scratch);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.b64 [%0], 32;" ::"l"(bar) : "memory");
  __syncthreads();
  asm volatile("mbarrier.arrive.b64 _, [%0];" ::"l"(bar) : "memory");
  a.out[lane_idx()] = 1;
}

// An arrival that must not complete the phase, and does.
EXHIBIT(last_arrival_may_not_complete) {
  __shared__ u64 bar;
  init_all(&bar, 1, 33);
  u64 token;
  asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;"
               : "=l"(token)
               : "r"(shared_address(&bar)), "r"(lane_idx() == 0 && !mended ? 2u : 1u)
               : "memory");
  __syncwarp();
  if (mended && lane_idx() == 0) arrive(&bar);
  wait(&bar, 0);
  a.out[lane_idx()] = static_cast<u32>(token != 0);
}

// A ring in which the consumer's slot does not wrap with its parity.
EXHIBIT(slot_wraps_one_turn_late) {
  __shared__ u32 ring[3];
  __shared__ u64 full[3], empty[3];
  init_all(full, 3, 1);
  init_all(empty, 3, 1);
  if (lane_idx() != 0) return;
  u32 slot = 0, parity = 0;
  for (u32 turn = 0; turn < 7; ++turn) {
    if (warp_idx() == 0) {
      wait(&empty[slot], parity ^ 1);
      ring[slot] = turn;
      arrive(&full[slot]);
    } else {
      wait(&full[slot], parity);
      a.out[turn] = ring[slot];
      arrive(&empty[slot]);
    }
    const u32 last = warp_idx() == 0 || mended ? 3 : 2;
    if (++slot == last) {
      slot = 0;
      parity ^= 1;
    }
  }
}

// Data of two writers, of which one arrives before it has written its second part.
EXHIBIT(second_part_is_written_after_the_arrive) {
  __shared__ u32 tile[2][32];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    tile[0][lane_idx()] = 1;
    if (mended) tile[1][lane_idx()] = 2;
    arrive(&full);
    if (!mended) tile[1][lane_idx()] = 2;
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = tile[0][lane_idx()] + tile[1][lane_idx()];
  }
}

// Copies

EXHIBIT(tensor_sum_without_proxy_fence) {
  __shared__ alignas(128) u32 tile[256];
  for (u32 i = threadIdx.x; i < 256; i += 64) tile[i] = i;
  if (mended) fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    tma_add(a.store, 0, 0, tile);
    bulk_commit();
    bulk_wait<0>();
  }
}

EXHIBIT(summand_overwritten_under_the_sum) {
  __shared__ alignas(128) u32 tile[256];
  for (u32 turn = 0; turn < 2; ++turn) {
    for (u32 i = threadIdx.x; i < 256; i += 64) tile[i] = i + turn;
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      tma_add(a.store, 0, 0, tile);
      bulk_commit();
      if (mended || turn == 1) bulk_wait_read<0>();
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) bulk_wait<0>();
}

EXHIBIT(matrix_stored_and_copied_without_fence) {
  __shared__ alignas(128) u32 tile[256];
  for (u32 i = lane_idx(); i < 256; i += 32) tile[i] = 0;
  fence_async_shared();
  __syncwarp();
  const u32 to = shared_address(tile) + lane_idx() * 16;
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(lane_idx())
               : "memory");
  if (mended) fence_async_shared();
  __syncwarp();
  if (lane_idx() == 0) {
    tma_store(a.store, 0, 0, tile);
    bulk_commit();
    bulk_wait<0>();
  }
}

EXHIBIT(commit_before_the_store) {
  __shared__ alignas(128) u32 tile[256];
  for (u32 i = threadIdx.x; i < 256; i += 64) tile[i] = i;
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (!mended) bulk_commit();
    tma_store(a.store, 0, 0, tile);
    if (mended) bulk_commit();
    bulk_wait_read<0>();
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < 256; i += 64) tile[i] = 0;
  if (threadIdx.x == 0) {
    bulk_commit();
    bulk_wait<0>();
  }
}

// The box is twice as large as the tile, and reaches into what stands after it.
EXHIBIT(box_larger_than_its_tile) {
  struct Shared {
    alignas(128) u32 tile[mended ? 256 : 128];
    u32 sums[128];
  };
  __shared__ Shared s;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBoxBytes);
    tma_load(s.tile, a.load, 0, 0, &full);
  }
  s.sums[threadIdx.x] = threadIdx.x;
  wait(&full, 0);
  __syncthreads();
  a.out[threadIdx.x] = s.tile[threadIdx.x] + s.sums[threadIdx.x ^ 32];
}

EXHIBIT(tensor_copy_of_another_rank) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBoxBytes);
    if (mended) tma_load(tile, a.load, 0, 0, &full);
    else
      asm volatile(
          "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, "
          "%2}], [%3];" ::"r"(shared_address(tile)),
          "l"(a.load), "r"(0), "r"(shared_address(&full))
          : "memory");
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

// More is stored than was written.
EXHIBIT(store_of_more_than_was_written) {
  __shared__ alignas(128) u32 tile[64];
  if (threadIdx.x < (mended ? 64 : 48)) tile[threadIdx.x] = threadIdx.x;
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out, tile, 256);
    bulk_commit();
    bulk_wait<0>();
  }
}

// Another CTA's words, handed over rightly to threads and then read by a copy.
EXHIBIT(copy_of_what_another_cta_wrote) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (blockIdx.x == 0) {
    a.scratch[lane_idx()] = lane_idx();
    __syncwarp();
    if (lane_idx() == 0) st_release_gpu(a.scratch + 64, 1);
  } else if (lane_idx() == 0) {
    while (ld_acquire_gpu(a.scratch + 64) == 0) {
    }
    if (mended) fence_async_global();
    arrive_expect(&full, 128);
    bulk_load(tile, a.scratch, 128, &full);
    wait(&full, 0);
    a.out[0] = tile[3];
  }
}

EXHIBIT(read_only_load_of_another_ctas_words) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = 42;
    st_release_gpu(a.scratch + 64, 1);
  } else {
    while (ld_acquire_gpu(a.scratch + 64) == 0) {
    }
    a.out[0] = mended ? ld_weak(a.scratch) : __ldg(a.scratch);
  }
}

EXHIBIT(arrive_of_cp_async_before_the_copy) {
  __shared__ alignas(16) u32 tile[32][4];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    if (!mended) cp_async_arrive_noinc(&full);
    cp_async(&tile[lane_idx()], a.in + lane_idx() * 4);
    if (mended) cp_async_arrive_noinc(&full);
    cp_async_commit();
    cp_async_wait<0>();
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = tile[lane_idx()][0];
  }
}

EXHIBIT(cp_async_to_the_third_word) {
  __shared__ alignas(16) u32 tile[160];
  cp_async(tile + lane_idx() * 4 + (mended ? 4 : 2), a.in + lane_idx() * 4);
  cp_async_commit();
  cp_async_wait<0>();
  a.out[lane_idx()] = tile[lane_idx() * 4 + 4];
}

// A bulk copy into bytes of a cp.async that is still in flight.
EXHIBIT(two_kinds_of_copies_into_one_tile) {
  __shared__ alignas(128) u32 tile[128];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cp_async(tile + lane_idx() * 4, a.in + lane_idx() * 4);
  cp_async_commit();
  if (mended) cp_async_wait<0>();
  fence_async_shared();
  __syncwarp();
  if (lane_idx() == 0) {
    arrive_expect(&full, 512);
    bulk_load(tile, a.in + 512, 512, &full);
  }
  wait(&full, 0);
  cp_async_wait<0>();
  a.out[lane_idx()] = tile[lane_idx()];
}

// Tensor maps

namespace {

__device__ __forceinline__ void publish_map(const Args& a, u64 (&map)[16], bool fenced) {
  auto* words = reinterpret_cast<u64*>(a.scratch);
  if (lane_idx() < 16) map[lane_idx()] = a.load->words[lane_idx()];
  __syncwarp();
  if (lane_idx() == 0)
    asm volatile(
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared_address(map)),
        "l"(a.in + 1024)
        : "memory");
  __syncwarp();
  if (fenced)
    asm volatile(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
        "128;" ::"l"(words),
        "r"(shared_address(map))
        : "memory");
  else if (lane_idx() < 16) words[lane_idx()] = map[lane_idx()];
  __syncwarp();
}

__device__ inline void acquire_map(const void* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

}  // namespace

EXHIBIT(replaced_map_stored_by_threads) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  publish_map(a, map, mended);
  if (lane_idx() == 0) {
    acquire_map(a.scratch);
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, reinterpret_cast<const TensorMap*>(a.scratch), 0, 0, &full);
  }
  wait(&full, 0);
  a.out[lane_idx()] = tile[lane_idx()];
}

EXHIBIT(replaced_map_not_acquired) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  publish_map(a, map, true);
  if (lane_idx() == 0) {
    if (mended) acquire_map(a.scratch);
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, reinterpret_cast<const TensorMap*>(a.scratch), 0, 0, &full);
  }
  wait(&full, 0);
  a.out[lane_idx()] = tile[lane_idx()];
}

EXHIBIT(replaced_map_without_syncwarp) {
  __shared__ alignas(128) u64 map[16];
  if (lane_idx() < 16) map[lane_idx()] = a.load->words[lane_idx()];
  if (mended) __syncwarp();
  if (lane_idx() == 31)
    asm volatile(
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared_address(map)),
        "l"(a.in + 1024)
        : "memory");
  __syncwarp();
  a.out[lane_idx()] = static_cast<u32>(map[2]);
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

EXHIBIT(one_warp_waits_for_the_warpgroups_operand) {
  __shared__ Tiles t;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  fill(t);
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&full, 2048);
    bulk_load(t.a, a.in, 2048, &full);
  }
  if (mended || warp_idx() == 0) wait(&full, 0);
  float d[4] = {};
  wgmma_fence();
  wgmma(d, wgmma_descriptor(t.a), wgmma_descriptor(t.b), 0);
  wgmma_commit();
  wgmma_wait<0>();
  a.out[threadIdx.x] = __float_as_uint(d[0]);
  wait(&full, 0);
}

EXHIBIT(accumulators_set_after_the_fence) {
  __shared__ Tiles t;
  fill(t);
  __syncthreads();
  float d[4] = {1, 2, 3, 4};
  const float seed = static_cast<float>(a.in[threadIdx.x]);
  wgmma_fence();
  wgmma(d, wgmma_descriptor(t.a), wgmma_descriptor(t.b), 1);
  wgmma_commit();
  wgmma_wait<0>();
  for (float& x : d) x *= seed;
  if (mended) wgmma_fence();
  wgmma(d, wgmma_descriptor(t.a), wgmma_descriptor(t.b), 1);
  wgmma_commit();
  wgmma_wait<0>();
  a.out[threadIdx.x] = __float_as_uint(d[0]);
}

EXHIBIT(leading_offset_of_a_wider_tile) {
  __shared__ Tiles t;
  fill(t);
  __syncthreads();
  float d[4] = {};
  const u64 b = mended ? wgmma_descriptor(t.b) : (wgmma_descriptor(t.b) & ~(u64{0x3fff} << 16)) | u64{64} << 16;
  wgmma_fence();
  wgmma(d, wgmma_descriptor(t.a), b, 0);
  wgmma_commit();
  wgmma_wait<0>();
  a.out[threadIdx.x] = __float_as_uint(d[0]);
}

// The commit stands in a branch that one turn does not take.
EXHIBIT(last_multiplication_not_committed) {
  __shared__ Tiles t;
  fill(t);
  __syncthreads();
  float d[4] = {};
  wgmma_fence();
  for (u32 k = 0; k < 3; ++k) {
    wgmma(d, wgmma_descriptor(t.a), wgmma_descriptor(t.b), k);
    if (mended || k < 2) wgmma_commit();
  }
  wgmma_wait<0>();
  a.out[threadIdx.x] = __float_as_uint(d[0]);
}

EXHIBIT(registers_given_that_it_does_not_have) {
  if (mended) asm volatile("setmaxnreg.dec.sync.aligned.u32 96;");
  else asm volatile("setmaxnreg.dec.sync.aligned.u32 152;");
  a.out[threadIdx.x] = 1;
}

// Clusters

EXHIBIT(rank_beyond_the_cluster) {
  __shared__ u32 word;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) word = cluster.block_rank();
  cluster.sync();
  const u32 rank = (cluster.block_rank() + 1) % (mended ? 2 : 4) + (mended ? 0 : 1);
  if (threadIdx.x == 0) a.out[cluster.block_rank()] = *cluster.map_shared_rank(&word, rank);
  cluster.sync();
}

EXHIBIT(remote_count_by_load_and_store) {
  __shared__ u32 count;
  if (threadIdx.x == 0) count = 0;
  cluster_sync();
  if (threadIdx.x == 0) {
    if (mended)
      asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(peer(&count, 0)) : "memory");
    else st_peer(peer(&count, 0), ld_peer(peer(&count, 0)) + 1);
  }
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) a.out[0] = count;
}

EXHIBIT(cluster_wait_without_arrive) {
  if (mended) cluster_arrive();
  cluster_wait();
  a.out[cluster_rank() * 32 + threadIdx.x] = 1;
}

// The cluster's barrier waits for every thread; one warp alone comes to it.
EXHIBIT(cluster_barrier_of_one_warp) {
  __shared__ u32 tile[64];
  tile[threadIdx.x] = threadIdx.x;
  if (mended || warp_idx() == 0) cluster_sync();
  __syncthreads();
  a.out[cluster_rank() * 64 + threadIdx.x] = ld_peer(peer(&tile[threadIdx.x], cluster_rank() ^ 1));
  cluster_sync();
}

EXHIBIT(all_lanes_arrive_at_a_peer) {
  __shared__ u64 empty;
  init_all(&empty, 1, 2);
  cluster_sync();
  if (mended) __syncwarp();
  if (mended ? lane_idx() == 0 : true) arrive_peer(peer(&empty, 0));
  if (cluster_rank() == 0) wait_cluster(&empty, 0);
  cluster_sync();
  a.out[cluster_rank() * 32 + threadIdx.x] = 1;
}

EXHIBIT(copy_to_a_peer_on_the_senders_barrier) {
  __shared__ alignas(128) u32 from[32];
  __shared__ alignas(128) u32 to[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  from[lane_idx()] = cluster_rank();
  fence_async_shared();
  cluster_sync();
  if (lane_idx() == 0) {
    arrive_expect(&full, 128);
    bulk_to_peer(peer(to, cluster_rank() ^ 1), from, 128,
                 mended ? peer(&full, cluster_rank() ^ 1) : peer(&full, cluster_rank()));
  }
  wait_cluster(&full, 0);
  a.out[cluster_rank() * 32 + lane_idx()] = to[lane_idx()];
  cluster_sync();
}

// Both send on; nobody waits until the peer has read what came before.
EXHIBIT(second_copy_to_a_peer_without_credit) {
  __shared__ alignas(128) u32 from[32];
  __shared__ alignas(128) u32 to[32];
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, 1);
  from[lane_idx()] = cluster_rank();
  fence_async_shared();
  cluster_sync();
  const u32 other = cluster_rank() ^ 1;
  for (u32 turn = 0; turn < 2; ++turn) {
    if (lane_idx() == 0) {
      if (mended) wait_cluster(&empty, turn ^ 1);
      arrive_expect(&full, 128);
      bulk_to_peer(peer(to, other), from, 128, peer(&full, other));
    }
    wait_cluster(&full, turn);
    a.out[turn * 64 + cluster_rank() * 32 + lane_idx()] = to[lane_idx()];
    fence_async_shared();
    __syncwarp();
    if (lane_idx() == 0) arrive_peer(peer(&empty, other));
  }
  cluster_sync();
}

// Global memory

EXHIBIT(relaxed_count_hands_over) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = 42;
    if (mended) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(a.scratch + 64) : "memory");
    else asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(a.scratch + 64) : "memory");
  } else {
    while (ld_acquire_gpu(a.scratch + 64) == 0) {
    }
    a.out[0] = a.scratch[0];
  }
}

EXHIBIT(lane_0_publishes_for_its_warp) {
  if (blockIdx.x == 0) {
    a.scratch[lane_idx()] = lane_idx();
    if (mended) __syncwarp();
    if (lane_idx() == 0) {
      __threadfence();
      st_volatile(a.scratch + 64, 1);
    }
  } else {
    if (lane_idx() == 0) {
      while (ld_volatile(a.scratch + 64) == 0) {
      }
      __threadfence();
    }
    __syncwarp();
    a.out[lane_idx()] = a.scratch[lane_idx()];
  }
}

EXHIBIT(half_of_a_packed_word_is_read_plainly) {
  if (threadIdx.x != 0) return;
  auto* packed = reinterpret_cast<u64*>(a.scratch);
  if (blockIdx.x == 0) atomicExch(packed, u64{7} << 32 | 1);
  else if (mended) a.out[0] = static_cast<u32>(atomicAdd(packed, 0ull) >> 63);
  else a.out[0] = ld_weak(a.scratch + 1) >> 31;
}

EXHIBIT(count_that_nobody_cleared) {
  u32* count = mended ? a.scratch : a.raw;
  const u32 place = atomicAdd(count, 1u);
  a.out[mended ? place % 64 : place % 64] = 1;
}

EXHIBIT(copy_of_unwritten_memory_is_used) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (lane_idx() == 0) {
    arrive_expect(&full, 128);
    bulk_load(tile, mended ? a.scratch : a.raw, 128, &full);
  }
  wait(&full, 0);
  a.out[lane_idx()] = tile[lane_idx()] + 1;
}

EXHIBIT(cp_async_of_unwritten_memory_is_used) {
  __shared__ alignas(16) u32 tile[32][4];
  cp_async(&tile[lane_idx()], (mended ? a.scratch : a.raw) + lane_idx() * 4);
  cp_async_commit();
  cp_async_wait<0>();
  a.out[lane_idx()] = tile[lane_idx()][0] + 1;
}

EXHIBIT(vector_load_from_an_odd_word) {
  const uint4 words = __ldg(reinterpret_cast<const uint4*>(a.in + lane_idx() * 4 + (mended ? 0 : 2)));
  a.out[lane_idx()] = words.x + words.w;
}

EXHIBIT(tail_is_not_guarded) {
  const u32 at = blockIdx.x * 64 + threadIdx.x + 4000;
  if (!mended && at >= 4128) return;
  if (mended && at >= 4096) return;
  a.out[at] = 1;
}

EXHIBIT(shared_index_past_the_end) {
  __shared__ u32 tile[64];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const u32 at = a.in[threadIdx.x] * (mended ? 1u : 1000u);
  a.out[threadIdx.x] = tile[at & (mended ? 63u : 0xffffu)];
}

// One word is an element of two views of one buffer.
EXHIBIT(views_of_a_union_in_one_turn) {
  union Buffer {
    u32 words[64];
    unsigned short halves[128];
  };
  __shared__ Buffer buffer;
  buffer.words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const u32 mine = buffer.words[threadIdx.x ^ 32];
  if (mended) __syncthreads();
  buffer.halves[threadIdx.x] = static_cast<unsigned short>(mine);
  __syncthreads();
  a.out[threadIdx.x] = buffer.halves[threadIdx.x ^ 1];
}

// Dependent launches

namespace {

__device__ inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ inline void wait_for_the_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

}  // namespace

LEGAL(launch_that_fills) {
  launch_dependents();
  for (u32 i = 0; i < 200; ++i) __nanosleep(100);
  a.scratch[blockIdx.x * 64 + threadIdx.x] = threadIdx.x + 1;
}

EXHIBIT(one_warp_waits_for_the_launch_before) {
  if (mended || warp_idx() == 0) wait_for_the_launch_before();
  a.out[blockIdx.x * 64 + threadIdx.x] = a.scratch[blockIdx.x * 64 + threadIdx.x];
}

EXHIBIT(copy_issued_before_the_launch_before_is_over) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (mended) wait_for_the_launch_before();
  if (threadIdx.x == 0) {
    arrive_expect(&full, 256);
    bulk_load(tile, a.scratch + blockIdx.x * 64, 256, &full);
  }
  if (!mended) wait_for_the_launch_before();
  wait(&full, 0);
  a.out[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];
}

EXHIBIT(cleared_for_the_next_launch_too_early) {
  if (mended) wait_for_the_launch_before();
  if (threadIdx.x == 0) atomicExch(a.scratch + blockIdx.x * 64, 0u);
  a.out[blockIdx.x * 64 + threadIdx.x] = 1;
}
