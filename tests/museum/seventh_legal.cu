// SPDX-License-Identifier: Apache-2.0
//
// Legal programs of the seventh set: what is right, though it does not look it.
#include "ptx.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

namespace {

__device__ inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ inline void wait_for_the_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

__device__ inline void red_release_gpu(u32* p, u32 v) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ inline void cp_async_of(void* to, const void* from, u32 bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}
__device__ inline void ldmatrix(u32 (&d)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void mma_sync(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void store_result(const Args& a, const float (&d)[4]) {
  for (u32 i = 0; i < 4; ++i) a.out[threadIdx.x * 4 + i] = __float_as_uint(d[i]);
}

}  // namespace

// Warps and blocks

LEGAL(elected_lane_meets_lanes_that_have_left) {
  __shared__ u32 words[32];
  words[lane_idx()] = a.in[lane_idx()];
  __syncwarp();
  if (lane_idx() != 5) return;
  u32 sum = 0;
  for (u32 i = 0; i < 32; ++i) sum += words[i];
  __syncwarp(0xffffffff);
  a.out[0] = sum;
}

LEGAL(halves_of_a_warp_add_up_apart) {
  const u32 mask = lane_idx() < 16 ? 0xffffu : 0xffff0000u;
  u32 sum = 0;
  if (lane_idx() < 16) sum = __reduce_add_sync(mask, a.in[lane_idx()]);
  else sum = __reduce_max_sync(mask, a.in[lane_idx()]);
  __syncwarp();
  a.out[lane_idx()] = sum + __shfl_xor_sync(0xffffffff, sum, 16);
}

// A warp meets in pairs, then in fours, then in eights.
LEGAL(words_go_up_a_tree_of_masks) {
  __shared__ u32 words[32];
  u32 sum = a.in[lane_idx()];
  for (u32 step = 1; step < 32; step *= 2) {
    const u32 group = lane_idx() / (2 * step);
    const u32 mask = step == 16 ? 0xffffffffu : ((1u << 2 * step) - 1) << group * 2 * step;
    words[lane_idx()] = sum;
    __syncwarp(mask);
    const u32 other = words[lane_idx() ^ step];
    __syncwarp(mask);
    sum += other;
  }
  a.out[lane_idx()] = sum;
}

// What is written in one turn is written again two turns later, behind the barrier of the turn between.
LEGAL(two_buffers_and_one_barrier_a_turn) {
  __shared__ u32 parts[2][4];
  u32 sum = 0;
  for (u32 turn = 0; turn < 5; ++turn) {
    const u32 part = __reduce_add_sync(0xffffffff, a.in[turn * 128 + threadIdx.x]);
    if (lane_idx() == 0) parts[turn % 2][warp_idx()] = part;
    __syncthreads();
    for (u32 i = 0; i < 4; ++i) sum += parts[turn % 2][i];
  }
  a.out[threadIdx.x] = sum;
}

LEGAL(warps_leave_before_a_named_barrier_of_the_rest) {
  __shared__ u32 tile[96];
  if (warp_idx() == 3) return;
  tile[threadIdx.x] = a.in[threadIdx.x];
  named_sync(5, 96);
  a.out[threadIdx.x] = tile[95 - threadIdx.x];
  if (warp_idx() == 0) return;
  named_sync(5, 64);
  a.out[64 + threadIdx.x] = tile[threadIdx.x - 32];
}

LEGAL(fifteen_named_barriers_in_turn) {
  __shared__ u32 stage[15];
  u32 sum = 0;
  for (u32 i = 0; i < 20; ++i) {
    const u32 id = 1 + i % 15;
    if (warp_idx() == 0) {
      if (i >= 15) __syncthreads();
      if (lane_idx() == 0) stage[i % 15] = a.in[i];
      __syncwarp();
      named_arrive(id, 64);
    } else {
      if (i >= 15) __syncthreads();
      named_sync(id, 64);
      sum += stage[i % 15];
    }
  }
  a.out[threadIdx.x] = sum;
}

// A block of the heap goes from the thread that takes it to all, and back.
LEGAL(heap_block_of_all_threads) {
  __shared__ u32* block;
  if (threadIdx.x == 0) block = static_cast<u32*>(malloc(256));
  __syncthreads();
  block[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  a.out[threadIdx.x] = block[63 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 63) free(block);
}

// Barriers

// A proxy fence in place of fence.mbarrier_init, as CUDA's guide has had it.
LEGAL(barriers_made_visible_by_a_proxy_fence) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    bar_init(&full, 1);
    fence_async_shared();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&full, 128);
    bulk_load(tile, a.in, 128, &full);
  }
  __syncwarp();
  wait(&full, 0);
  a.out[threadIdx.x] = tile[lane_idx()];
}

// One bit for each stage.
LEGAL(parities_in_one_word) {
  __shared__ alignas(128) u32 stage[3][32];
  __shared__ u64 full[3], empty[3];
  init_all(full, 3, 1);
  init_all(empty, 3, 1);
  u32 parities = warp_idx() == 0 ? 7 : 0, sum = 0;
  for (u32 i = 0; i < 8; ++i) {
    const u32 s = i % 3, parity = parities >> s & 1;
    parities ^= 1 << s;
    if (warp_idx() == 0) {
      if (lane_idx() == 0) {
        wait(&empty[s], parity);
        arrive_expect(&full[s], 128);
        bulk_load(stage[s], a.in + i * 32, 128, &full[s]);
      }
    } else {
      wait(&full[s], parity);
      sum += stage[s][31 - lane_idx()];
      fence_async_shared();
      __syncwarp();
      if (lane_idx() == 0) arrive(&empty[s]);
    }
  }
  a.out[threadIdx.x] = sum;
}

LEGAL(first_turns_do_not_wait) {
  __shared__ u32 stage[2][32];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 32);
  init_all(empty, 2, 32);
  u32 sum = 0;
  for (u32 i = 0; i < 7; ++i) {
    if (warp_idx() == 0) {
      if (i >= 2) wait(&empty[i % 2], (i / 2 - 1) % 2);
      stage[i % 2][lane_idx()] = a.in[i * 32 + lane_idx()];
      arrive(&full[i % 2]);
    } else {
      wait(&full[i % 2], i / 2 % 2);
      sum += stage[i % 2][31 - lane_idx()];
      if (i + 2 < 7) arrive(&empty[i % 2]);
    }
  }
  a.out[threadIdx.x] = sum;
}

// The last arrivals are in phases that nobody waits for.
LEGAL(arrivals_that_nobody_waits_for) {
  __shared__ u32 tile[32];
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, 33);
  if (warp_idx() == 0) {
    tile[lane_idx()] = a.in[lane_idx()];
    __syncwarp();
    if (lane_idx() == 0) arrive(&full);
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = tile[31 - lane_idx()];
    arrive(&empty);
  }
}

LEGAL(bytes_expected_in_two_parts) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    expect(&full, 128);
    bulk_load(tile, a.in, 128, &full);
    expect(&full, 128);
    bulk_load(tile + 32, a.in + 128, 128, &full);
    arrive(&full);
  }
  __syncwarp();
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

// Words first, then a barrier in the same bytes.
LEGAL(barrier_in_bytes_that_were_words) {
  __shared__ union {
    u32 words[64];
    u64 bar;
  } u;
  __shared__ u32 tile[32];
  u.words[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  const u32 other = u.words[63 - threadIdx.x];
  __syncthreads();
  init_all(&u.bar, 1, 32);
  if (warp_idx() == 0) {
    tile[lane_idx()] = other;
    arrive(&u.bar);
  } else {
    wait(&u.bar, 0);
    a.out[lane_idx()] = tile[lane_idx()] + other;
  }
}

// Tiles of 0 to 3 steps; the place in the ring goes on from tile to tile.
LEGAL(ring_goes_on_over_tiles_of_uneven_steps) {
  __shared__ alignas(128) u32 stage[2][32];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 1);
  u32 step = 0;
  for (u32 tile = 0; tile < 6; ++tile) {
    const u32 steps = a.in[tile * 7] % 4;
    u32 sum = 0;
    for (u32 i = 0; i < steps; ++i, ++step) {
      const u32 s = step % 2;
      if (warp_idx() == 0) {
        if (lane_idx() == 0) {
          wait(&empty[s], step / 2 % 2 ^ 1);
          arrive_expect(&full[s], 128);
          bulk_load(stage[s], a.in + step * 32, 128, &full[s]);
        }
      } else {
        wait(&full[s], step / 2 % 2);
        sum += stage[s][lane_idx() ^ 1];
        fence_async_shared();
        __syncwarp();
        if (lane_idx() == 0) arrive(&empty[s]);
      }
    }
    if (warp_idx() == 1) a.out[tile * 32 + lane_idx()] = sum;
  }
}

// Copies

// A copy of no bytes writes zeros and reads nothing, wherever it points.
LEGAL(copies_of_no_bytes_from_beyond_the_end) {
  __shared__ alignas(16) u32 tile[64][4];
  const bool is_inside = threadIdx.x < 40;
  cp_async_of(tile[threadIdx.x], a.in + (is_inside ? threadIdx.x * 4 : u64{1} << 40), is_inside ? 16 : 0);
  cp_async_commit();
  cp_async_wait<0>();
  __syncthreads();
  a.out[threadIdx.x] = tile[63 - threadIdx.x][1];
}

// The tail of a copy is filled with zeros, and half of it is copied.
LEGAL(copies_of_a_part_filled_with_zeros) {
  __shared__ alignas(16) u32 tile[32][4];
  cp_async_of(tile[lane_idx()], a.in + lane_idx() * 4, lane_idx() % 5 * 4);
  cp_async_commit();
  cp_async_wait<0>();
  __syncwarp();
  for (u32 i = 0; i < 4; ++i) a.out[lane_idx() * 4 + i] = tile[31 - lane_idx()][i];
}

LEGAL(tile_stored_half_outside) {
  __shared__ alignas(128) u32 tile[256];
  for (u32 i = lane_idx(); i < 256; i += 32) tile[i] = i + 1;
  fence_async_shared();
  __syncwarp();
  if (lane_idx() == 0) {
    tma_store(a.store, 56, 60, tile);
    bulk_commit();
    bulk_wait<0>();
  }
}

// What lies before the first row and column comes as zeros, and counts. The card takes no first coordinate of -1:
// 16 bytes are its step.
LEGAL(halo_loaded_at_negative_coordinates) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, a.load, -4, -1, &full);
  }
  __syncwarp();
  wait(&full, 0);
  for (u32 i = lane_idx(); i < 256; i += 32) a.out[i] = tile[i];
}

// Threads write one half of the tile, a copy the other.
LEGAL(stage_filled_by_threads_and_by_a_copy) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 33);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      arrive_expect(&full, 128);
      bulk_load(tile, a.in, 128, &full);
    }
    __syncwarp();
    tile[32 + lane_idx()] = a.in[100 + lane_idx()];
    arrive(&full);
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = tile[lane_idx()] + tile[63 - lane_idx()];
  }
}

// One thread reads what it loads into the same bytes again.
LEGAL(one_thread_reads_and_loads_again) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x != 0) return;
  u32 sum = 0;
  for (u32 turn = 0; turn < 4; ++turn) {
    arrive_expect(&full, 128);
    bulk_load(tile, a.in + turn * 32, 128, &full);
    wait(&full, turn % 2);
    for (u32 i = 0; i < 32; ++i) sum = sum * 3 + tile[i];
    fence_async_shared();
  }
  a.out[0] = sum;
}

// A map of a smaller tensor: columns from 24 on are outside.
LEGAL(map_of_a_smaller_tensor_made_by_a_warp) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (lane_idx() < 16) map[lane_idx()] = a.load->words[lane_idx()];
  __syncwarp();
  if (lane_idx() == 0)
    asm volatile(
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(shared_address(map)), "r"(24)
        : "memory");
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
      "128;" ::"l"(a.scratch),
      "r"(shared_address(map))
      : "memory");
  __syncwarp();
  if (lane_idx() == 0) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(a.scratch) : "memory");
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, reinterpret_cast<const TensorMap*>(a.scratch), 16, 0, &full);
  }
  __syncwarp();
  wait(&full, 0);
  for (u32 i = lane_idx(); i < 256; i += 32) a.out[i] = tile[i];
}

// Values

// Words that nobody wrote go through a shuffle to lanes that have no use for them.
LEGAL(unwritten_words_shuffled_and_dropped) {
  __shared__ u32 words[32];
  if (lane_idx() < 20) words[lane_idx()] = a.in[lane_idx()];
  __syncwarp();
  const u32 other = __shfl_xor_sync(0xffffffff, words[lane_idx()], 1);
  a.out[lane_idx()] = lane_idx() < 20 ? other : 0;
}

// Keys beyond the sequence were never written; their scores are taken out before the maximum.
LEGAL(scores_of_unwritten_keys_masked_away) {
  __shared__ alignas(128) u32 queries[512];
  __shared__ alignas(128) u32 keys[64];
  for (u32 i = threadIdx.x; i < 512; i += 128) queries[i] = kOnes;
  // Keys 0 to 3 of 8, both halves of K.
  if (threadIdx.x < 64 && threadIdx.x % 32 < 16) keys[threadIdx.x] = kOnes;
  fence_async_shared();
  __syncthreads();
  float d[4] = {};
  wgmma_fence();
  wgmma(d, wgmma_descriptor(queries), wgmma_descriptor(keys), 0);
  wgmma_commit();
  wgmma_wait<0>();
  float most = -1.0f;
  for (u32 i = 0; i < 4; ++i) {
    const u32 key = lane_idx() % 4 * 2 + i % 2;
    most = fmaxf(most, key < 4 ? d[i] : -1.0f);
  }
  for (u32 step = 1; step < 4; step *= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
  a.out[threadIdx.x] = __float_as_uint(most);
}

// The first product sets the accumulator, whatever was in it.
LEGAL(accumulator_that_nobody_has_set) {
  __shared__ alignas(128) u32 x[512];
  __shared__ alignas(128) u32 y[64];
  for (u32 i = threadIdx.x; i < 512; i += 128) x[i] = kOnes;
  if (threadIdx.x < 64) y[threadIdx.x] = kOnes;
  fence_async_shared();
  __syncthreads();
  float d[4];
  wgmma_fence();
  for (u32 k = 0; k < 2; ++k) wgmma(d, wgmma_descriptor(x), wgmma_descriptor(y), k != 0);
  wgmma_commit();
  wgmma_wait<0>();
  store_result(a, d);
}

// The loop of Ampere's matmuls: cp.async, ldmatrix, mma.sync.
LEGAL(two_stages_of_cp_async_and_mma_sync) {
  __shared__ alignas(128) u32 tile[2][16][8];  // 16 rows of 16 bf16
  float d[4] = {};
  const auto copy = [&](u32 i) {
    cp_async(&tile[i % 2][lane_idx() / 2][lane_idx() % 2 * 4], a.in + i * 128 + lane_idx() * 4);
    cp_async_commit();
  };
  copy(0);
  for (u32 i = 0; i < 4; ++i) {
    cp_async_wait<0>();
    __syncthreads();
    if (i + 1 < 4) copy(i + 1);
    u32 part[4];
    ldmatrix(part, &tile[i % 2][lane_idx() % 16][lane_idx() / 16 * 4]);
    for (u32& p : part) p = p % 2 != 0 ? kOnes : 0;
    mma_sync(d, part, kOnes, kOnes);
  }
  store_result(a, d);
}

// Global memory

// From block to block by flags at the scope of the GPU, from warp to warp by one of the CTA.
LEGAL(message_goes_on_through_a_block_and_its_warps) {
  __shared__ u32 told;
  u32* flags = a.scratch + 512;
  if (threadIdx.x == 0) told = 0;
  __syncthreads();
  if (blockIdx.x == 0) {
    if (warp_idx() == 0) {
      a.scratch[lane_idx()] = a.in[lane_idx()];
      __syncwarp();
      if (lane_idx() == 0) st_release_gpu(flags, 1);
    }
  } else if (blockIdx.x == 1) {
    if (threadIdx.x == 0) {
      while (ld_acquire_gpu(flags) == 0) {
      }
      st_shared_release(&told, 1);
    } else if (threadIdx.x == 32) {
      while (ld_shared_acquire(&told) == 0) {
      }
      st_release_gpu(flags + 1, 1);
    }
  } else if (warp_idx() == 1) {
    while (ld_acquire_gpu(flags + 1) == 0) {
    }
    a.out[lane_idx()] = a.scratch[lane_idx()];
  }
}

// Each lane waits for another block, and all read what all have written.
LEGAL(lanes_wait_for_one_block_each) {
  u32* flags = a.scratch + 512;
  if (blockIdx.x != 0) {
    a.scratch[blockIdx.x * 64 + threadIdx.x] = a.in[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) st_release_gpu(flags + blockIdx.x, 1);
    return;
  }
  if (threadIdx.x > 0 && threadIdx.x < gridDim.x) {
    while (ld_acquire_gpu(flags + threadIdx.x) == 0) {
    }
  }
  __syncthreads();
  u32 sum = 0;
  for (u32 i = 1; i < gridDim.x; ++i) sum += a.scratch[i * 64 + 63 - threadIdx.x];
  a.out[threadIdx.x] = sum;
}

LEGAL(every_warp_adds_with_release) {
  u32* count = a.scratch + 512;
  if (blockIdx.x != 0) {
    a.scratch[blockIdx.x * 64 + threadIdx.x] = a.in[threadIdx.x];
    __syncwarp();
    if (lane_idx() == 0) red_release_gpu(count, 1);
    return;
  }
  while (ld_acquire_gpu(count) < 2 * (gridDim.x - 1)) {
  }
  u32 sum = 0;
  for (u32 i = 1; i < gridDim.x; ++i) sum += a.scratch[i * 64 + (threadIdx.x ^ 33)];
  a.out[threadIdx.x] = sum;
}

// Several rounds over one counter that only grows.
LEGAL(group_meets_by_a_counter_that_only_grows) {
  u32* count = a.scratch + 512;
  u32 value = a.in[blockIdx.x * 64 + threadIdx.x];
  for (u32 round = 0; round < 3; ++round) {
    u32* words = a.scratch + round % 2 * 256;
    words[blockIdx.x * 64 + threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
      red_release_gpu(count, 1);
      while (ld_acquire_gpu(count) < (round + 1) * gridDim.x) {
      }
    }
    __syncthreads();
    value += ld_weak(words + (blockIdx.x + 1) % gridDim.x * 64 + threadIdx.x);
  }
  a.out[blockIdx.x * 64 + threadIdx.x] = value;
}

// Largest value and its place in one word of 64 bits.
LEGAL(largest_value_and_its_place) {
  auto* best = reinterpret_cast<u64*>(a.scratch);
  u32* count = a.scratch + 512;
  const u32 i = blockIdx.x * 32 + lane_idx();
  atomicMax(best, u64{a.in[i] * 37 % 101} << 32 | i);
  __syncwarp();
  u32 is_last = 0;
  if (lane_idx() == 0) is_last = add_acq_rel_gpu(count, 1) + 1 == gridDim.x;
  if (is_last != 0) {
    a.out[0] = static_cast<u32>(*best);
    a.out[1] = static_cast<u32>(*best >> 32);
  }
}

// Atomics of the block's scope where each block has places of its own.
LEGAL(counts_of_a_block_in_global_memory) {
  u32* mine = a.scratch + blockIdx.x * 16;
  atomicAdd_block(mine + a.in[threadIdx.x * 3] % 16, 1);
  __syncthreads();
  if (threadIdx.x < 16) a.out[blockIdx.x * 16 + threadIdx.x] = ld_weak(mine + threadIdx.x);
}

// All who find something say so by the same word.
LEGAL(all_blocks_say_the_same) {
  u32* count = a.scratch + 512;
  if (a.in[blockIdx.x * 32 + lane_idx()] % 5 == 0) st_weak(a.scratch, 1);
  __syncwarp();
  if (lane_idx() == 0 && add_acq_rel_gpu(count, 1) + 1 == gridDim.x) a.out[0] = ld_weak(a.scratch);
}

// Launches that overlap

// Blocks that have nothing to do leave without a word; that counts as one.
LEGAL(launch_whose_blocks_leave_without_a_word) {
  if (blockIdx.x % 2 == 1) return;
  launch_dependents();
  for (u32 i = 0; i < 20; ++i) __nanosleep(100);
  a.scratch[blockIdx.x * 32 + threadIdx.x] = threadIdx.x + 1;
}
LEGAL(dependent_launch_of_blocks_that_left) {
  const u32 mine = a.in[blockIdx.x * 32 + threadIdx.x];
  if (blockIdx.x == 3) return;
  wait_for_the_launch_before();
  a.out[blockIdx.x * 32 + threadIdx.x] = mine + a.scratch[threadIdx.x];
}

// Clusters

LEGAL(ranks_without_work_leave_their_cluster) {
  __shared__ u32 tile[32];
  if (cluster_rank() != 0) return;
  tile[lane_idx()] = a.in[blockIdx.x * 32 + lane_idx()];
  __syncwarp();
  a.out[blockIdx.x * 32 + lane_idx()] = tile[31 - lane_idx()];
}

LEGAL(four_ctas_add_up_by_a_butterfly) {
  __shared__ u32 words[2][32];
  u32 sum = a.in[cluster_rank() * 32 + lane_idx()];
  for (u32 turn = 0; turn < 2; ++turn) {
    words[turn][lane_idx()] = sum;
    cluster_sync();
    sum += ld_peer(peer(words[turn] + lane_idx(), cluster_rank() ^ 1 << turn));
  }
  cluster_sync();
  a.out[cluster_rank() * 32 + lane_idx()] = sum;
}

// A peer's memory by a generic pointer, between the two halves of a barrier and behind it.
LEGAL(peers_memory_by_a_generic_pointer) {
  __shared__ u32 words[32];
  cg::cluster_group cluster = cg::this_cluster();
  words[lane_idx()] = a.in[cluster.block_rank() * 32 + lane_idx()];
  cluster.sync();
  const u32* theirs = cluster.map_shared_rank(words, cluster.block_rank() ^ 1);
  const u32 value = theirs[31 - lane_idx()];
  auto token = cluster.barrier_arrive();
  a.out[cluster.block_rank() * 32 + lane_idx()] = value + words[lane_idx()];
  cluster.barrier_wait(std::move(token));
}
