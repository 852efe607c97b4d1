// SPDX-License-Identifier: Apache-2.0
//
// A sixth set of bugs, written as one batch and run once when it was whole: order that a thread hands on for
// others, words that are read in parts, collective loads and stores of a warp, fences beside relaxed barriers,
// clusters of rows and columns, copies that nothing orders among themselves.
#include "ptx.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

namespace {

__device__ inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ inline void wait_for_the_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ inline void fence_sc_gpu() { asm volatile("fence.sc.gpu;" ::: "memory"); }

__device__ inline void st_async(u32 to, u32 value, u32 bar) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(to),
               "r"(value), "r"(bar)
               : "memory");
}
__device__ inline void red_async_add(u32 to, u32 value, u32 bar) {
  asm volatile(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(to),
      "r"(value), "r"(bar)
      : "memory");
}

// 16 bytes a row: each lane gives the address of one row and gets or gives parts of eight.
__device__ inline void ldmatrix(u32 (&d)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void stmatrix(void* row, const u32 (&s)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(s[0]), "r"(s[1]), "r"(s[2]), "r"(s[3])
               : "memory");
}

__device__ inline void bulk_multicast(void* to, const void* from, u32 bytes, u64* bar, u32 mask) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
      "[%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(bar)), "h"(static_cast<unsigned short>(mask))
      : "memory");
}

__device__ inline void add_four(u32* to, float x, float y, float z, float w) {
  asm volatile("red.relaxed.gpu.global.v4.f32.add [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(x), "f"(y), "f"(z),
               "f"(w)
               : "memory");
}

__device__ __forceinline__ void store_result(const Args& a, const float (&d)[4]) {
  for (u32 i = 0; i < 4; ++i) a.out[threadIdx.x * 4 + i] = __float_as_uint(d[i]);
}

}  // namespace

// Flags, locks and counters in global memory

// What a thread has taken over it hands on, unless it has taken over nothing.
EXHIBIT(relay_waits_relaxed_and_raises_a_flag) {
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (blockIdx.x == 0) {
    if (warp_idx() == 0) {
      a.scratch[lane_idx()] = a.in[lane_idx()];
      arrive(&full);
    } else if (lane_idx() == 0) {
      if (mended) wait(&full, 0);
      else wait_relaxed(&full, 0);
      st_release_gpu(a.scratch + 64, 1);
    }
  } else if (warp_idx() == 0) {
    while (ld_acquire_gpu(a.scratch + 64) == 0) {
    }
    a.out[lane_idx()] = a.scratch[lane_idx()];
  }
}

// State and sum are stored as one word of 64 bits, and loaded as two of 32.
EXHIBIT(look_back_pair_loaded_in_two_halves) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0)
      asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(a.scratch), "l"(u64{1} << 32 | 77) : "memory");
    return;
  }
  u32 sum;
  if (mended) {
    u64 pair = 0;
    while (pair >> 32 == 0)
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(pair) : "l"(a.scratch) : "memory");
    sum = static_cast<u32>(pair);
  } else {
    while (ld_relaxed_gpu(a.scratch + 1) == 0) {
    }
    sum = ld_relaxed_gpu(a.scratch);
  }
  a.out[threadIdx.x] = sum;
}

// Each raises its flag and enters if it does not see the other's: both may.
EXHIBIT(both_may_enter_behind_a_fence_that_is_not_sequential) {
  if (threadIdx.x != 0) return;
  const u32 me = blockIdx.x;
  st_relaxed_gpu(a.scratch + me, 1);
  if (mended) fence_sc_gpu();
  else fence_gpu();
  if (ld_relaxed_gpu(a.scratch + 1 - me) == 0) st_weak(a.scratch + 64, ld_weak(a.scratch + 64) + me + 1);
}

// The lane that holds the lock gives it back while the others of its warp still write.
EXHIBIT(lock_given_back_before_the_other_lanes_have_written) {
  u32* lock = a.scratch + 64;
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
    __threadfence();
  }
  __syncwarp();
  st_weak(a.scratch + lane_idx(), ld_weak(a.scratch + lane_idx()) + a.in[lane_idx()]);
  if (mended) __syncwarp();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicExch(lock, 0);
  }
}

// A part is written over the one before, which nobody may have added up yet.
EXHIBIT(workspace_slot_used_again_before_it_is_summed) {
  u32* told = a.scratch + 64;
  u32* summed = a.scratch + 65;
  u32 sum = 0;
  for (u32 part = 0; part < 2; ++part) {
    if (blockIdx.x == 0) {
      if (mended) {
        while (ld_acquire_gpu(summed) < part) {
        }
      }
      a.scratch[lane_idx()] = a.in[part * 32 + lane_idx()];
      __syncwarp();
      if (lane_idx() == 0) st_release_gpu(told, part + 1);
    } else {
      while (ld_acquire_gpu(told) < part + 1) {
      }
      sum += ld_weak(a.scratch + lane_idx());
      __syncwarp();
      if (lane_idx() == 0) st_release_gpu(summed, part + 1);
    }
  }
  if (blockIdx.x == 1) a.out[lane_idx()] = sum;
}

// The second round waits for the word that the first has left.
EXHIBIT(grid_barrier_whose_sense_is_not_flipped) {
  u32 sense = 0;
  const auto meet = [&] {
    if (mended || sense == 0) sense ^= 1;
    __syncwarp();
    if (lane_idx() == 0) {
      if (add_acq_rel_gpu(a.scratch + 512, 1) + 1 == gridDim.x) {
        st_relaxed_gpu(a.scratch + 512, 0);
        st_release_gpu(a.scratch + 513, sense);
      } else {
        while (ld_acquire_gpu(a.scratch + 513) != sense) {
        }
      }
    }
    __syncwarp();
  };
  a.scratch[blockIdx.x * 32 + lane_idx()] = a.in[blockIdx.x * 32 + lane_idx()];
  meet();
  const u32 value = ld_weak(a.scratch + (blockIdx.x + 1) % gridDim.x * 32 + lane_idx());
  meet();
  a.scratch[blockIdx.x * 32 + lane_idx()] = value;
  a.out[blockIdx.x * 32 + lane_idx()] = value;
}

EXHIBIT(vector_sum_beside_a_plain_load) {
  if (blockIdx.x == 0) {
    add_four(a.scratch + lane_idx() * 4, 1, 2, 3, 4);
    __syncwarp();
    if (lane_idx() == 0) st_release_gpu(a.scratch + 256, 1);
  } else {
    if (mended) {
      while (ld_acquire_gpu(a.scratch + 256) == 0) {
      }
    }
    a.out[lane_idx()] = ld_weak(a.scratch + lane_idx());
  }
}

// A load that passes the first level's cache by is a plain load.
EXHIBIT(flag_polled_past_the_first_level) {
  u32* flag = a.scratch + 64;
  if (blockIdx.x == 0) {
    a.scratch[lane_idx()] = a.in[lane_idx()];
    __syncwarp();
    __threadfence();
    if (lane_idx() == 0) st_volatile(flag, 1);
    return;
  }
  u32 seen = 0;
  while (seen == 0) {
    if (mended) seen = ld_volatile(flag);
    else asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  }
  __threadfence();
  a.out[lane_idx()] = a.scratch[lane_idx()];
}

// Warps

// The reduction of old: volatile words, and lanes that are thought to go in step.
EXHIBIT(volatile_reduction_without_syncwarp) {
  __shared__ u32 words[32];
  volatile u32* part = words;
  part[lane_idx()] = a.in[lane_idx()];
  for (u32 step = 16; step > 0; step /= 2) {
    if (mended) __syncwarp();
    const u32 other = lane_idx() < step ? part[lane_idx() + step] : 0;
    if (mended) __syncwarp();
    part[lane_idx()] = part[lane_idx()] + other;
  }
  if (lane_idx() == 0) a.out[0] = part[0];
}

// Each lane gives the address of the row that it has written itself, and gets parts of eight others.
EXHIBIT(matrix_loaded_from_rows_of_other_lanes) {
  __shared__ alignas(16) u32 rows[32][4];
  for (u32 i = 0; i < 4; ++i) st_shared(&rows[lane_idx()][i], a.in[lane_idx() * 4 + i]);
  if (mended) __syncwarp();
  u32 part[4];
  ldmatrix(part, rows[lane_idx()]);
  for (u32 i = 0; i < 4; ++i) a.out[lane_idx() * 4 + i] = part[i];
}

// The row whose address a lane gives is written by four others.
EXHIBIT(matrix_stored_and_read_by_row) {
  __shared__ alignas(16) u32 rows[32][4];
  const u32 part[4] = {a.in[lane_idx()], a.in[lane_idx() + 32], a.in[lane_idx() + 64], a.in[lane_idx() + 96]};
  stmatrix(rows[lane_idx()], part);
  if (mended) __syncwarp();
  for (u32 i = 0; i < 4; ++i) a.out[lane_idx() * 4 + i] = ld_shared(&rows[lane_idx()][i]);
}

// Warps 0 and 2 exchange, and 1 and 3; the barriers are those of 0 and 1, and of 2 and 3.
EXHIBIT(pairs_of_warps_under_each_others_barrier) {
  __shared__ u32 part[128];
  part[threadIdx.x] = a.in[threadIdx.x];
  named_sync(1 + (mended ? warp_idx() % 2 : warp_idx() / 2), 64);
  a.out[threadIdx.x] = part[threadIdx.x ^ 64];
}

// Barriers

// A barrier is made anew with another count, and used before those who use it have met.
EXHIBIT(barrier_with_a_new_count_used_at_once) {
  __shared__ u64 bar;
  __shared__ u32 tile[32];
  init_all(&bar, 1, 64);
  arrive(&bar);
  wait(&bar, 0);
  __syncthreads();
  if (threadIdx.x == 0) {
    bar_inval(&bar);
    bar_init(&bar, 32);
  }
  if (mended) __syncthreads();
  if (warp_idx() == 0) {
    tile[lane_idx()] = a.in[lane_idx()];
    arrive(&bar);
  } else {
    wait(&bar, 0);
    a.out[lane_idx()] = tile[lane_idx()];
  }
}

// Those who use the barrier meet without the one who has made it.
EXHIBIT(barrier_made_by_a_warp_that_does_not_meet) {
  __shared__ u64 bar;
  __shared__ u32 tile[32];
  if (threadIdx.x == 0) {
    bar_init(&bar, 32);
    fence_init();
  }
  if (mended) __syncthreads();
  else if (warp_idx() != 0) named_sync(1, 64);
  if (warp_idx() == 1) {
    tile[lane_idx()] = a.in[lane_idx()];
    arrive(&bar);
  } else if (warp_idx() == 2) {
    wait(&bar, 0);
    a.out[lane_idx()] = tile[lane_idx()];
  }
}

// One of two roles takes a step for a group that has none.
EXHIBIT(group_without_rows_takes_a_step) {
  __shared__ u32 stage[2][32];
  __shared__ u64 full[2], empty[2];
  init_all(full, 2, 32);
  init_all(empty, 2, 32);
  const auto steps_of = [](u32 group) { return group == 1 ? 0u : 2u; };
  u32 step = 0;
  for (u32 group = 0; group < 3; ++group) {
    if (warp_idx() == 0) {
      for (u32 i = 0; i < steps_of(group); ++i, ++step) {
        wait(&empty[step % 2], step / 2 % 2 ^ 1);
        stage[step % 2][lane_idx()] = a.in[step * 32 + lane_idx()];
        arrive(&full[step % 2]);
      }
    } else {
      u32 sum = 0;
      const u32 steps = mended || steps_of(group) != 0 ? steps_of(group) : 1;
      for (u32 i = 0; i < steps; ++i, ++step) {
        wait(&full[step % 2], step / 2 % 2);
        sum += stage[step % 2][lane_idx()];
        arrive(&empty[step % 2]);
      }
      a.out[group * 32 + lane_idx()] = sum;
    }
  }
}

// Copies

// What st.async has brought was not written by a copy, for a copy.
EXHIBIT(words_sent_then_stored_without_a_proxy_fence) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0 && cluster_rank() == 1) arrive_expect(&full, 128);
  cluster_sync();
  if (cluster_rank() == 0) {
    st_async(peer(tile + lane_idx(), 1), a.in[lane_idx()], peer(&full, 1));
  } else if (threadIdx.x == 0) {
    wait_cluster(&full, 0);
    if (mended) fence_async();
    bulk_store(a.out, tile, 128);
    bulk_commit();
    bulk_wait<0>();
  }
  cluster_sync();
}

EXHIBIT(read_only_load_of_what_a_copy_stored) {
  __shared__ alignas(128) u32 tile[32];
  tile[lane_idx()] = a.in[lane_idx()];
  fence_async_shared();
  __syncwarp();
  if (lane_idx() == 0) {
    bulk_store(a.scratch, tile, 128);
    bulk_commit();
    bulk_wait<0>();
  }
  __syncwarp();
  a.out[lane_idx()] = mended ? ld_weak(a.scratch + lane_idx()) : ld_nc(a.scratch + lane_idx());
}

EXHIBIT(tile_loaded_while_others_add_to_it) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (blockIdx.x != 0) {
    atomicAdd(a.scratch + lane_idx(), a.in[lane_idx()]);
    __syncwarp();
    if (lane_idx() == 0) {
      __threadfence();
      atomicAdd(a.scratch + 64, 1);
    }
    return;
  }
  if (lane_idx() == 0) {
    if (mended) {
      while (ld_acquire_gpu(a.scratch + 64) + 1 < gridDim.x) {
      }
      fence_async();
    }
    arrive_expect(&full, 128);
    bulk_load(tile, a.scratch, 128, &full);
  }
  __syncwarp();
  wait(&full, 0);
  a.out[lane_idx()] = tile[lane_idx()];
}

// What is loaded is cleared for the next time, while the copy may still read it.
EXHIBIT(source_cleared_before_its_load_has_landed) {
  __shared__ alignas(128) u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  a.scratch[lane_idx()] = a.in[lane_idx()];
  fence_async();
  __syncwarp();
  if (lane_idx() == 0) {
    arrive_expect(&full, 128);
    bulk_load(tile, a.scratch, 128, &full);
  }
  __syncwarp();
  if (mended) wait(&full, 0);
  st_weak(a.scratch + lane_idx(), 0);
  wait(&full, 0);
  a.out[lane_idx()] = tile[lane_idx()];
}

// Bulk copies have groups of their own.
EXHIBIT(wait_of_the_other_kind_of_copies) {
  __shared__ alignas(128) u32 tile[32];
  for (u32 turn = 0; turn < 2; ++turn) {
    tile[lane_idx()] = a.in[turn * 32 + lane_idx()];
    fence_async_shared();
    __syncwarp();
    if (lane_idx() == 0) {
      bulk_store(a.out + turn * 32, tile, 128);
      bulk_commit();
      if (mended) {
        bulk_wait_read<0>();
      } else {
        cp_async_commit();
        cp_async_wait<0>();
      }
    }
    __syncwarp();
  }
  bulk_wait<0>();
}

// Two stores of one thread to one place come in any order.
EXHIBIT(second_store_over_the_first) {
  __shared__ alignas(128) u32 tile[2][32];
  tile[0][lane_idx()] = 0;
  tile[1][lane_idx()] = a.in[lane_idx()];
  fence_async_shared();
  __syncwarp();
  if (lane_idx() == 0) {
    bulk_store(a.out, tile[0], 128);
    bulk_commit();
    if (mended) bulk_wait<0>();
    bulk_store(a.out, tile[1], 128);
    bulk_commit();
    bulk_wait<0>();
  }
}

LEGAL(launch_that_reads_what_a_copy_overwrites) {
  launch_dependents();
  for (u32 i = 0; i < 200; ++i) __nanosleep(100);
  a.out[threadIdx.x] = a.scratch[threadIdx.x];
}

EXHIBIT(dependent_launch_stores_by_a_copy_without_wait) {
  __shared__ alignas(128) u32 tile[32];
  tile[lane_idx()] = a.in[lane_idx()];
  fence_async_shared();
  if (mended) wait_for_the_launch_before();
  __syncwarp();
  if (lane_idx() == 0) {
    bulk_store(a.scratch, tile, 128);
    bulk_commit();
    bulk_wait<0>();
  }
}

// wgmma

// A copy brings the operand, threads change it where it lies.
EXHIBIT(operand_converted_in_place_without_a_proxy_fence) {
  __shared__ alignas(128) u32 x[512];
  __shared__ alignas(128) u32 y[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, 2048 + 256);
    bulk_load(x, a.in, 2048, &full);
    bulk_load(y, a.in + 512, 256, &full);
  }
  __syncwarp();
  wait(&full, 0);
  for (u32 i = threadIdx.x; i < 512; i += 128) x[i] = x[i] % 2 != 0 ? kOnes : 0;
  if (mended) fence_async_shared();
  __syncthreads();
  float d[4] = {};
  wgmma_fence();
  wgmma(d, wgmma_descriptor(x), wgmma_descriptor(y), 0);
  wgmma_commit();
  wgmma_wait<0>();
  store_result(a, d);
}

EXHIBIT(cp_async_operands_without_a_proxy_fence) {
  __shared__ alignas(128) u32 x[512];
  __shared__ alignas(128) u32 y[64];
  cp_async(x + threadIdx.x * 4, a.in + threadIdx.x * 4);
  if (threadIdx.x < 16) cp_async(y + threadIdx.x * 4, a.in + threadIdx.x * 4);
  cp_async_commit();
  cp_async_wait<0>();
  if (mended) fence_async_shared();
  __syncthreads();
  float d[4] = {};
  wgmma_fence();
  wgmma(d, wgmma_descriptor(x), wgmma_descriptor(y), 0);
  wgmma_commit();
  wgmma_wait<0>();
  store_result(a, d);
}

// Products of one block are added up while those of the next are made: the newer ones are not there yet.
EXHIBIT(promoted_the_newer_of_two_products) {
  __shared__ alignas(128) u32 x[512];
  __shared__ alignas(128) u32 y[64];
  for (u32 i = threadIdx.x; i < 512; i += 128) x[i] = kOnes;
  if (threadIdx.x < 64) y[threadIdx.x] = kOnes;
  fence_async_shared();
  __syncthreads();
  float sum[4] = {}, older[4] = {}, newer[4] = {};
  wgmma_fence();
  wgmma(older, wgmma_descriptor(x), wgmma_descriptor(y), 0);
  wgmma_commit();
  wgmma(newer, wgmma_descriptor(x), wgmma_descriptor(y), 0);
  wgmma_commit();
  wgmma_wait<1>();
  for (u32 i = 0; i < 4; ++i) sum[i] += (mended ? older[i] : newer[i]) * 2.0f;
  wgmma_wait<0>();
  for (u32 i = 0; i < 4; ++i) sum[i] += (mended ? newer[i] : older[i]) * 3.0f;
  store_result(a, sum);
}

// Clusters

EXHIBIT(lock_of_a_cluster_with_a_fence_of_the_block) {
  __shared__ u32 lock, count;
  if (threadIdx.x == 0) {
    lock = 0;
    count = 0;
  }
  cluster_sync();
  if (threadIdx.x == 0) {
    u32* shared_lock = cg::this_cluster().map_shared_rank(&lock, 0);
    u32* shared_count = cg::this_cluster().map_shared_rank(&count, 0);
    while (atomicCAS(shared_lock, 0, 1) != 0) __nanosleep(20);
    if (mended) __threadfence();
    else __threadfence_block();
    *shared_count = *shared_count + 1;
    if (mended) __threadfence();
    else __threadfence_block();
    atomicExch(shared_lock, 0);
  }
  __syncwarp();
  cluster_sync();
  if (threadIdx.x == 0 && cluster_rank() == 0) a.out[0] = count;
}

// A relaxed arrival hands over what a fence before it has released, at the scope of the fence.
EXHIBIT(relaxed_cluster_barrier_behind_a_fence_of_the_cta) {
  __shared__ u32 word[32];
  word[lane_idx()] = a.in[cluster_rank() * 32 + lane_idx()];
  if (mended) fence_cluster();
  else fence_cta();
  cluster_arrive_relaxed();
  cluster_wait();
  a.out[cluster_rank() * 32 + lane_idx()] = ld_peer(peer(word + lane_idx(), cluster_rank() ^ 1));
  cluster_sync();
}

// Two by two: one operand goes along the rows, the other along the columns. A stage is free when row and column
// say so.
EXHIBIT(stage_of_rows_and_columns_released_by_the_row) {
  __shared__ alignas(128) u32 x[2][32], y[2][32];
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, mended ? 3 : 2);
  cluster_sync();
  const u32 rank = cluster_rank(), in_row = rank ^ 1, in_column = rank ^ 2;
  u32 sum = 0;
  for (u32 turn = 0; turn < 3; ++turn) {
    if (threadIdx.x == 0) {
      wait_cluster(&empty, turn % 2 ^ 1);
      arrive_expect(&full, 4 * 128);
      const u32* from = a.in + (turn * 4 + rank) * 32;
      bulk_multicast(x[rank % 2], from, 128, &full, 1 << rank | 1 << in_row);
      bulk_multicast(y[rank / 2], from, 128, &full, 1 << rank | 1 << in_column);
    } else if (warp_idx() == 1) {
      wait_cluster(&full, turn % 2);
      sum += x[0][lane_idx()] + x[1][lane_idx()] + y[0][lane_idx()] * 3 + y[1][lane_idx()] * 5;
      __syncwarp();
      if (lane_idx() == 0) {
        arrive_peer(peer(&empty, rank));
        arrive_peer(peer(&empty, in_row));
        if (mended) arrive_peer(peer(&empty, in_column));
      }
      __syncwarp();
    }
  }
  if (warp_idx() == 1) a.out[rank * 32 + lane_idx()] = sum;
  __syncwarp();
  cluster_sync();
}

// The second cluster has no ranks 2 and 3.
EXHIBIT(rank_taken_from_the_block_index) {
  __shared__ u32 word[32];
  word[lane_idx()] = a.in[blockIdx.x * 32 + lane_idx()];
  cluster_sync();
  const u32 mate = (mended ? cluster_rank() : blockIdx.x) ^ 1;
  a.out[blockIdx.x * 32 + lane_idx()] = ld_peer(peer(word + lane_idx(), mate));
  cluster_sync();
}

// All know that the peer has begun, not that it has cleared what they add to.
EXHIBIT(sums_sent_before_the_peer_has_cleared) {
  __shared__ u32 sums[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (!mended) cluster_sync();
  sums[lane_idx()] = 0;
  if (threadIdx.x == 0) arrive_expect(&full, 128);
  __syncwarp();
  if (mended) cluster_sync();
  const u32 other = cluster_rank() ^ 1;
  red_async_add(peer(sums + lane_idx(), other), a.in[lane_idx()], peer(&full, other));
  wait_cluster(&full, 0);
  a.out[cluster_rank() * 32 + lane_idx()] = sums[lane_idx()];
  cluster_sync();
}
