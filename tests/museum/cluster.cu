// SPDX-License-Identifier: Apache-2.0
//
// Clusters of two: distributed shared memory, remote arrivals, multicast.
#include "ptx.h"

// The peer's shared memory exists only once the peer has started.
EXHIBIT(remote_store_before_the_peer_has_started) {
  __shared__ u32 word;
  if (mended) cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) st_peer(peer(&word, 1), 5);
  cluster_sync();
  if (cluster_rank() == 1 && threadIdx.x == 0) a.out[0] = word;
}

EXHIBIT(remote_store_after_the_peer_has_gone) {
  __shared__ u32 word;
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) st_peer(peer(&word, 1), 5);
  a.out[cluster_rank() * 32 + threadIdx.x] = 1;
  if (mended) cluster_sync();
}

EXHIBIT(remote_load_after_the_peer_has_gone) {
  __shared__ u32 word;
  if (threadIdx.x == 0) word = cluster_rank() + 7;
  cluster_sync();
  if (threadIdx.x == 0) a.out[cluster_rank()] = ld_peer(peer(&word, cluster_rank() ^ 1));
  if (mended) cluster_sync();
}

// A relaxed cluster barrier orders no data.
EXHIBIT(relaxed_cluster_barrier_with_data) {
  __shared__ u32 word;
  if (threadIdx.x == 0) word = cluster_rank() + 7;
  if (mended) cluster_arrive();
  else cluster_arrive_relaxed();
  cluster_wait();
  if (threadIdx.x == 0) a.out[cluster_rank()] = ld_peer(peer(&word, cluster_rank() ^ 1));
  cluster_sync();
}

// An arrive without a scope releases to its own CTA.
EXHIBIT(remote_arrive_without_scope) {
  __shared__ u32 word;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) {
    st_peer(peer(&word, 1), 5);
    if (mended) arrive_peer(peer(&full, 1));
    else arrive_peer_without_scope(peer(&full, 1));
  }
  if (cluster_rank() == 1 && threadIdx.x == 0) {
    wait_cluster(&full, 0);
    a.out[0] = ld_shared(&word);
  }
  cluster_sync();
}

EXHIBIT(remote_arrive_relaxed_with_data) {
  __shared__ u32 word;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) {
    st_peer(peer(&word, 1), 5);
    if (mended) arrive_peer(peer(&full, 1));
    else arrive_peer_relaxed(peer(&full, 1));
  }
  if (cluster_rank() == 1 && threadIdx.x == 0) {
    wait_cluster(&full, 0);
    a.out[0] = ld_shared(&word);
  }
  cluster_sync();
}

// The wait without a scope acquires from its own CTA.
EXHIBIT(wait_of_cta_scope_for_a_peers_data) {
  __shared__ u32 word;
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) {
    st_peer(peer(&word, 1), 5);
    arrive_peer(peer(&full, 1));
  }
  if (cluster_rank() == 1 && threadIdx.x == 0) {
    if (mended) wait_cluster(&full, 0);
    else wait(&full, 0);
    a.out[0] = ld_shared(&word);
  }
  cluster_sync();
}

// A barrier of the peer is used behind a barrier of the own CTA only.
EXHIBIT(no_cluster_barrier_after_init) {
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (mended) cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) arrive_peer(peer(&full, 1));
  if (cluster_rank() == 1 && threadIdx.x == 0) {
    wait_cluster(&full, 0);
    a.out[0] = 1;
  }
  cluster_sync();
}

EXHIBIT(no_init_fence_before_a_remote_arrive) {
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    bar_init(&full, 1);
    if (mended) fence_init();
  }
  cluster_arrive_relaxed();
  cluster_wait();
  if (cluster_rank() == 0 && threadIdx.x == 0) arrive_peer(peer(&full, 1));
  if (cluster_rank() == 1 && threadIdx.x == 0) {
    wait_cluster(&full, 0);
    a.out[0] = 1;
  }
  cluster_sync();
}

EXHIBIT(remote_arrive_on_the_wrong_cta) {
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) arrive_peer(peer(&full, mended ? 1 : 0));
  if (cluster_rank() == 1 && threadIdx.x == 0) {
    wait_cluster(&full, 0);
    a.out[0] = 1;
  }
  cluster_sync();
}

namespace {

// CTA 0 loads a box into both CTAs, twice. Both must have released their stage before the second one.
__device__ __forceinline__ void multicast(const Args& a, u32 releases, u32 mask, u32 expected, bool waits,
                                          bool ends) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full, empty;
  if (threadIdx.x == 0) {
    bar_init(&full, 1);
    bar_init(&empty, releases);
    fence_init();
  }
  cluster_sync();
  for (u32 turn = 0; turn < 2; ++turn) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, expected);
      if (cluster_rank() == 0) {
        if (waits) wait_cluster(&empty, turn ^ 1);
        tma_load_multicast(tile, a.load, turn * 16, 0, &full, mask);
      }
    }
    wait(&full, turn);
    a.out[(turn * 2 + cluster_rank()) * 64 + threadIdx.x] = ld_shared(&tile[255 - threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0 && (releases == 2 || cluster_rank() == 0)) arrive_peer(peer(&empty, 0));
  }
  if (ends) cluster_sync();
}

}  // namespace

// The issuer waits for its own consumers only, and overwrites the peer's stage.
EXHIBIT(multicast_without_the_peers_release) { multicast(a, mended ? 2 : 1, 3, kBoxBytes, true, true); }
EXHIBIT(multicast_without_waiting) { multicast(a, 2, 3, kBoxBytes, mended, true); }
EXHIBIT(multicast_mask_lacks_the_peer) { multicast(a, 2, mended ? 3 : 1, kBoxBytes, true, true); }
EXHIBIT(multicast_expects_half) { multicast(a, 2, 3, mended ? kBoxBytes : kBoxBytes / 2, true, true); }
EXHIBIT(multicast_exit_before_the_peers_release) { multicast(a, 2, 3, kBoxBytes, true, mended); }

// The peer's barrier may not be initialised when the bytes arrive.
EXHIBIT(multicast_before_the_peers_init) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (mended) cluster_sync();
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBoxBytes);
    if (cluster_rank() == 0) tma_load_multicast(tile, a.load, 0, 0, &full, 3);
  }
  wait(&full, 0);
  a.out[cluster_rank() * 64 + threadIdx.x] = tile[threadIdx.x];
  cluster_sync();
}

// One CTA of the pair makes a turn less.
EXHIBIT(pair_with_different_trip_counts) {
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, 1);
  cluster_sync();
  const u32 turns = mended || cluster_rank() == 0 ? 3 : 2;
  if (threadIdx.x == 0) {
    for (u32 turn = 0; turn < turns; ++turn) {
      if (cluster_rank() == 0) {
        wait_cluster(&full, turn % 2);
        arrive_peer(peer(&empty, 1));
      } else {
        wait_cluster(&empty, turn % 2 ^ 1);
        arrive_peer(peer(&full, 0));
      }
    }
    a.out[cluster_rank()] = 1;
  }
  cluster_sync();
}

EXHIBIT(cluster_barrier_arrive_twice) {
  cluster_arrive();
  if (mended) cluster_wait();
  cluster_arrive();
  cluster_wait();
  a.out[cluster_rank() * 32 + threadIdx.x] = 1;
}

// The peer's tile is overwritten while its own threads may still read it.
EXHIBIT(remote_write_while_the_peer_reads) {
  __shared__ u32 tile[32];
  tile[threadIdx.x] = threadIdx.x;
  cluster_sync();
  a.out[cluster_rank() * 64 + threadIdx.x] = ld_shared(&tile[threadIdx.x ^ 1]);
  if (mended) cluster_sync();
  st_peer(peer(&tile[threadIdx.x], cluster_rank() ^ 1), 100);
  cluster_sync();
  a.out[cluster_rank() * 64 + 32 + threadIdx.x] = ld_shared(&tile[threadIdx.x]);
}

// A tile is sent to the peer; the sender writes it again before it was read.
EXHIBIT(source_of_a_peer_copy_overwritten) {
  __shared__ alignas(128) u32 from[64], to[64];
  __shared__ u64 full, sent;
  init_all(&full, 1, 1);
  init_all(&sent, 1, 1);
  from[threadIdx.x] = threadIdx.x + 1;
  fence_async_shared();
  cluster_sync();
  if (cluster_rank() == 1 && threadIdx.x == 0) arrive_expect(&full, 256);
  if (cluster_rank() == 0) {
    if (threadIdx.x == 0) bulk_to_peer(peer(to, 1), from, 256, peer(&full, 1));
    if (threadIdx.x == 0 && mended) wait_cluster(&sent, 0);
    __syncthreads();
    from[threadIdx.x] = 0;
  } else {
    wait(&full, 0);
    a.out[threadIdx.x] = to[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) arrive_peer(peer(&sent, 0));
  }
  cluster_sync();
}
