// SPDX-License-Identifier: Apache-2.0
//
// Legal programs that were kept apart while the checks were written.
#include "ptx.h"

LEGAL(votes_of_a_block) {
  const u32 value = a.in[threadIdx.x];
  const u32 odd = __syncthreads_count(value % 2);
  const u32 any = __syncthreads_or(value > 60);
  const u32 all = __syncthreads_and(value < 1000);
  a.out[threadIdx.x] = odd * 4 + any * 2 + all;
}

// The data are strong, too: an old value is possible, a race is not.
LEGAL(sequence_lock) {
  u32* sequence = a.scratch;
  u32* data = a.scratch + 32;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    st_relaxed_gpu(sequence, 1);
    fence_gpu();
    st_relaxed_gpu(data, 7);
    st_relaxed_gpu(data + 1, 7);
    st_release_gpu(sequence, 2);
  } else {
    u32 before, x, y;
    do {
      before = ld_acquire_gpu(sequence);
      x = ld_relaxed_gpu(data);
      y = ld_relaxed_gpu(data + 1);
      fence_gpu();
    } while (before % 2 != 0 || ld_relaxed_gpu(sequence) != before);
    a.out[0] = x == y;
  }
}

LEGAL(wavefront_of_blocks) {
  u32* done = a.scratch + 1024;
  if (blockIdx.x > 0) {
    if (threadIdx.x == 0) {
      while (ld_acquire_gpu(done + blockIdx.x - 1) == 0) {
      }
    }
    __syncthreads();
  }
  const u32 before = blockIdx.x == 0 ? 0 : ld_weak(a.scratch + (blockIdx.x - 1) * 64 + (threadIdx.x ^ 32));
  st_weak(a.scratch + blockIdx.x * 64 + threadIdx.x, before + a.in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) st_release_gpu(done + blockIdx.x, 1);
  a.out[blockIdx.x * 64 + threadIdx.x] = before;
}

LEGAL(counter_by_release_reductions) {
  u32* count = a.scratch + 1024;
  if (blockIdx.x < 3) {
    a.scratch[blockIdx.x * 32 + threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
  } else {
    if (threadIdx.x == 0) {
      while (ld_acquire_gpu(count) != 3) {
      }
    }
    __syncthreads();
    u32 sum = 0;
    for (u32 i = 0; i < 3; ++i) sum += ld_weak(a.scratch + i * 32 + threadIdx.x);
    a.out[threadIdx.x] = sum;
  }
}

// The grid barrier of cooperative groups: a bit that flips.
LEGAL(grid_barrier_by_a_flipping_bit) {
  u32* arrived = a.scratch + 1024;
  for (u32 turn = 0; turn < 2; ++turn) {
    st_weak(a.scratch + turn * 512 + blockIdx.x * 32 + threadIdx.x, blockIdx.x + turn);
    __syncthreads();
    if (threadIdx.x == 0) {
      const u32 add = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
      __threadfence();
      const u32 old = atomicAdd(arrived, add);
      while (((old ^ ld_acquire_gpu(arrived)) & 0x80000000u) == 0) {
      }
    }
    __syncthreads();
    a.out[turn * 512 + blockIdx.x * 32 + threadIdx.x] =
        ld_weak(a.scratch + turn * 512 + (blockIdx.x ^ 1) * 32 + threadIdx.x);
  }
}

LEGAL(block_reduction) {
  __shared__ u32 parts[4], total;
  for (u32 turn = 0; turn < 2; ++turn) {
    u32 sum = a.in[turn * 128 + threadIdx.x];
    for (u32 step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, step);
    if (lane_idx() == 0) parts[warp_idx()] = sum;
    __syncthreads();
    if (warp_idx() == 0) {
      u32 part = lane_idx() < 4 ? parts[lane_idx()] : 0;
      part = __reduce_add_sync(0xFFFFFFFFu, part);
      if (lane_idx() == 0) total = part;
    }
    __syncthreads();
    a.out[turn * 128 + threadIdx.x] = total;
  }
}

LEGAL(warp_transpose_with_syncwarp) {
  __shared__ u32 tile[2][32];
  for (u32 turn = 0; turn < 2; ++turn) {
    tile[warp_idx()][lane_idx()] = a.in[turn * 64 + threadIdx.x];
    __syncwarp();
    a.out[turn * 64 + threadIdx.x] = tile[warp_idx()][31 - lane_idx()];
    __syncwarp();
  }
}

// Two warpgroups take turns.
LEGAL(ping_pong_of_two_groups) {
  __shared__ u32 tile[32];
  const u32 group = warp_idx() / 2;
  for (u32 turn = 0; turn < 3; ++turn) {
    if (group == 1 || turn > 0) named_sync(1 + group, 128);
    if (warp_idx() % 2 == 0) {
      st_shared(&tile[lane_idx()], (turn == 0 && group == 0 ? 0 : ld_shared(&tile[lane_idx()])) + 1);
    }
    if (group == 0 || turn < 2) named_arrive(2 - group, 128);
  }
  if (group == 1 && warp_idx() % 2 == 0) a.out[lane_idx()] = tile[lane_idx()];
}

LEGAL(two_producers_two_consumers) {
  __shared__ u32 tiles[2][64];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 64);
  init_all(empty, 2, 64);
  for (u32 turn = 0; turn < 4; ++turn) {
    const u32 stage = turn % 2, wrap = turn / 2 % 2;
    if (warp_idx() < 2) {
      wait(&empty[stage], wrap ^ 1);
      st_shared(&tiles[stage][threadIdx.x], a.in[turn * 64 + threadIdx.x]);
      arrive(&full[stage]);
    } else {
      wait(&full[stage], wrap);
      a.out[turn * 64 + threadIdx.x - 64] = ld_shared(&tiles[stage][127 - threadIdx.x]);
      arrive(&empty[stage]);
    }
  }
}

// Loaded by the engine, stored by the engine: no thread touches the bytes.
LEGAL(relay_of_copies) {
  __shared__ alignas(128) u32 tiles[2][64];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  if (threadIdx.x == 0) {
    for (u32 turn = 0; turn < 5; ++turn) {
      const u32 stage = turn % 2;
      bulk_wait_read<1>();
      arrive_expect(&full[stage], 256);
      bulk_load(tiles[stage], a.in + turn * 64, 256, &full[stage]);
      wait(&full[stage], turn / 2 % 2);
      bulk_store(a.out + turn * 64, tiles[stage], 256);
      bulk_commit();
    }
    bulk_wait<0>();
  }
}

LEGAL(matrix_stored_by_stmatrix_and_copied) {
  __shared__ alignas(128) u32 tile[256];
  u32 fragment[4];
  for (u32 i = 0; i < 4; ++i) fragment[i] = a.in[i * 32 + lane_idx()];
  // Rows of 16 bytes, their place exchanged by a swizzle.
  const u32 row = lane_idx() ^ lane_idx() / 8;
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(tile + row * 4)),
      "r"(fragment[0]), "r"(fragment[1]), "r"(fragment[2]), "r"(fragment[3])
      : "memory");
  __syncwarp();
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(shared_address(tile + row * 4))
               : "memory");
  for (u32 i = 0; i < 4; ++i) a.out[1024 + i * 32 + lane_idx()] = fragment[i];
  fence_async_shared();
  __syncwarp();
  if (lane_idx() == 0) {
    bulk_store(a.out, tile, 512);
    bulk_commit();
    bulk_wait<0>();
  }
}

LEGAL(cluster_of_four_gathers) {
  __shared__ u32 parts[4];
  cluster_sync();
  if (threadIdx.x < 4) st_peer(peer(&parts[cluster_rank()], threadIdx.x), cluster_rank() + 1);
  cluster_sync();
  if (threadIdx.x == 0) a.out[cluster_rank()] = parts[0] + parts[1] + parts[2] + parts[3];
}

LEGAL(cluster_histogram) {
  __shared__ u32 count;
  if (threadIdx.x == 0) count = 0;
  cluster_sync();
  asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(peer(&count, threadIdx.x % 2))
               : "memory");
  cluster_sync();
  if (threadIdx.x == 0) a.out[cluster_rank()] = ld_shared(&count);
}

// All warps but one have exited before the last cluster barrier.
LEGAL(cluster_barrier_after_exits) {
  __shared__ u32 word;
  if (threadIdx.x == 0) word = cluster_rank() + 1;
  cluster_sync();
  if (warp_idx() == 1) return;
  a.out[cluster_rank() * 32 + threadIdx.x] = ld_peer(peer(&word, cluster_rank() ^ 1));
  cluster_arrive_relaxed();
  cluster_wait();
}

struct Operands {
  alignas(128) u32 a[512];
  alignas(128) u32 b[64];
};

LEGAL(wgmma_with_a_fragment) {
  __shared__ Operands s;
  float d[4] = {};
  u32 fragment[4] = {kOnes, kOnes, kOnes, kOnes};
  if (threadIdx.x < 64) s.b[threadIdx.x] = kOnes;
  fence_async_shared();
  __syncthreads();
  for (u32 turn = 0; turn < 2; ++turn) {
    wgmma_fence();
    wgmma(d, fragment, wgmma_descriptor(s.b), turn);
    wgmma_commit();
    wgmma_wait<0>();
    for (u32& f : fragment) asm volatile("mov.u32 %0, %1;" : "+r"(f) : "r"(0x40004000 + (a.in[0] & 0)));
  }
  for (u32 i = 0; i < 4; ++i) a.out[i * 128 + threadIdx.x] = __float_as_uint(d[i]);
}

// Loads by one warp, multiplications by a warpgroup that gives stages back after its wait.
LEGAL(wgmma_fed_by_copies) {
  __shared__ Operands s[2];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 4);
  if (warp_idx() == 4) {
    if (lane_idx() == 0) {
      for (u32 turn = 0; turn < 4; ++turn) {
        const u32 stage = turn % 2;
        wait(&empty[stage], turn / 2 % 2 ^ 1);
        arrive_expect(&full[stage], 2048 + 256);
        bulk_load(s[stage].a, a.scratch, 2048, &full[stage]);
        bulk_load(s[stage].b, a.scratch, 256, &full[stage]);
      }
    }
  } else {
    float d[4] = {};
    for (u32 turn = 0; turn < 4; ++turn) {
      const u32 stage = turn % 2;
      wait(&full[stage], turn / 2 % 2);
      wgmma_fence();
      wgmma(d, wgmma_descriptor(s[stage].a), wgmma_descriptor(s[stage].b), turn > 0);
      wgmma_commit();
      wgmma_wait<0>();
      __syncwarp();
      if (lane_idx() == 0) arrive(&empty[stage]);
    }
    for (u32 i = 0; i < 4; ++i) a.out[i * 128 + threadIdx.x] = __float_as_uint(d[i]);
  }
}

LEGAL(registers_moved_between_groups) {
  if (threadIdx.x < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  else asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  a.out[threadIdx.x] = 1;
}
