// SPDX-License-Identifier: Apache-2.0
//
// A fourth set of bugs that were written before anybody looked at what the checks make of them: parts of the
// kernels that people write, such as stream-K, rings with multicast, epilogues in the memory of the main loop and
// reductions over a cluster.
#include "ptx.h"

namespace {

__device__ inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ inline void wait_for_the_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

__device__ inline void ldmatrix(u32 (&d)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(shared_address(row))
               : "memory");
}

}  // namespace

// Order between CTAs

// CTAs add to one tile in turn. Two that wait for the first go together.
EXHIBIT(stream_k_tail_takes_any_turn) {
  u32* turn = a.scratch + 1024;
  if (blockIdx.x != 0) {
    if (threadIdx.x == 0) {
      while (mended ? ld_acquire_gpu(turn) != blockIdx.x : ld_acquire_gpu(turn) == 0) __nanosleep(20);
    }
    __syncthreads();
  }
  a.scratch[threadIdx.x] += blockIdx.x + 1;
  __syncthreads();
  if (threadIdx.x == 0) add_release_gpu(turn, 1);
}

// The flag comes after a barrier of three of the four warps that store.
EXHIBIT(stream_k_partial_of_the_fourth_warp) {
  u32* flag = a.scratch + 1024;
  if (blockIdx.x == 1) {
    a.scratch[threadIdx.x] = threadIdx.x;
    if (mended) __syncthreads();
    else if (warp_idx() < 3) named_sync(1, 96);
    if (threadIdx.x == 0) st_release_gpu(flag, 1);
    return;
  }
  if (threadIdx.x == 0) {
    while (ld_acquire_gpu(flag) == 0) __nanosleep(20);
  }
  __syncthreads();
  a.out[threadIdx.x] = a.scratch[threadIdx.x];
}

// A ring in global memory: the reader's acknowledgement is seen, and nothing is acquired with it.
EXHIBIT(ring_between_ctas_acked_without_acquire) {
  u32* full = a.scratch + 1024;
  u32* acked = a.scratch + 1056;
  for (u32 turn = 1; turn <= 3; ++turn) {
    if (blockIdx.x == 0) {
      if (lane_idx() == 0) {
        while ((mended ? ld_acquire_gpu(acked) : ld_relaxed_gpu(acked)) != turn - 1) __nanosleep(20);
      }
      __syncwarp();
      a.scratch[lane_idx()] = turn * 100 + lane_idx();
      __syncwarp();
      if (lane_idx() == 0) st_release_gpu(full, turn);
    } else {
      if (lane_idx() == 0) {
        while (ld_acquire_gpu(full) != turn) __nanosleep(20);
      }
      __syncwarp();
      a.out[turn * 32 + lane_idx()] = a.scratch[lane_idx()];
      __syncwarp();
      if (lane_idx() == 0) st_release_gpu(acked, turn);
    }
  }
}

// Each CTA keeps a quarter of its words, where those before it end: over words that they have read. Who tells the
// next one where that is must have met those who read.
EXHIBIT(compaction_told_before_all_have_read) {
  __shared__ u32 base;
  u32* end = a.scratch + 1024;  // plus 1
  const u32 value = ld_weak(a.scratch + blockIdx.x * 64 + threadIdx.x);
  const bool is_kept = threadIdx.x < 16;
  const u32 count = mended ? __syncthreads_count(is_kept && value == 0) : 16;
  if (threadIdx.x == 0) {
    u32 before = 1;
    if (blockIdx.x != 0) {
      while ((before = ld_relaxed_gpu(end + blockIdx.x - 1)) == 0) __nanosleep(20);
    }
    st_relaxed_gpu(end + blockIdx.x, before + count);
    base = before - 1;
  }
  __syncthreads();
  if (is_kept) a.scratch[base + threadIdx.x] = value + 1;
}

// One CTA clears what all add to.
EXHIBIT(output_cleared_by_one_cta_added_by_all) {
  u32* ready = a.scratch + 1024;
  if (blockIdx.x == 0) {
    a.scratch[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x == 0) st_release_gpu(ready, 1);
  } else if (mended) {
    if (threadIdx.x == 0) {
      while (ld_acquire_gpu(ready) == 0) __nanosleep(20);
    }
    __syncthreads();
  }
  atomicAdd(a.scratch + threadIdx.x, 1);
}

// Thread 0 waits for its store; the thread that raises the flag does not know that.
EXHIBIT(store_waited_for_and_flag_by_another_warp) {
  __shared__ alignas(128) u32 tile[64];
  u32* flag = a.scratch + 1024;
  if (blockIdx.x == 0) {
    tile[threadIdx.x] = threadIdx.x + 7;
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(a.scratch, tile, 256);
      bulk_commit();
      bulk_wait<0>();
      fence_async();
    }
    if (mended) __syncthreads();
    if (threadIdx.x == 32) st_release_gpu(flag, 1);
    return;
  }
  if (threadIdx.x == 0) {
    while (ld_acquire_gpu(flag) == 0) __nanosleep(20);
  }
  __syncthreads();
  a.out[threadIdx.x] = a.scratch[threadIdx.x];
}

LEGAL(launch_that_makes_activations) {
  launch_dependents();
  for (u32 i = 0; i < 200; ++i) __nanosleep(100);
  a.scratch[threadIdx.x] = threadIdx.x + 1;
}

// Activations are fetched with the weights, before the launch that makes them is over.
EXHIBIT(activations_fetched_before_the_launch_before) {
  __shared__ alignas(16) u32 weights[64][4], activations[64][4];
  cp_async(weights[threadIdx.x], a.in + threadIdx.x * 4);
  if (mended) wait_for_the_launch_before();
  if (threadIdx.x < 16) cp_async(activations[threadIdx.x], a.scratch + threadIdx.x * 4);
  cp_async_commit();
  if (!mended) wait_for_the_launch_before();
  cp_async_wait<0>();
  __syncthreads();
  a.out[threadIdx.x] = weights[threadIdx.x][0] + activations[threadIdx.x / 4][threadIdx.x % 4];
}

// Rings

// The usual ring of cp.async with one barrier a turn: what is loaded goes where the turn before has read.
EXHIBIT(multistage_load_issued_before_the_barrier) {
  __shared__ alignas(16) u32 stage[3][64][4];
  const auto load = [&](u32 k) {
    if (k < 6) cp_async(stage[k % 3][threadIdx.x], a.in + k * 256 + threadIdx.x * 4);
    cp_async_commit();
  };
  load(0);
  load(1);
  u32 sum = 0;
  for (u32 k = 0; k < 6; ++k) {
    cp_async_wait<1>();
    if (!mended) load(k + 2);
    __syncthreads();
    if (mended) load(k + 2);
    sum += stage[k % 3][63 - threadIdx.x][1];
  }
  a.out[threadIdx.x] = sum;
}

// Each CTA of two loads half of a stage for both. Who has read tells both; the peer is told too early.
EXHIBIT(multicast_peer_told_before_the_read) {
  __shared__ alignas(128) u32 stage[2][512];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 2);
  cluster_sync();
  const u32 rank = cluster_rank();
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 k = 0; k < 4; ++k) {
        if (k >= 2) wait_cluster(&empty[k % 2], (k / 2 + 1) % 2);
        arrive_expect(&full[k % 2], 2 * kBoxBytes);
        tma_load_multicast(stage[k % 2] + rank * 256, a.load, 16 * static_cast<int>(k),
                           16 * static_cast<int>(rank), &full[k % 2], 3);
      }
    }
  } else {
    for (u32 k = 0; k < 4; ++k) {
      wait_cluster(&full[k % 2], k / 2 % 2);
      if (!mended) {
        __syncwarp();
        if (lane_idx() == 0) arrive_peer(peer(&empty[k % 2], 1 - rank));
      }
      a.out[rank * 128 + k * 32 + lane_idx()] = stage[k % 2][lane_idx()] + stage[k % 2][256 + lane_idx()];
      __syncwarp();
      if (lane_idx() == 0) {
        if (mended) arrive_peer(peer(&empty[k % 2], 1 - rank));
        arrive_peer(peer(&empty[k % 2], rank));
      }
    }
  }
  __syncwarp();
  cluster_sync();
}

// A ring of tile numbers: the slot is given back, then read.
EXHIBIT(scheduler_slot_released_before_it_is_read) {
  __shared__ u32 tile[2];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 2);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 turn = 0; turn < 5; ++turn) {
        if (turn >= 2) wait(&empty[turn % 2], (turn / 2 + 1) % 2);
        tile[turn % 2] = turn < 4 ? atomicAdd(a.scratch + 1024, 1) : 99;
        arrive(&full[turn % 2]);
      }
    }
    return;
  }
  for (u32 turn = 0; turn < 5; ++turn) {
    wait(&full[turn % 2], turn / 2 % 2);
    u32 mine = 0;
    if (mended) mine = ld_shared(&tile[turn % 2]);
    __syncwarp();
    if (lane_idx() == 0) arrive(&empty[turn % 2]);
    if (!mended) mine = ld_shared(&tile[turn % 2]);
    if (mine == 99) break;
    a.out[mine * 64 + threadIdx.x - 32] = mine;
  }
}

// K is shorter than the ring; who reads goes round all of it.
EXHIBIT(short_k_and_a_consumer_of_all_stages) {
  __shared__ alignas(128) u32 stage[3][64];
  __shared__ u64 full[3];
  init_all(full, 3, 1);
  const u32 steps = a.in[1];  // 2
  if (threadIdx.x == 0) {
    for (u32 k = 0; k < (steps < 3 ? steps : 3); ++k) {
      arrive_expect(&full[k], 256);
      bulk_load(stage[k], a.in + k * 64, 256, &full[k]);
    }
  }
  __syncwarp();
  u32 sum = 0;
  for (u32 k = 0; k < (mended ? steps : 3); ++k) {
    wait(&full[k], 0);
    sum += stage[k][lane_idx()];
  }
  a.out[lane_idx()] = sum;
}

// The last part of a row is left out, and expected.
EXHIBIT(tail_copy_left_out_and_expected) {
  __shared__ alignas(128) u32 row[128];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  const u32 words = a.in[63];  // 64
  if (threadIdx.x == 0) {
    arrive_expect(&full, mended ? words * 4 : 512);
    bulk_load(row, a.in, 256, &full);
    if (words > 64) bulk_load(row + 64, a.in + 64, (words - 64) * 4, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = row[threadIdx.x];
}

// The reader's place in the ring begins anew with each tile, the writer's goes on.
EXHIBIT(place_in_the_ring_begins_anew_with_each_tile) {
  __shared__ alignas(128) u32 stage[2][64];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 1);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 k = 0; k < 6; ++k) {
        if (k >= 2) wait(&empty[k % 2], (k / 2 + 1) % 2);
        arrive_expect(&full[k % 2], 256);
        bulk_load(stage[k % 2], a.in + k * 64, 256, &full[k % 2]);
      }
    }
    return;
  }
  u32 place = 0;
  for (u32 tile = 0; tile < 2; ++tile) {
    if (!mended) place = 0;
    for (u32 k = 0; k < 3; ++k, ++place) {
      wait(&full[place % 2], place / 2 % 2);
      a.out[(tile * 3 + k) * 32 + lane_idx()] = stage[place % 2][lane_idx()];
      __syncwarp();
      if (lane_idx() == 0) arrive(&empty[place % 2]);
    }
  }
}

// Fragments are loaded in two parts, and the stage is given back between them.
EXHIBIT(fragments_loaded_after_the_release) {
  __shared__ alignas(128) u32 stage[2][256];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 1);
  init_all(empty, 2, 1);
  if (warp_idx() == 0) {
    if (lane_idx() == 0) {
      for (u32 k = 0; k < 4; ++k) {
        if (k >= 2) wait(&empty[k % 2], (k / 2 + 1) % 2);
        arrive_expect(&full[k % 2], 1024);
        bulk_load(stage[k % 2], a.in + k * 256, 1024, &full[k % 2]);
      }
    }
    return;
  }
  u32 sum = 0;
  for (u32 k = 0; k < 4; ++k) {
    wait(&full[k % 2], k / 2 % 2);
    u32 low[4], high[4];
    ldmatrix(low, stage[k % 2] + lane_idx() * 4);
    if (mended) ldmatrix(high, stage[k % 2] + 128 + lane_idx() * 4);
    __syncwarp();
    if (lane_idx() == 0) arrive(&empty[k % 2]);
    if (!mended) ldmatrix(high, stage[k % 2] + 128 + lane_idx() * 4);
    sum += low[0] + high[3];
  }
  a.out[lane_idx()] = sum;
}

// Two groups of multiplications for each stage, and the wait leaves one of them.
EXHIBIT(two_groups_a_stage_and_one_may_be_open) {
  struct Stage {
    alignas(128) u32 a[512];
    alignas(128) u32 b[2][64];
  };
  __shared__ Stage stage;
  float d[4] = {}, e[4] = {};
  for (u32 k = 0; k < 3; ++k) {
    for (u32 i = threadIdx.x; i < 512; i += 128) stage.a[i] = kOnes;
    stage.b[threadIdx.x / 64][threadIdx.x % 64] = kOnes;
    fence_async_shared();
    __syncthreads();
    wgmma_fence();
    wgmma(d, wgmma_descriptor(stage.a), wgmma_descriptor(stage.b[0]), k != 0);
    wgmma_commit();
    wgmma(e, wgmma_descriptor(stage.a), wgmma_descriptor(stage.b[1]), k != 0);
    wgmma_commit();
    if (mended) wgmma_wait<0>();
    else wgmma_wait<1>();
    __syncthreads();
  }
  wgmma_wait<0>();
  a.out[threadIdx.x] = __float_as_uint(d[0] + e[1]);
}

// Epilogues

// Two groups of warps take turns in one staging tile; one of them does not wait for its last turn.
EXHIBIT(order_barrier_skipped_in_the_last_tile) {
  __shared__ u32 staging[64];
  const u32 group = threadIdx.x / 64, thread = threadIdx.x % 64;
  if (group == 1) named_arrive(1, 128);
  for (u32 tile = 0; tile < 3; ++tile) {
    if (mended || group == 0 || tile < 2) named_sync(1 + group, 128);
    staging[thread] = tile * 2 + group;
    named_sync(3 + group, 64);
    a.out[(tile * 2 + group) * 64 + thread] = staging[63 - thread];
    if (group == 0 || tile < 2) named_arrive(2 - group, 128);
  }
  if (!mended && group == 1) named_sync(2, 128);
}

// The epilogue's tile lies where the next tile's operands are already on their way.
EXHIBIT(epilogue_over_a_stage_in_flight) {
  __shared__ alignas(128) u32 stage[2][64];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  if (threadIdx.x == 0) {
    for (u32 k = 0; k < 2; ++k) {
      arrive_expect(&full[k], 256);
      bulk_load(stage[k], a.in + k * 64, 256, &full[k]);
    }
  }
  wait(&full[0], 0);
  const u32 value = stage[0][threadIdx.x];
  __syncthreads();
  u32* staging = stage[mended ? 0 : 1];
  staging[threadIdx.x] = value * 2;
  __syncthreads();
  a.out[threadIdx.x] = staging[63 - threadIdx.x];
  wait(&full[1], 0);
  if (mended) a.out[64 + threadIdx.x] = stage[1][threadIdx.x];
}

// Thread 0 waits until a staging tile may be written again, and the others do not hear of it.
EXHIBIT(staging_tile_written_behind_the_stores_wait) {
  __shared__ alignas(128) u32 staging[2][64];
  for (u32 tile = 0; tile < 4; ++tile) {
    if (threadIdx.x == 0) bulk_wait_read<1>();
    if (mended) __syncthreads();
    staging[tile % 2][threadIdx.x] = tile * 100 + threadIdx.x;
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(a.out + tile * 64, staging[tile % 2], 256);
      bulk_commit();
    }
  }
  if (threadIdx.x == 0) bulk_wait<0>();
}

// Accumulators go through shared memory from warps that multiply to warps that store, by pairs of named barriers.
EXHIBIT(accumulator_tile_handed_back_early) {
  __shared__ u32 tile[32];
  for (u32 turn = 0; turn < 3; ++turn) {
    if (warp_idx() == 0) {
      if (turn != 0) named_sync(2, 64);
      tile[lane_idx()] = turn * 32 + lane_idx();
      named_arrive(1, 64);
    } else {
      named_sync(1, 64);
      if (!mended && turn < 2) named_arrive(2, 64);
      a.out[turn * 32 + lane_idx()] = ld_shared(&tile[31 - lane_idx()]);
      if (mended && turn < 2) named_arrive(2, 64);
    }
  }
}

// Reductions

// A sum over a cluster, twice: the second round's parts overwrite what rank 0 may still add up.
EXHIBIT(cluster_sum_of_the_second_round) {
  __shared__ u32 part[4];
  cluster_sync();
  for (u32 round = 0; round < 2; ++round) {
    if (threadIdx.x == 0) st_peer(peer(&part[cluster_rank()], 0), round * 10 + cluster_rank());
    cluster_sync();
    if (cluster_rank() == 0 && threadIdx.x == 0) {
      u32 sum = 0;
      for (u32 i = 0; i < 4; ++i) sum += part[i];
      a.out[round] = sum;
    }
    if (mended) {
      __syncwarp();
      cluster_sync();
    }
  }
  cluster_sync();
}

// Half of the warps have something to add; all parts are added up.
EXHIBIT(row_sum_with_parts_of_idle_warps) {
  __shared__ u32 part[4];
  const u32 value = a.in[threadIdx.x];
  if (warp_idx() < 2 || mended) {
    const u32 sum = __reduce_add_sync(0xffffffff, warp_idx() < 2 ? value : 0);
    if (lane_idx() == 0) part[warp_idx()] = sum;
  }
  __syncthreads();
  a.out[threadIdx.x] = part[0] + part[1] + part[2] + part[3];
}

// Memory that nobody wrote

// A box at the edge of a tensor that nobody wrote: the zeros beyond it are zeros, and what lies inside is not
// known.
EXHIBIT(columns_inside_a_tensor_that_nobody_wrote) {
  __shared__ alignas(128) u64 map[16];
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (lane_idx() < 16) map[lane_idx()] = a.load->words[lane_idx()];
  __syncwarp();
  if (lane_idx() == 0)
    asm volatile(
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared_address(map)),
        "l"(a.raw)
        : "memory");
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
      "128;" ::"l"(a.scratch),
      "r"(shared_address(map))
      : "memory");
  if (lane_idx() == 0) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(a.scratch) : "memory");
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, reinterpret_cast<const TensorMap*>(a.scratch), 56, 0, &full);
  }
  wait(&full, 0);
  a.out[lane_idx()] = tile[lane_idx() / 8 * 16 + (mended ? 8 : 0) + lane_idx() % 8] + 1;
}
