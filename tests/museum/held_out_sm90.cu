// SPDX-License-Identifier: Apache-2.0
//
// Bugs that were kept apart while the checks were written: they measure how well the checks do on programs that
// nobody had in view.
#include "ptx.h"

EXHIBIT(two_reductions_in_one_buffer) {
  __shared__ u32 parts[4];
  u32 total = 0;
  for (u32 turn = 0; turn < 2; ++turn) {
    const u32 sum = __reduce_add_sync(0xFFFFFFFFu, a.in[turn * 128 + threadIdx.x]);
    if (lane_idx() == 0) parts[warp_idx()] = sum;
    __syncthreads();
    for (u32 w = 0; w < 4; ++w) total += parts[w];
    if (mended) __syncthreads();
  }
  a.out[threadIdx.x] = total;
}

EXHIBIT(scan_in_place) {
  __shared__ u32 sums[64];
  sums[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  for (u32 step = 1; step < 64; step *= 2) {
    const u32 other = threadIdx.x >= step ? ld_shared(&sums[threadIdx.x - step]) : 0;
    if (mended) __syncthreads();
    st_shared(&sums[threadIdx.x], ld_shared(&sums[threadIdx.x]) + other);
    __syncthreads();
  }
  a.out[threadIdx.x] = sums[threadIdx.x];
}

EXHIBIT(syncwarp_between_two_warps) {
  __shared__ u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (mended) __syncthreads();
  else __syncwarp();
  a.out[threadIdx.x] = tile[threadIdx.x ^ 32];
}

EXHIBIT(arrive_and_sync_on_different_ids) {
  __shared__ u32 tile[32];
  if (warp_idx() == 0) {
    tile[lane_idx()] = a.in[lane_idx()];
    named_arrive(mended ? 3 : 2, 64);
  } else {
    named_sync(3, 64);
    a.out[lane_idx()] = tile[lane_idx()];
  }
}

EXHIBIT(maximum_read_beside_the_atomics) {
  __shared__ u32 largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  atomicMax(&largest, a.in[threadIdx.x]);
  if (mended) __syncthreads();
  else __syncwarp();
  a.out[threadIdx.x] = ld_shared(&largest);
}

EXHIBIT(cta_fence_between_two_ctas) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = 42;
    if (mended) fence_gpu();
    else fence_cta();
    st_relaxed_gpu(a.scratch + 64, 1);
  } else {
    while (ld_relaxed_gpu(a.scratch + 64) == 0) {
    }
    fence_gpu();
    a.out[0] = ld_weak(a.scratch);
  }
}

EXHIBIT(fence_before_the_flag_is_seen) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = 42;
    st_release_gpu(a.scratch + 64, 1);
  } else {
    if (!mended) fence_gpu();
    while (ld_relaxed_gpu(a.scratch + 64) == 0) {
    }
    if (mended) fence_gpu();
    a.out[0] = ld_weak(a.scratch);
  }
}

EXHIBIT(ticket_lock_without_release) {
  u32* sum = a.scratch + 32;
  if (threadIdx.x != 0) return;
  const u32 ticket = atomicAdd(a.scratch, 1u);
  while (ld_acquire_gpu(a.scratch + 1) != ticket) {
  }
  st_weak(sum, ld_weak(sum) + 1);
  if (mended) st_release_gpu(a.scratch + 1, ticket + 1);
  else st_relaxed_gpu(a.scratch + 1, ticket + 1);
}

// Split K: the CTA that comes last adds the parts, but parts are written after the count.
EXHIBIT(split_k_counts_before_it_writes) {
  __shared__ u32 is_last;
  u32* count = a.scratch + 1024;
  if (!mended && threadIdx.x == 0) is_last = add_acq_rel_gpu(count, 1) == gridDim.x - 1;
  a.scratch[blockIdx.x * 32 + threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  if (mended && threadIdx.x == 0) is_last = add_acq_rel_gpu(count, 1) == gridDim.x - 1;
  __syncthreads();
  if (is_last) a.out[threadIdx.x] = ld_weak(a.scratch + threadIdx.x) + ld_weak(a.scratch + 32 + threadIdx.x);
}

EXHIBIT(queue_head_before_its_entry) {
  if (threadIdx.x != 0) return;
  for (u32 i = 0; i < 4; ++i) {
    if (blockIdx.x == 0) {
      if (!mended) st_release_gpu(a.scratch + 64, i + 1);
      st_weak(a.scratch + i, i + 10);
      if (mended) st_release_gpu(a.scratch + 64, i + 1);
    } else {
      while (ld_acquire_gpu(a.scratch + 64) <= i) {
      }
      a.out[i] = ld_weak(a.scratch + i);
    }
  }
}

EXHIBIT(flag_polled_by_a_weak_load) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[0] = 42;
    st_release_gpu(a.scratch + 64, 1);
  } else {
    u32 seen;
    do {
      seen = mended ? ld_acquire_gpu(a.scratch + 64) : ld_weak(a.scratch + 64);
    } while (seen == 0);
    a.out[0] = ld_weak(a.scratch);
  }
}

EXHIBIT(tile_counter_without_atomic) {
  if (threadIdx.x != 0) return;
  u32 tile;
  if (mended) {
    tile = atomicAdd(a.scratch, 1u);
  } else {
    tile = ld_weak(a.scratch);
    st_weak(a.scratch, tile + 1);
  }
  a.out[64 + tile] = 1;
}

EXHIBIT(wide_store_over_a_neighbours_word) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) *reinterpret_cast<uint4*>(a.out) = make_uint4(1, 2, 3, 4);
  else a.out[mended ? 4 : 3] = 9;
}

EXHIBIT(float_sum_read_without_fence) {
  float* sum = reinterpret_cast<float*>(a.scratch);
  if (threadIdx.x == 0) {
    atomicAdd(sum, 1.0f);
    if (mended) __threadfence();
    if (atomicAdd(a.scratch + 64, 1u) == gridDim.x - 1) {
      if (mended) __threadfence();
      a.out[0] = ld_weak(a.scratch);
    }
  }
}

// Three stages, and a parity that belongs to two.
EXHIBIT(parity_of_another_ring) {
  __shared__ u32 tiles[3][32];
  __shared__ u64 full[3], empty[3];
  init_all(full, 3, 32);
  init_all(empty, 3, 32);
  for (u32 turn = 0; turn < 6; ++turn) {
    const u32 stage = turn % 3;
    const u32 wrap = turn / 3 % 2;
    if (warp_idx() == 0) {
      wait(&empty[stage], wrap ^ 1);
      st_shared(&tiles[stage][lane_idx()], turn);
      arrive(&full[stage]);
    } else {
      wait(&full[stage], mended ? wrap : turn / 2 % 2);
      a.out[turn * 32 + lane_idx()] = ld_shared(&tiles[stage][lane_idx()]);
      arrive(&empty[stage]);
    }
  }
}

EXHIBIT(leader_arrives_for_all_and_so_do_they) {
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    if (mended) arrive(&full);
    else arrive_n(&full, 17);
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = 1;
  }
}

EXHIBIT(arrive_before_the_store) {
  __shared__ u32 tile[32];
  __shared__ u64 full;
  if (warp_idx() == 0) tile[lane_idx()] = 0;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    if (!mended) arrive(&full);
    st_shared(&tile[lane_idx()], a.in[lane_idx()]);
    if (mended) arrive(&full);
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = ld_shared(&tile[lane_idx()]);
  }
}

// Two consumers, and a count for one.
EXHIBIT(second_consumer_not_counted) {
  __shared__ u32 tile[32];
  __shared__ u64 full, empty;
  init_all(&full, 1, 32);
  init_all(&empty, 1, mended ? 64 : 32);
  for (u32 turn = 0; turn < 2; ++turn) {
    if (warp_idx() == 0) {
      wait(&empty, turn ^ 1);
      st_shared(&tile[lane_idx()], a.in[turn * 32 + lane_idx()]);
      arrive(&full);
    } else {
      wait(&full, turn);
      a.out[(turn * 2 + warp_idx()) * 32 + lane_idx()] = ld_shared(&tile[lane_idx()]);
      if (mended || warp_idx() == 1) arrive(&empty);
    }
  }
}

EXHIBIT(every_thread_initialises) {
  __shared__ u64 full;
  if (!mended || threadIdx.x == 0) {
    bar_init(&full, 64);
    fence_init();
  }
  __syncthreads();
  arrive(&full);
  wait(&full, 0);
  a.out[threadIdx.x] = 1;
}

EXHIBIT(both_sides_expect) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (!mended && threadIdx.x == 0) expect(&full, 256);
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&full, 256);
    bulk_load(tile, a.in, 256, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

EXHIBIT(one_lane_waits_for_its_warp) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, 256);
    bulk_load(tile, a.in, 256, &full);
  }
  if (lane_idx() == 0) wait(&full, 0);
  if (mended) __syncwarp();
  a.out[threadIdx.x] = ld_shared(&tile[threadIdx.x]);
}

EXHIBIT(bytes_counted_in_elements) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, mended ? 1024 : 256);
    for (u32 part = 0; part < 4; ++part) bulk_load(tile + part * 64, a.in + part * 64, 256, &full);
  }
  wait(&full, 0);
  for (u32 part = 0; part < 4; ++part) a.out[part * 64 + threadIdx.x] = ld_shared(&tile[part * 64 + threadIdx.x]);
}

EXHIBIT(second_half_has_its_own_barrier) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  if (threadIdx.x == 0) {
    for (u32 half = 0; half < 2; ++half) {
      arrive_expect(&full[half], 128);
      bulk_load(tile + half * 32, a.in + half * 32, 128, &full[half]);
    }
  }
  wait(&full[0], 0);
  if (mended) wait(&full[1], 0);
  a.out[threadIdx.x] = ld_shared(&tile[threadIdx.x]);
  wait(&full[1], 0);
}

EXHIBIT(proxy_fence_of_the_other_space) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (mended) fence_async_shared();
  else fence_async_global();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out, tile, 256);
    bulk_commit();
    bulk_wait<0>();
  }
}

// A relay: loaded by the engine, stored by the engine, and loaded again before the store has read it.
EXHIBIT(relay_reloads_too_early) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    for (u32 turn = 0; turn < 2; ++turn) {
      arrive_expect(&full, 256);
      bulk_load(tile, a.in + turn * 64, 256, &full);
      wait(&full, turn);
      bulk_store(a.out + turn * 64, tile, 256);
      bulk_commit();
      if (mended) bulk_wait_read<0>();
    }
    bulk_wait<0>();
  }
}

EXHIBIT(reduction_read_without_wait) {
  __shared__ alignas(128) u32 tile[256];
  for (u32 i = threadIdx.x; i < 256; i += 64) tile[i] = 1;
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    tma_add(a.store, 0, 0, tile);
    bulk_commit();
    if (mended) {
      bulk_wait<0>();
      fence_async_global();
    } else {
      bulk_wait_read<0>();
    }
    a.out[3000] = ld_weak(a.out);
    bulk_wait<0>();
  }
}

EXHIBIT(two_ctas_store_one_tile) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = blockIdx.x;
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out + (mended ? blockIdx.x * 64 : 0), tile, 256);
    bulk_commit();
    bulk_wait<0>();
  }
}

EXHIBIT(load_of_what_another_cta_stores) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  u32* flag = a.scratch + 1024;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (u32 i = 0; i < 64; ++i) st_shared(&tile[i], i);
    fence_async_shared();
    bulk_store(a.scratch, tile, 256);
    bulk_commit();
    bulk_wait<0>();
    fence_async();
    if (mended) st_release_gpu(flag, 1);
  } else {
    if (mended) {
      while (ld_acquire_gpu(flag) == 0) {
      }
      fence_async();
    }
    arrive_expect(&full, 256);
    bulk_load(tile, a.scratch, 256, &full);
    wait(&full, 0);
    a.out[0] = ld_shared(&tile[5]) & (mended ? ~0u : 0u);
  }
}

EXHIBIT(cp_async_then_bulk_store_without_fence) {
  __shared__ alignas(128) u32 tile[256];
  cp_async(&tile[threadIdx.x * 4], a.in + threadIdx.x * 4);
  cp_async_commit();
  cp_async_wait<0>();
  if (mended) fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out, tile, 1024);
    bulk_commit();
    bulk_wait<0>();
  }
}

EXHIBIT(cp_async_waited_for_by_a_neighbour) {
  __shared__ alignas(16) u32 tile[128];
  if (warp_idx() == 0) {
    cp_async(&tile[lane_idx() * 4], a.in + lane_idx() * 4);
    cp_async_commit();
    if (mended) cp_async_wait<0>();
  } else {
    cp_async_wait<0>();
  }
  __syncthreads();
  if (warp_idx() == 1) a.out[lane_idx()] = tile[lane_idx()];
  cp_async_wait<0>();
}

EXHIBIT(exit_without_commit_of_a_store) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out, tile, 256);
    if (mended) bulk_commit();
    bulk_wait<0>();
  }
}

EXHIBIT(remote_atomics_read_without_barrier) {
  __shared__ u32 count;
  if (threadIdx.x == 0) count = 0;
  cluster_sync();
  if (threadIdx.x == 0)
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(peer(&count, 0)) : "memory");
  if (mended) cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) a.out[0] = ld_shared(&count) & (mended ? ~0u : 0u);
  cluster_sync();
}

EXHIBIT(one_of_four_peers_is_left_out) {
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x < (mended ? 4 : 3)) arrive_peer(peer(&full, threadIdx.x));
  wait_cluster(&full, 0);
  a.out[cluster_rank() * 32 + threadIdx.x] = 1;
  cluster_sync();
}

EXHIBIT(peer_read_while_it_writes) {
  __shared__ u32 tile[32];
  tile[threadIdx.x] = 0;
  cluster_sync();
  tile[threadIdx.x] = threadIdx.x + 1;
  if (mended) cluster_sync();
  a.out[cluster_rank() * 32 + threadIdx.x] =
      ld_peer(peer(&tile[threadIdx.x], cluster_rank() ^ 1)) & (mended ? ~0u : 0u);
  cluster_sync();
}

EXHIBIT(multicast_to_a_cta_that_is_not_there) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBoxBytes);
    if (cluster_rank() == 0) tma_load_multicast(tile, a.load, 0, 0, &full, mended ? 3 : 7);
  }
  wait(&full, 0);
  a.out[cluster_rank() * 64 + threadIdx.x] = tile[threadIdx.x];
  cluster_sync();
}

struct Operands {
  alignas(128) u32 a[512];
  alignas(128) u32 b[64];
};

__device__ __forceinline__ void fill(Operands& s) {
  for (u32 i = threadIdx.x; i < 512; i += blockDim.x) s.a[i] = kOnes;
  for (u32 i = threadIdx.x; i < 64; i += blockDim.x) s.b[i] = kOnes;
  fence_async_shared();
  __syncthreads();
}

EXHIBIT(accumulators_scaled_in_flight) {
  __shared__ Operands s;
  float d[4] = {1, 1, 1, 1};
  fill(s);
  wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 1);
  wgmma_commit();
  if (mended) wgmma_wait<0>();
  for (float& v : d) v *= __uint_as_float(0x40000000 + (a.in[0] & 0));
  wgmma_wait<0>();
  for (u32 i = 0; i < 4; ++i) a.out[i * 128 + threadIdx.x] = __float_as_uint(d[i]);
}

EXHIBIT(accumulators_changed_without_fence) {
  __shared__ Operands s;
  float d[4] = {};
  fill(s);
  wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  wgmma_commit();
  wgmma_wait<0>();
  for (float& v : d) v = v * 2 + static_cast<float>(a.in[threadIdx.x]);
  if (mended) wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 1);
  wgmma_commit();
  wgmma_wait<0>();
  for (u32 i = 0; i < 4; ++i) a.out[i * 128 + threadIdx.x] = __float_as_uint(d[i]);
}

// Two warpgroups read one stage; the release of one lets the copy engine in.
EXHIBIT(second_warpgroup_not_counted) {
  __shared__ Operands s;
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, mended ? 2 : 1);
  fill(s);
  if (threadIdx.x < 256) {
    float d[4] = {};
    wgmma_fence();
    wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
    wgmma_commit();
    wgmma_wait<0>();
    if (threadIdx.x % 128 == 0 && (mended || threadIdx.x == 0)) arrive(&empty);
    for (u32 i = 0; i < 4; ++i) a.out[i * 256 + threadIdx.x] = __float_as_uint(d[i]);
  } else if (threadIdx.x == 256) {
    wait(&empty, 0);
    arrive_expect(&full, 256);
    bulk_load(s.b, a.in, 256, &full);
    wait(&full, 0);
  }
}
