// SPDX-License-Identifier: Apache-2.0
//
// A second set of bugs that were written before anybody looked at what the checks make of them: clusters, bytes
// that are counted, rings with several consumers, copies, warpgroups, scopes.
#include "ptx.h"

#include <cuda/atomic>

namespace {

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

struct Exchange {
  u32 expected = 8;
  bool waits = true;
  bool own_barrier = false;  // the sender's, where it must be the receiver's
};

// Rank 0 sends two words to each thread's place in rank 1.
__device__ __forceinline__ void send_words(const Args& a, const Exchange& f) {
  __shared__ alignas(16) u32 words[2];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (threadIdx.x == 0) {
    if (cluster_rank() == 0) {
      const u32 bar = f.own_barrier ? shared_address(&full) : peer(&full, 1);
      st_async(peer(&words[0], 1), 7, bar);
      st_async(peer(&words[1], 1), 8, bar);
    } else {
      arrive_expect(&full, f.expected);
      if (f.waits) wait_cluster(&full, 0);
      a.out[0] = ld_shared(&words[0]) + ld_shared(&words[1]);
    }
  }
  cluster_sync();
}

}  // namespace

EXHIBIT(st_async_expects_one_of_two_words) { send_words(a, {.expected = mended ? 8u : 4u}); }
EXHIBIT(st_async_not_waited_for) { send_words(a, {.waits = mended}); }
EXHIBIT(st_async_on_the_senders_barrier) { send_words(a, {.own_barrier = !mended}); }

EXHIBIT(red_async_read_without_wait) {
  __shared__ u32 sum;
  __shared__ u64 full;
  if (threadIdx.x == 0) sum = 0;
  init_all(&full, 1, 1);
  cluster_sync();
  if (threadIdx.x == 0 && cluster_rank() == 1) {
    arrive_expect(&full, 128);
    if (mended) wait_cluster(&full, 0);
    a.out[0] = ld_shared(&sum);
    wait_cluster(&full, 0);
  }
  if (cluster_rank() == 0) red_async_add(peer(&sum, 1), threadIdx.x, peer(&full, 1));
  cluster_sync();
}

// The words are written after the arrive, so that the barrier does not hand them over.
EXHIBIT(written_between_cluster_arrive_and_wait) {
  __shared__ u32 tile[32];
  if (mended) st_shared(&tile[threadIdx.x], cluster_rank() + 1);
  cluster_arrive();
  if (!mended) st_shared(&tile[threadIdx.x], cluster_rank() + 1);
  cluster_wait();
  a.out[cluster_rank() * 32 + threadIdx.x] = ld_peer(peer(&tile[threadIdx.x], cluster_rank() ^ 1));
  cluster_sync();
}

EXHIBIT(barrier_of_the_cta_for_a_peers_data) {
  __shared__ u32 tile[64];
  cluster_sync();
  st_peer(peer(&tile[threadIdx.x], cluster_rank() ^ 1), threadIdx.x);
  if (mended) cluster_sync();
  else __syncthreads();
  a.out[cluster_rank() * 64 + threadIdx.x] = ld_shared(&tile[threadIdx.x]);
  cluster_sync();
}

// A flag in the peer's shared memory, with a fence that reaches no further than the CTA.
EXHIBIT(remote_flag_with_a_fence_of_the_cta) {
  __shared__ u32 data, flag;
  if (threadIdx.x == 0) flag = 0;
  cluster_sync();
  if (threadIdx.x == 0) {
    if (cluster_rank() == 0) {
      st_peer(peer(&data, 1), 42);
      if (mended) fence_cluster();
      else fence_cta();
      asm volatile("st.relaxed.cluster.shared::cluster.u32 [%0], 1;" ::"r"(peer(&flag, 1)) : "memory");
    } else {
      u32 seen = 0;
      while (seen == 0)
        asm volatile("ld.relaxed.cluster.shared.u32 %0, [%1];"
                     : "=r"(seen)
                     : "r"(shared_address(&flag))
                     : "memory");
      fence_cluster();
      a.out[0] = ld_shared(&data);
    }
  }
  cluster_sync();
}

EXHIBIT(remote_counter_of_cta_scope) {
  __shared__ u32 count;
  if (threadIdx.x == 0) count = 0;
  cluster_sync();
  if (mended)
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(peer(&count, 0)) : "memory");
  else asm volatile("red.relaxed.cta.shared::cluster.add.u32 [%0], 1;" ::"r"(peer(&count, 0)) : "memory");
  cluster_sync();
  if (cluster_rank() == 0) a.out[threadIdx.x] = count;
}

// Each CTA brings one half for both; with the same half in both CTAs they write the same bytes.
EXHIBIT(both_ctas_multicast_into_one_half) {
  __shared__ alignas(128) u32 tile[2][256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  const u32 half = mended ? cluster_rank() : 0;
  if (threadIdx.x == 0) {
    arrive_expect(&full, 2 * kBoxBytes);
    tma_load_multicast(tile[half], a.load, 16 * static_cast<int>(half), 0, &full, 3);
  }
  wait(&full, 0);
  a.out[cluster_rank() * 64 + threadIdx.x] = ld_shared(&tile[0][threadIdx.x]);
  cluster_sync();
}

// Consumers of both CTAs release a stage to the one that fills it, which counts the arrivals of one.
EXHIBIT(empty_counts_one_of_two_ctas) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full, empty;
  init_all(&full, 1, 1);
  init_all(&empty, 1, mended ? 2 : 1);
  cluster_sync();
  for (u32 turn = 0; turn < 3; ++turn) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, kBoxBytes);
      if (cluster_rank() == 0) {
        wait_cluster(&empty, turn % 2 ^ 1);
        tma_load_multicast(tile, a.load, static_cast<int>(turn) * 16, 0, &full, 3);
      }
    }
    wait(&full, turn % 2);
    a.out[(turn * 2 + cluster_rank()) * 64 + threadIdx.x] = ld_shared(&tile[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) arrive_peer(peer(&empty, 0));
  }
  cluster_sync();
}

EXHIBIT(wait_on_a_peers_barrier) {
  __shared__ u64 full;
  init_all(&full, 1, 1);
  cluster_sync();
  if (threadIdx.x == 0) {
    if (cluster_rank() == 0) arrive_peer(peer(&full, 1));
    const u32 bar = mended ? shared_address(&full) : peer(&full, 1);
    if (cluster_rank() == 1 || !mended) {
      u32 done = 0;
      while (done == 0) {
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done)
                     : "r"(bar)
                     : "memory");
      }
    }
  }
  cluster_sync();
  if (threadIdx.x == 0) a.out[cluster_rank()] = 1;
}

// Rank 1 leaves before rank 0 has read it: the last barrier of the cluster is in the wrong branch.
EXHIBIT(last_cluster_barrier_of_one_rank) {
  __shared__ u32 tile[32];
  tile[threadIdx.x] = cluster_rank() + 5;
  cluster_sync();
  if (cluster_rank() == 0) a.out[threadIdx.x] = ld_peer(peer(&tile[threadIdx.x], 1));
  if (mended) cluster_sync();
}

// Bytes that are counted.

EXHIBIT(more_bytes_than_a_barrier_can_count) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    if (!mended) {
      expect(&full, 1048560);
      expect(&full, 1048560);
    }
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, a.load, 0, 0, &full);
    if (!mended) {
      complete_tx(&full, 1048560);
      complete_tx(&full, 1048560);
    }
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

EXHIBIT(bytes_counted_by_hand_twice) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, mended ? 2 * kBoxBytes : kBoxBytes);
    tma_load(tile, a.load, 0, 0, &full);
    complete_tx(&full, kBoxBytes);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = ld_shared(&tile[threadIdx.x]);
  __syncthreads();
}

EXHIBIT(barrier_with_a_count_of_zero) {
  __shared__ u64 full;
  init_all(&full, 1, mended ? 1 : 0);
  if (threadIdx.x == 0) arrive(&full);
  wait(&full, 0);
  a.out[threadIdx.x] = 1;
}

EXHIBIT(barrier_at_a_multiple_of_four) {
  __shared__ alignas(16) u32 words[8];
  u64* bar = reinterpret_cast<u64*>(words + (mended ? 2 : 1));
  init_all(bar, 1, 1);
  if (threadIdx.x == 0) arrive(bar);
  wait(bar, 0);
  a.out[threadIdx.x] = 1;
}

EXHIBIT(every_lane_expects_the_bytes) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (warp_idx() == 0) {
    const bool is_one = mended ? elect() : true;
    if (is_one) arrive_expect(&full, kBoxBytes);
    if (lane_idx() == 0) tma_load(tile, a.load, 0, 0, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

EXHIBIT(dropped_in_every_turn) {
  __shared__ u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 64);
  for (u32 turn = 0; turn < 2; ++turn) {
    st_shared(&tile[threadIdx.x], turn + threadIdx.x);
    if (mended || warp_idx() == 0) arrive(&full);
    else arrive_drop(&full);
    wait(&full, turn);
    a.out[turn * 64 + threadIdx.x] = ld_shared(&tile[threadIdx.x ^ 32]);
    __syncthreads();
  }
}

namespace {

struct Ring {
  bool shares_parity = false;  // two consumers keep one parity in shared memory
  u32 second_starts_with = 0;  // the second consumer's first parity
  u32 second_stages = 2;       // of the second consumer's ring
  bool producer_waits_for_full = false;
  bool skips = false;  // the producer leaves a stage out
};

// One producer and two consumers, of a warp each.
__device__ __forceinline__ void ring(const Args& a, const Ring& f) {
  __shared__ u32 tiles[2][32];
  __shared__ u32 parity_of_both;
  __shared__ u64 full[2], empty[2];
  if (threadIdx.x == 0) parity_of_both = 0;
  init_all(full, 2, 32);
  init_all(empty, 2, 64);
  u32 at = 0;
  for (u32 turn = 0; turn < 4; ++turn) {
    if (warp_idx() == 0) {
      if (f.skips && turn == 1) continue;
      const u32 stage = at % 2, wrap = at / 2 % 2;
      ++at;
      wait(f.producer_waits_for_full ? &full[stage] : &empty[stage], wrap ^ 1);
      st_shared(&tiles[stage][lane_idx()], turn);
      arrive(&full[stage]);
    } else {
      const u32 stages = warp_idx() == 2 ? f.second_stages : 2;
      const u32 stage = turn % stages % 2;
      u32 parity = turn / stages % 2;
      if (warp_idx() == 2) parity ^= f.second_starts_with;
      if (f.shares_parity) parity = ld_shared_volatile(&parity_of_both);
      wait(&full[stage], parity);
      a.out[(turn * 2 + warp_idx() - 1) * 32 + lane_idx()] = ld_shared(&tiles[stage][lane_idx()]);
      __syncwarp();
      if (f.shares_parity && stage == 1 && lane_idx() == 0) st_shared_volatile(&parity_of_both, parity ^ 1);
      __syncwarp();
      arrive(&empty[stage]);
    }
  }
}

}  // namespace

EXHIBIT(two_consumers_flip_one_parity) { ring(a, {.shares_parity = !mended}); }
EXHIBIT(second_consumer_starts_with_parity_1) { ring(a, {.second_starts_with = mended ? 0u : 1u}); }
EXHIBIT(second_consumer_has_another_ring) { ring(a, {.second_stages = mended ? 2u : 3u}); }
EXHIBIT(producer_waits_for_its_own_barrier) { ring(a, {.producer_waits_for_full = !mended}); }
EXHIBIT(producer_leaves_a_stage_out) { ring(a, {.skips = !mended}); }

// The token of the phase before: it is over already.
EXHIBIT(token_of_the_phase_before) {
  __shared__ u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 64);
  u64 token = arrive_token(&full);
  wait_token(&full, token);
  st_shared(&tile[threadIdx.x], threadIdx.x);
  const u64 next = arrive_token(&full);
  wait_token(&full, mended ? next : token);
  a.out[threadIdx.x] = ld_shared(&tile[threadIdx.x ^ 32]);
}

// Copies.

// Lane 0 stores, lane 1 commits and waits: its group is empty.
EXHIBIT(another_lane_commits) {
  __shared__ alignas(128) u32 tile[256];
  for (u32 turn = 0; turn < 2; ++turn) {
    for (u32 i = lane_idx(); i < 256; i += 32) st_shared(&tile[i], i + turn);
    fence_async_shared();
    __syncwarp();
    if (lane_idx() == 0) tma_store(a.store, static_cast<int>(turn) * 16, 0, tile);
    if (lane_idx() == (mended ? 0 : 1)) {
      bulk_commit();
      bulk_wait<0>();
    }
    __syncwarp();
  }
  if (lane_idx() == 0) {
    bulk_commit();
    bulk_wait<0>();
  }
}

// All write, a thread that has nothing to do with the copy has the fence.
EXHIBIT(proxy_fence_of_a_bystander) {
  __shared__ alignas(128) u32 tile[256];
  for (u32 i = threadIdx.x; i < 256; i += 64) tile[i] = i;
  if (mended) fence_async_shared();
  __syncthreads();
  if (!mended && warp_idx() == 1) fence_async_shared();
  if (threadIdx.x == 0) {
    tma_store(a.store, 0, 0, tile);
    bulk_commit();
    bulk_wait<0>();
  }
}

EXHIBIT(bulk_copy_of_twelve_bytes) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  const u32 bytes = mended ? 16 : 12;
  if (threadIdx.x == 0) {
    arrive_expect(&full, bytes);
    bulk_load(tile, a.in, bytes, &full);
  }
  wait(&full, 0);
  if (threadIdx.x == 0) a.out[0] = tile[0];
}

EXHIBIT(bulk_copy_from_the_second_word) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, 64);
    bulk_load(tile, a.in + (mended ? 4 : 1), 64, &full);
  }
  wait(&full, 0);
  if (threadIdx.x < 16) a.out[threadIdx.x] = tile[threadIdx.x];
}

// The loop commits no empty groups at its end, so that "all but one" leaves the last copy in flight.
EXHIBIT(cp_async_tail_without_an_empty_group) {
  __shared__ alignas(16) u32 tiles[2][256];
  constexpr u32 kTiles = 4;
  cp_async(&tiles[0][threadIdx.x * 4], a.in + threadIdx.x * 4);
  cp_async_commit();
  for (u32 k = 0; k < kTiles; ++k) {
    if (k + 1 < kTiles) cp_async(&tiles[(k + 1) % 2][threadIdx.x * 4], a.in + (k + 1) * 256 + threadIdx.x * 4);
    if (mended || k + 1 < kTiles) cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();
    a.out[k * 64 + threadIdx.x] = ld_shared(&tiles[k % 2][(threadIdx.x ^ 32) * 4]);
    __syncthreads();
  }
}

EXHIBIT(cp_async_of_zeros_not_waited_for) {
  __shared__ alignas(16) u32 tile[128];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(&tile[threadIdx.x * 4])),
               "l"(a.in), "r"(threadIdx.x < 16 ? 16 : 0)
               : "memory");
  cp_async_commit();
  if (mended) cp_async_wait<0>();
  __syncwarp();
  a.out[threadIdx.x] = ld_shared(&tile[(31 - threadIdx.x) * 4]);
}

// .noinc: the count must include the arrivals that the copies make.
EXHIBIT(noinc_is_not_counted) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  init_all(&full, 1, mended ? 64 : 32);
  if (warp_idx() == 0) {
    cp_async(&tile[lane_idx() * 4], a.in + lane_idx() * 4);
    cp_async_arrive_noinc(&full);
    arrive(&full);
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = ld_shared(&tile[lane_idx() * 4]);
  }
}

// Warpgroups.

namespace {

struct Group {
  u32 warps = 4;                // that execute the multiplication
  bool same_descriptor = true;  // in all warps
  bool swizzled = false;        // says the descriptor
};

__device__ __forceinline__ void multiply(const Args& a, const Group& f) {
  __shared__ alignas(1024) u32 tile_a[512];
  __shared__ alignas(1024) u32 tile_b[64];
  for (u32 i = threadIdx.x; i < 512; i += 128) tile_a[i] = kOnes;
  if (threadIdx.x < 64) tile_b[threadIdx.x] = kOnes;
  fence_async_shared();
  __syncthreads();
  float d[4] = {0, 0, 0, 0};
  if (warp_idx() < f.warps) {
    u64 da = wgmma_descriptor(tile_a);
    if (f.swizzled) da |= u64{1} << 62;
    if (!f.same_descriptor && warp_idx() == 3) da += 128 >> 4;
    wgmma_fence();
    wgmma(d, da, wgmma_descriptor(tile_b), 0);
    wgmma_commit();
    wgmma_wait<0>();
  }
  a.out[threadIdx.x] = static_cast<u32>(d[0]);
}

}  // namespace

EXHIBIT(three_of_four_warps_multiply) { multiply(a, {.warps = mended ? 4u : 3u}); }
EXHIBIT(warps_with_different_descriptors) { multiply(a, {.same_descriptor = mended}); }
EXHIBIT(descriptor_says_swizzled) { multiply(a, {.swizzled = !mended}); }

EXHIBIT(fragment_written_after_the_fence) {
  __shared__ alignas(128) u32 tile_b[64];
  if (threadIdx.x < 64) tile_b[threadIdx.x] = kOnes;
  fence_async_shared();
  __syncthreads();
  float d[4] = {0, 0, 0, 0};
  u32 fragment[4];
  if (mended)
    for (u32 i = 0; i < 4; ++i) fragment[i] = a.in[threadIdx.x] > 0 ? kOnes : 0;
  wgmma_fence();
  if (!mended)
    for (u32 i = 0; i < 4; ++i) fragment[i] = a.in[threadIdx.x] > 0 ? kOnes : 0;
  wgmma(d, fragment, wgmma_descriptor(tile_b), 0);
  wgmma_commit();
  wgmma_wait<0>();
  a.out[threadIdx.x] = static_cast<u32>(d[0]);
}

// Two warpgroups write their results to one tile in shared memory.
EXHIBIT(two_warpgroups_share_a_result_tile) {
  __shared__ u32 tile[256];
  const u32 group = threadIdx.x / 128;
  const u32 own = threadIdx.x % 128;
  st_shared(&tile[(mended ? group * 128 : 0) + own], threadIdx.x);
  named_sync(1 + group, 128);
  a.out[threadIdx.x] = ld_shared(&tile[(mended ? group * 128 : 0) + 127 - own]);
}

// The result tile lies over an operand that another warp has not read yet.
EXHIBIT(result_tile_over_an_operand) {
  __shared__ u32 arena[128];
  st_shared(&arena[threadIdx.x], a.in[threadIdx.x]);
  __syncthreads();
  const u32 sum = ld_shared(&arena[127 - threadIdx.x]) + ld_shared(&arena[threadIdx.x ^ 1]);
  if (mended) __syncthreads();
  st_shared(&arena[threadIdx.x], sum);
  a.out[threadIdx.x] = sum;
}

// Barriers of threads, and instructions of whole warps.

EXHIBIT(named_barrier_of_48_threads) {
  __shared__ u32 tile[64];
  st_shared(&tile[threadIdx.x], threadIdx.x);
  named_sync(1, mended ? 64 : 48);
  a.out[threadIdx.x] = ld_shared(&tile[threadIdx.x ^ 32]);
}

// Two warps use barrier 0 among themselves; the other two mean the whole CTA by it.
EXHIBIT(barrier_zero_is_the_whole_ctas) {
  __shared__ u32 tile[128];
  st_shared(&tile[threadIdx.x], threadIdx.x);
  if (warp_idx() < 2) {
    named_sync(mended ? 1 : 0, 64);
    if (mended) __syncthreads();
  } else {
    __syncthreads();
  }
  a.out[threadIdx.x] = ld_shared(&tile[threadIdx.x ^ 32]);
}

EXHIBIT(syncthreads_in_half_a_warp) {
  __shared__ u32 tile[64];
  st_shared(&tile[threadIdx.x], threadIdx.x);
  if (mended || lane_idx() < 16) asm volatile("bar.sync 0;" ::: "memory");
  a.out[threadIdx.x] = ld_shared(&tile[threadIdx.x ^ 32]);
}

EXHIBIT(elect_in_half_a_warp) {
  if (mended || lane_idx() < 16) {
    if (elect()) a.out[0] = 1;
  }
  __syncwarp();
}

EXHIBIT(matrix_loaded_by_half_a_warp) {
  __shared__ alignas(16) u32 tile[256];
  for (u32 i = lane_idx(); i < 256; i += 32) tile[i] = i;
  __syncwarp();
  u32 r = 0;
  if (mended || lane_idx() < 16)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r)
                 : "r"(shared_address(&tile[lane_idx() % 8 * 4]))
                 : "memory");
  a.out[lane_idx()] = r;
}

EXHIBIT(matrix_rows_at_a_multiple_of_eight) {
  __shared__ alignas(16) u32 tile[256];
  for (u32 i = lane_idx(); i < 256; i += 32) tile[i] = i;
  __syncwarp();
  u32 r = 0;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r)
               : "r"(shared_address(&tile[lane_idx() % 8 * (mended ? 4 : 6)]))
               : "memory");
  a.out[lane_idx()] = r;
}

EXHIBIT(double_buffer_with_the_wrong_half) {
  __shared__ u32 tiles[2][64];
  st_shared(&tiles[0][threadIdx.x], a.in[threadIdx.x]);
  for (u32 k = 0; k < 3; ++k) {
    __syncthreads();
    const u32 next = mended ? (k + 1) % 2 : k % 2;
    st_shared(&tiles[next][threadIdx.x], a.in[(k + 1) * 64 + threadIdx.x]);
    a.out[k * 64 + threadIdx.x] = ld_shared(&tiles[k % 2][threadIdx.x ^ 32]);
  }
}

// The second array begins where the first has not ended: its size was counted in elements.
EXHIBIT(arrays_of_one_arena_overlap) {
  __shared__ u32 arena[96];
  u32* first = arena;
  u32* second = arena + (mended ? 64 : 16);
  if (warp_idx() == 0) {
    st_shared(&first[lane_idx()], 1);
    st_shared(&first[lane_idx() + 32], 1);
  } else {
    st_shared(&second[lane_idx()], 2);
  }
  __syncthreads();
  a.out[threadIdx.x] = ld_shared(&first[lane_idx()]) + ld_shared(&second[lane_idx()]);
}

// Global memory.

EXHIBIT(counter_reset_before_all_have_seen_it) {
  u32* count = a.scratch;
  u32* round = a.scratch + 64;
  if (threadIdx.x != 0) return;
  st_weak(a.scratch + 128 + blockIdx.x, blockIdx.x + 1);
  if (add_acq_rel_gpu(count, 1) == gridDim.x - 1) {
    if (mended) {
      st_relaxed_gpu(count, 0);
      st_release_gpu(round, 1);
    } else {
      st_weak(count, 0);  // those who poll it may miss the full count
    }
  } else {
    if (mended) {
      while (ld_acquire_gpu(round) == 0) {
      }
    } else {
      while (ld_acquire_gpu(count) < gridDim.x && ld_acquire_gpu(count) != 0) {
      }
    }
  }
  a.out[blockIdx.x] = ld_weak(a.scratch + 128 + (blockIdx.x ^ 1));
}

// Split K in turns: the semaphore of another tile is waited for.
EXHIBIT(turn_of_another_tile) {
  const u32 tile = blockIdx.x / 2, part = blockIdx.x % 2;
  u32* turn = a.scratch + 1024 + (mended ? tile : 1 - tile);
  if (threadIdx.x == 0) {
    while (ld_acquire_gpu(turn) != part && part != 0) {
    }
  }
  __syncthreads();
  st_weak(a.scratch + tile * 64 + threadIdx.x, ld_weak(a.scratch + tile * 64 + threadIdx.x) + part + 1);
  __syncthreads();
  if (threadIdx.x == 0) st_release_gpu(a.scratch + 1024 + tile, part + 1);
}

// Stream K: the flag tells of what one warp has written.
EXHIBIT(fix_up_flag_after_syncwarp) {
  u32* flag = a.scratch + 1024;
  if (blockIdx.x == 0) {
    st_weak(a.scratch + threadIdx.x, threadIdx.x);
    if (mended) __syncthreads();
    else __syncwarp();
    if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
  } else {
    if (threadIdx.x == 0) {
      while (ld_acquire_gpu(flag) == 0) {
      }
    }
    __syncthreads();
    a.out[threadIdx.x] = ld_weak(a.scratch + threadIdx.x);
  }
}

// The compiler reads it once.
EXHIBIT(spin_on_a_plain_pointer) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    a.scratch[1] = 42;
    st_release_gpu(a.scratch, 1);
  } else {
    if (mended) {
      while (ld_acquire_gpu(a.scratch) == 0) {
      }
    } else {
      const u32* flag = a.scratch;
      while (*flag == 0) {
      }
    }
    a.out[0] = ld_weak(a.scratch + 1);
  }
}

EXHIBIT(counter_of_block_scope_in_a_grid) {
  if (mended) atomicAdd(a.scratch, 1u);
  else atomicAdd_block(a.scratch, 1u);
}

EXHIBIT(atomic_ref_of_block_scope_in_a_grid) {
  if (threadIdx.x != 0) return;
  constexpr auto scope = mended ? cuda::thread_scope_device : cuda::thread_scope_block;
  cuda::atomic_ref<u32, scope> flag(a.scratch[64]);
  if (blockIdx.x == 0) {
    a.scratch[0] = 42;
    flag.store(1, cuda::memory_order_release);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    a.out[0] = a.scratch[0];
  }
}

// The fast path sees that somebody has made the table, and has no fence.
EXHIBIT(made_once_and_read_without_acquire) {
  if (threadIdx.x != 0) return;
  u32* state = a.scratch;
  u32 seen = atomicCAS(state, 0u, 1u);
  if (seen == 0) {
    st_weak(a.scratch + 32, 42);
    st_release_gpu(state, 2);
  } else {
    do {
      seen = mended ? ld_acquire_gpu(state) : ld_relaxed_gpu(state);
    } while (seen != 2);
  }
  a.out[blockIdx.x] = ld_weak(a.scratch + 32);
}

// A queue between two CTAs: the reader gives a place back by a relaxed store.
EXHIBIT(queue_place_given_back_without_release) {
  u32* head = a.scratch + 64;
  u32* tail = a.scratch + 128;
  if (threadIdx.x != 0) return;
  for (u32 i = 0; i < 6; ++i) {
    if (blockIdx.x == 0) {
      while (i - ld_acquire_gpu(tail) >= 2) {
      }
      st_weak(a.scratch + i % 2, i);
      st_release_gpu(head, i + 1);
    } else {
      while (ld_acquire_gpu(head) <= i) {
      }
      a.out[i] = ld_weak(a.scratch + i % 2);
      if (mended) st_release_gpu(tail, i + 1);
      else st_relaxed_gpu(tail, i + 1);
    }
  }
}

EXHIBIT(grid_barrier_counts_one_too_many) {
  u32* arrived = a.scratch;
  if (threadIdx.x == 0) {
    add_acq_rel_gpu(arrived, 1);
    while (ld_acquire_gpu(arrived) < gridDim.x + (mended ? 0 : 1)) {
    }
    a.out[blockIdx.x] = 1;
  }
}

// A warp reads its results of the copies that its own lanes have made, each after waiting for its own.
EXHIBIT(lanes_read_each_others_cp_async) {
  __shared__ alignas(16) u32 tile[128];
  cp_async(&tile[lane_idx() * 4], a.in + lane_idx() * 4);
  cp_async_commit();
  cp_async_wait<0>();
  if (mended) __syncwarp();
  a.out[lane_idx()] = ld_shared(&tile[(lane_idx() ^ 1) * 4]);
}

// The tile that is stored is read from global memory by the next CTA: the flag is set by another thread than the
// one that waited for the store, with nothing between the two.
EXHIBIT(flag_by_a_thread_that_did_not_store) {
  __shared__ alignas(128) u32 tile[256];
  if (blockIdx.x == 0) {
    for (u32 i = threadIdx.x; i < 256; i += 64) tile[i] = i;
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(a.scratch, tile, 1024);
      bulk_commit();
      bulk_wait<0>();
    }
    if (mended) __syncthreads();
    if (threadIdx.x == 32) st_release_gpu(a.scratch + 1024, 1);
  } else {
    if (threadIdx.x == 0) {
      while (ld_acquire_gpu(a.scratch + 1024) == 0) {
      }
    }
    __syncthreads();
    a.out[threadIdx.x] = ld_weak(a.scratch + threadIdx.x);
  }
}

// Registers are taken before they were given: the group that gives waits for the one that takes.
EXHIBIT(registers_given_after_the_barrier) {
  __shared__ u64 done;
  init_all(&done, 1, 1);
  if (threadIdx.x / 128 == 0) {
    if (mended) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
    wait(&done, 0);
    if (!mended) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 216;" ::: "memory");
    if (threadIdx.x == 128) arrive(&done);
  }
  a.out[threadIdx.x] = 1;
}
