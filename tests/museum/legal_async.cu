// SPDX-License-Identifier: Apache-2.0
//
// Legal programs of mbarriers, copies, clusters and Hopper's tensor cores.
#include "ptx.h"

// A ring of stages filled by bulk loads; every consumer thread releases.
template <u32 stages>
__device__ __forceinline__ void bulk_ring(const Args& a, u32 turns, bool peeks) {
  __shared__ alignas(128) u32 tiles[stages][64];
  __shared__ u64 full[stages], empty[stages];
  init_all(full, stages, 1);
  init_all(empty, stages, 64);
  if (warp_idx() == 2) {
    if (elect()) {
      for (u32 turn = 0; turn < turns; ++turn) {
        const u32 stage = turn % stages;
        wait(&empty[stage], turn / stages % 2 ^ 1);
        arrive_expect(&full[stage], 256);
        bulk_load(tiles[stage], a.in + turn * 64, 256, &full[stage]);
      }
    }
  } else {
    bool ready = peeks && try_wait(&full[0], 0);
    for (u32 turn = 0; turn < turns; ++turn) {
      const u32 stage = turn % stages;
      if (!ready) wait(&full[stage], turn / stages % 2);
      a.out[turn * 64 + threadIdx.x] = ld_shared(&tiles[stage][63 - threadIdx.x]);
      fence_async_shared();
      arrive(&empty[stage]);
      const u32 next = turn + 1;
      ready = peeks && next < turns && try_wait(&full[next % stages], next / stages % 2);
    }
  }
}

LEGAL(ring_of_one_stage) { bulk_ring<1>(a, 5, false); }
LEGAL(ring_of_three_stages) { bulk_ring<3>(a, 7, false); }
LEGAL(ring_with_a_peek) { bulk_ring<2>(a, 6, true); }
LEGAL(ring_of_one_stage_with_a_peek) { bulk_ring<1>(a, 4, true); }

LEGAL(barrier_by_token) {
  __shared__ u32 tile[64];
  __shared__ u64 bar;
  init_all(&bar, 1, 64);
  for (u32 turn = 0; turn < 3; ++turn) {
    tile[threadIdx.x] = a.in[turn * 64 + threadIdx.x];
    wait_token(&bar, arrive_token(&bar));
    a.out[turn * 64 + threadIdx.x] = tile[threadIdx.x ^ 32];
    wait_token(&bar, arrive_token(&bar));
  }
}

LEGAL(barrier_polled_by_test_wait) {
  __shared__ u32 word;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 32) {
    st_shared(&word, 3);
    arrive(&full);
  } else if (threadIdx.x == 0) {
    while (!test_wait(&full, 0)) {
    }
    a.out[0] = ld_shared(&word);
  }
}

// Bytes may land before they are expected, within the phase.
LEGAL(bytes_before_they_are_expected) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    bulk_load(tile, a.in, 256, &full);
    arrive_expect(&full, 256);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

LEGAL(complete_tx_by_a_thread) {
  __shared__ u32 word;
  __shared__ u64 full;
  init_all(&full, 1, 2);
  if (threadIdx.x == 0) {
    complete_tx(&full, 64);
    st_shared(&word, 8);
    arrive(&full);
  } else if (threadIdx.x == 32) {
    arrive_expect(&full, 64);
    wait(&full, 0);
    a.out[0] = ld_shared(&word);
  }
}

LEGAL(elected_arrive_behind_syncwarp) {
  __shared__ u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (warp_idx() == 0) {
    st_shared(&tile[lane_idx()], a.in[lane_idx()]);
    __syncwarp();
    if (elect()) arrive(&full);
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = ld_shared(&tile[lane_idx() ^ 3]);
  }
}

// A warp leaves a pipeline with arrive_drop.
LEGAL(arrive_drop_at_the_end) {
  __shared__ u64 bar;
  init_all(&bar, 1, 3);
  if (lane_idx() == 0) {
    if (warp_idx() == 2) {
      arrive_drop(&bar);
    } else {
      for (u32 turn = 0; turn < 3; ++turn) {
        arrive(&bar);
        wait(&bar, turn % 2);
      }
      a.out[warp_idx()] = 1;
    }
  }
}

LEGAL(barrier_bytes_reused_after_inval) {
  __shared__ union {
    u64 bar;
    u32 tile[64];
  } s;
  init_all(&s.bar, 1, 64);
  arrive(&s.bar);
  wait(&s.bar, 0);
  __syncthreads();
  if (threadIdx.x == 0) bar_inval(&s.bar);
  __syncthreads();
  s.tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  a.out[threadIdx.x] = s.tile[threadIdx.x ^ 32];
}

// As Triton has it: the fence is in the reader, behind the barrier.
LEGAL(proxy_fence_in_the_issuer_behind_the_barrier) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    fence_async_shared();
    bulk_store(a.out, tile, 256);
    bulk_commit();
    bulk_wait<0>();
  }
}

LEGAL(store_ring_of_two) {
  __shared__ alignas(128) u32 tiles[2][64];
  for (u32 turn = 0; turn < 5; ++turn) {
    if (threadIdx.x == 0) bulk_wait_read<1>();
    __syncthreads();
    tiles[turn % 2][threadIdx.x] = a.in[turn * 64 + threadIdx.x];
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(a.out + turn * 64, tiles[turn % 2], 256);
      bulk_commit();
    }
  }
  if (threadIdx.x == 0) bulk_wait<0>();
}

LEGAL(tensor_store_and_flag) {
  __shared__ alignas(128) u32 tile[256];
  u32* flag = a.scratch;
  if (blockIdx.x == 0) {
    for (u32 i = threadIdx.x; i < 256; i += 64) tile[i] = i;
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      tma_store(a.store, 0, 0, tile);
      bulk_commit();
      bulk_wait<0>();
      fence_async_global();
      st_release_gpu(flag, 1);
    }
  } else {
    if (threadIdx.x == 0) {
      while (ld_acquire_gpu(flag) == 0) {
      }
    }
    __syncthreads();
    if (threadIdx.x < 16) a.out[2048 + threadIdx.x] = ld_weak(a.out + threadIdx.x);
  }
}

LEGAL(tensor_adds_from_two_blocks) {
  __shared__ alignas(128) u32 tile[256];
  for (u32 i = threadIdx.x; i < 256; i += 64) tile[i] = blockIdx.x + 1;
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    tma_add(a.store, 0, 0, tile);
    bulk_commit();
    bulk_wait<0>();
  }
}

LEGAL(own_global_data_by_a_load) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  a.scratch[threadIdx.x] = threadIdx.x + 3;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&full, 256);
    bulk_load(tile, a.scratch, 256, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

LEGAL(tensor_map_made_by_threads) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  u64* map = reinterpret_cast<u64*>(a.scratch);
  if (threadIdx.x < 16) map[threadIdx.x] = a.load->words[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, reinterpret_cast<const TensorMap*>(map), 16, 16, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

LEGAL(cp_async_double_buffer) {
  __shared__ alignas(16) u32 tiles[2][256];
  const auto fetch = [&](u32 turn) {
    if (turn < 4) cp_async(&tiles[turn % 2][threadIdx.x * 4], a.in + turn * 256 + threadIdx.x * 4);
    cp_async_commit();
  };
  fetch(0);
  for (u32 turn = 0; turn < 4; ++turn) {
    fetch(turn + 1);
    cp_async_wait<1>();
    __syncthreads();
    a.out[turn * 64 + threadIdx.x] = tiles[turn % 2][255 - threadIdx.x];
    __syncthreads();
  }
}

LEGAL(cp_async_and_mbarrier) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    cp_async(&tile[lane_idx() * 4], a.in + lane_idx() * 4);
    cp_async_arrive_noinc(&full);
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = tile[lane_idx()];
  }
}

LEGAL(cluster_exchange) {
  __shared__ u32 tile[32];
  tile[threadIdx.x] = cluster_rank() * 100 + threadIdx.x;
  cluster_sync();
  a.out[cluster_rank() * 32 + threadIdx.x] = ld_peer(peer(&tile[threadIdx.x ^ 1], cluster_rank() ^ 1));
  cluster_sync();
}

LEGAL(cluster_remote_store_and_arrive) {
  __shared__ u32 word;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (threadIdx.x == 0) {
    st_peer(peer(&word, cluster_rank() ^ 1), cluster_rank() + 5);
    arrive_peer(peer(&full, cluster_rank() ^ 1));
    wait_cluster(&full, 0);
    a.out[cluster_rank()] = ld_shared(&word);
  }
  cluster_sync();
}

// Arrive early, wait late.
LEGAL(cluster_barrier_in_two_parts) {
  __shared__ u32 word;
  if (threadIdx.x == 0) word = cluster_rank();
  __syncwarp();
  cluster_arrive();
  a.out[64 + cluster_rank() * 32 + threadIdx.x] = 1;
  cluster_wait();
  a.out[cluster_rank() * 32 + threadIdx.x] = ld_peer(peer(&word, cluster_rank() ^ 1));
  cluster_arrive_relaxed();
  cluster_wait();
}

LEGAL(cluster_copy_to_the_peer) {
  __shared__ alignas(128) u32 from[64], to[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  from[threadIdx.x] = cluster_rank() * 64 + threadIdx.x;
  fence_async_shared();
  cluster_sync();
  if (threadIdx.x == 0) {
    arrive_expect(&full, 256);
    bulk_to_peer(peer(to, cluster_rank() ^ 1), from, 256, peer(&full, cluster_rank() ^ 1));
  }
  wait(&full, 0);
  a.out[cluster_rank() * 64 + threadIdx.x] = to[threadIdx.x];
  cluster_sync();
}

LEGAL(cluster_multicast_ring) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full, empty;
  if (threadIdx.x == 0) {
    bar_init(&full, 1);
    bar_init(&empty, 2);
    fence_init();
  }
  cluster_sync();
  for (u32 turn = 0; turn < 3; ++turn) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, kBoxBytes);
      if (cluster_rank() == 0) {
        wait_cluster(&empty, turn % 2 ^ 1);
        tma_load_multicast(tile, a.load, turn * 16, 0, &full, 3);
      }
    }
    wait(&full, turn % 2);
    a.out[(turn * 2 + cluster_rank()) * 64 + threadIdx.x] = ld_shared(&tile[threadIdx.x]);
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) arrive_peer(peer(&empty, 0));
  }
  cluster_sync();
}

LEGAL(wgmma_pipeline) {
  __shared__ struct {
    alignas(128) u32 a[2][512];
    alignas(128) u32 b[2][64];
  } s;
  float d[4] = {};
  for (u32 turn = 0; turn < 3; ++turn) {
    const u32 stage = turn % 2;
    for (u32 i = threadIdx.x; i < 512; i += 128) s.a[stage][i] = kOnes;
    if (threadIdx.x < 64) s.b[stage][threadIdx.x] = kOnes;
    fence_async_shared();
    __syncthreads();
    wgmma_fence();
    wgmma(d, wgmma_descriptor(s.a[stage]), wgmma_descriptor(s.b[stage]), turn > 0);
    wgmma_commit();
    wgmma_wait<0>();
    __syncthreads();
  }
  for (u32 i = 0; i < 4; ++i) a.out[i * 128 + threadIdx.x] = __float_as_uint(d[i]);
}

// Two groups in flight on different accumulators.
LEGAL(wgmma_two_groups) {
  __shared__ struct {
    alignas(128) u32 a[512];
    alignas(128) u32 b[64];
  } s;
  float d[4] = {}, e[4] = {};
  for (u32 i = threadIdx.x; i < 512; i += 128) s.a[i] = kOnes;
  if (threadIdx.x < 64) s.b[threadIdx.x] = kOnes;
  fence_async_shared();
  __syncthreads();
  wgmma_fence();
  wgmma(d, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  wgmma_commit();
  wgmma(e, wgmma_descriptor(s.a), wgmma_descriptor(s.b), 0);
  wgmma_commit();
  wgmma_wait<1>();
  for (u32 i = 0; i < 4; ++i) a.out[i * 128 + threadIdx.x] = __float_as_uint(d[i]);
  wgmma_wait<0>();
  for (u32 i = 0; i < 4; ++i) a.out[512 + i * 128 + threadIdx.x] = __float_as_uint(e[i]);
}
