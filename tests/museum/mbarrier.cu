// SPDX-License-Identifier: Apache-2.0
//
// Pipelines of one CTA on mbarriers, filled by ordinary stores. Warp 0 produces, warp 1 consumes, unless said
// otherwise.
#include "ptx.h"

namespace {

// What most exhibits differ in. A stage is 32 words; the producer fills it, all its lanes arrive.
struct Flaws {
  u32 full_count = 32, empty_count = 32;
  u32 producer_parity = 1, consumer_parity = 0;  // at the start
  bool producer_waits = true, consumer_waits = true;
  bool flips = true;     // the consumer's parity, at each wrap
  bool releases = true;  // the consumer
  bool releases_last_only = false;
  bool releases_early = false;  // before it reads
  bool releases_twice = false;
  bool waits_late = false;  // after it has read
};

template <u32 stages>
__device__ __forceinline__ void ring(const Args& a, const Flaws& f, u32 turns = 4) {
  __shared__ u32 tiles[stages][32];
  __shared__ u64 full[stages], empty[stages];
  for (u32 i = 0; i < stages; ++i) {
    if (warp_idx() == 0) st_shared(&tiles[i][lane_idx()], 0);
  }
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < stages; ++i) {
      bar_init(&full[i], f.full_count);
      bar_init(&empty[i], f.empty_count);
    }
    fence_init();
  }
  __syncthreads();
  u32 parity = warp_idx() == 0 ? f.producer_parity : f.consumer_parity;
  u32 stage = 0;
  for (u32 turn = 0; turn < turns; ++turn) {
    if (warp_idx() == 0) {
      if (f.producer_waits) wait(&empty[stage], parity);
      st_shared(&tiles[stage][lane_idx()], a.in[turn * 32 + lane_idx()]);
      arrive(&full[stage]);
    } else {
      if (f.consumer_waits && !f.waits_late) wait(&full[stage], parity);
      if (f.releases_early) arrive(&empty[stage]);
      a.out[turn * 32 + lane_idx()] = ld_shared(&tiles[stage][lane_idx()]);
      if (f.waits_late) wait(&full[stage], parity);
      if (f.releases && !f.releases_early && (!f.releases_last_only || turn + 1 == turns)) arrive(&empty[stage]);
      if (f.releases_twice) arrive(&empty[stage]);
    }
    if (++stage == stages) {
      stage = 0;
      if (f.flips || warp_idx() == 0) parity ^= 1;
    }
  }
}

}  // namespace

EXHIBIT(producer_starts_with_parity_0) { ring<2>(a, {.producer_parity = mended ? 1u : 0u}); }
EXHIBIT(consumer_starts_with_parity_1) { ring<2>(a, {.consumer_parity = mended ? 0u : 1u}); }
EXHIBIT(parity_never_flips) { ring<2>(a, {.flips = mended}); }
EXHIBIT(release_dropped) { ring<2>(a, {.releases = mended}); }
EXHIBIT(release_before_the_read) { ring<2>(a, {.releases_early = !mended}); }
EXHIBIT(release_doubled) { ring<1>(a, {.releases_twice = !mended}); }
EXHIBIT(consumer_does_not_wait) { ring<4>(a, {.producer_waits = false, .consumer_waits = mended}); }
EXHIBIT(consumer_waits_after_the_read) { ring<4>(a, {.waits_late = !mended}); }
EXHIBIT(producer_does_not_wait) { ring<2>(a, {.producer_waits = mended}); }
EXHIBIT(full_count_one_too_large) { ring<2>(a, {.full_count = mended ? 32u : 33u}); }
EXHIBIT(full_count_one_too_small) { ring<4>(a, {.full_count = mended ? 32u : 31u}); }
EXHIBIT(full_counts_warps_not_threads) { ring<4>(a, {.full_count = mended ? 32u : 1u}); }
EXHIBIT(empty_counts_threads_of_the_block) { ring<2>(a, {.empty_count = mended ? 32u : 64u}); }

// The parity is flipped at every step instead of at every wrap.
EXHIBIT(parity_flips_every_step) {
  __shared__ u32 tiles[2][32];
  __shared__ u64 full[2], empty[2];
  if (warp_idx() == 0) tiles[0][lane_idx()] = tiles[1][lane_idx()] = 0;
  init_all(full, 2, 32);
  init_all(empty, 2, 32);
  for (u32 turn = 0; turn < 4; ++turn) {
    const u32 stage = turn % 2;
    const u32 wrap = mended ? turn / 2 % 2 : turn % 2;
    if (warp_idx() == 0) {
      wait(&empty[stage], wrap ^ 1);
      st_shared(&tiles[stage][lane_idx()], a.in[turn * 32 + lane_idx()]);
      arrive(&full[stage]);
    } else {
      wait(&full[stage], wrap);
      a.out[turn * 32 + lane_idx()] = ld_shared(&tiles[stage][lane_idx()]);
      arrive(&empty[stage]);
    }
  }
}

// All lanes store, one arrives for all, and nothing makes it wait for them.
EXHIBIT(elected_arrive_without_syncwarp) {
  __shared__ u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (warp_idx() == 0) {
    st_shared(&tile[lane_idx()], a.in[lane_idx()]);
    if (mended) __syncwarp();
    if (elect()) arrive(&full);
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = ld_shared(&tile[lane_idx()]);
  }
}

// One lane of the consumer releases for all of them, which may still read.
EXHIBIT(elected_release_without_syncwarp) {
  __shared__ u32 tile[32];
  __shared__ u64 full, empty;
  init_all(&full, 1, 32);
  init_all(&empty, 1, 1);
  for (u32 turn = 0; turn < 2; ++turn) {
    if (warp_idx() == 0) {
      wait(&empty, turn ^ 1);
      st_shared(&tile[lane_idx()], a.in[turn * 32 + lane_idx()]);
      arrive(&full);
    } else {
      wait(&full, turn);
      a.out[turn * 32 + lane_idx()] = ld_shared(&tile[lane_idx() ^ 7]);
      if (mended) __syncwarp();
      if (elect()) arrive(&empty);
    }
  }
}

// The producer arrives on the barrier of another stage; the consumer needs stage 1 first.
EXHIBIT(stale_barrier_index) {
  __shared__ u32 tiles[2][32];
  __shared__ u64 full[2];
  if (warp_idx() == 0) tiles[0][lane_idx()] = tiles[1][lane_idx()] = 0;
  init_all(full, 2, 32);
  for (u32 turn = 0; turn < 2; ++turn) {
    if (warp_idx() == 0) {
      st_shared(&tiles[turn][lane_idx()], a.in[turn * 32 + lane_idx()]);
      arrive(&full[mended ? turn : turn ^ 1]);
    } else {
      wait(&full[turn ^ 1], 0);
      a.out[turn * 32 + lane_idx()] = ld_shared(&tiles[turn ^ 1][lane_idx()]);
    }
  }
}

EXHIBIT(barrier_used_before_it_is_visible) {
  __shared__ u32 word;
  __shared__ u64 full;
  if (threadIdx.x == 0) bar_init(&full, 1);
  if (mended) __syncthreads();
  if (threadIdx.x == 0) {
    st_shared(&word, 9);
    arrive(&full);
  }
  if (threadIdx.x == 32) {
    wait(&full, 0);
    a.out[0] = ld_shared(&word);
  }
}

EXHIBIT(barrier_never_initialised) {
  __shared__ u64 full[2];
  init_all(full, mended ? 2 : 1, 1);
  if (threadIdx.x == 0) arrive(&full[1]);
  if (threadIdx.x == 32) {
    wait(&full[1], 0);
    a.out[0] = 1;
  }
}

// The barrier's bytes become part of a tile without an inval.
EXHIBIT(barrier_storage_reused) {
  __shared__ union {
    u64 bar;
    u32 tile[64];
  } s;
  init_all(&s.bar, 1, 64);
  arrive(&s.bar);
  wait(&s.bar, 0);
  __syncthreads();
  if (mended && threadIdx.x == 0) bar_inval(&s.bar);
  __syncthreads();
  s.tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  a.out[threadIdx.x] = s.tile[threadIdx.x ^ 32];
}

EXHIBIT(barrier_initialised_twice) {
  __shared__ u64 full;
  init_all(&full, 1, 64);
  arrive(&full);
  wait(&full, 0);
  __syncthreads();
  if (threadIdx.x == 0) {
    if (mended) bar_inval(&full);
    bar_init(&full, 64);
    fence_init();
  }
  __syncthreads();
  arrive(&full);
  wait(&full, 0);
  a.out[threadIdx.x] = 1;
}

// Invalidated by one thread while another may still wait.
EXHIBIT(barrier_invalidated_under_a_waiter) {
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (warp_idx() == 1) {
    wait(&full, 0);
    a.out[lane_idx()] = 1;
  } else if (threadIdx.x == 0) {
    arrive(&full);
  }
  if (mended) __syncthreads();
  if (threadIdx.x == 0) bar_inval(&full);
}

EXHIBIT(barrier_read_as_data) {
  __shared__ u64 full;
  init_all(&full, 1, 64);
  arrive(&full);
  if (mended) wait(&full, 0);
  else
    while (*reinterpret_cast<volatile u64*>(&full) == 0) {
    }
  a.out[threadIdx.x] = 1;
}

// A relaxed arrival hands over nothing.
EXHIBIT(arrive_relaxed_with_data) {
  __shared__ u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    st_shared(&tile[lane_idx()], a.in[lane_idx()]);
    if (mended) arrive(&full);
    else arrive_relaxed(&full);
  } else {
    wait(&full, 0);
    a.out[lane_idx()] = ld_shared(&tile[lane_idx()]);
  }
}

EXHIBIT(wait_relaxed_with_data) {
  __shared__ u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    st_shared(&tile[lane_idx()], a.in[lane_idx()]);
    arrive(&full);
  } else {
    if (mended) wait(&full, 0);
    else wait_relaxed(&full, 0);
    a.out[lane_idx()] = ld_shared(&tile[lane_idx()]);
  }
}

// test_wait and try_wait may say no: their answer must be looked at.
EXHIBIT(answer_of_test_wait_ignored) {
  __shared__ u32 tile[32];
  __shared__ u64 full;
  init_all(&full, 1, 32);
  if (warp_idx() == 0) {
    st_shared(&tile[lane_idx()], a.in[lane_idx()]);
    arrive(&full);
  } else {
    if (mended) wait(&full, 0);
    else test_wait(&full, 0);
    a.out[lane_idx()] = ld_shared(&tile[lane_idx()]);
  }
}

// A waiter that nobody waits for loses phases: two may be over when it looks, and the parity is that of the phase
// before.
EXHIBIT(slow_waiter_loses_a_phase) {
  __shared__ u64 full, seen;
  init_all(&full, 1, 1);
  init_all(&seen, 1, 1);
  for (u32 turn = 0; turn < 2; ++turn) {
    if (threadIdx.x == 0) {
      arrive(&full);
      if (mended) wait(&seen, turn);
    } else if (threadIdx.x == 32) {
      wait(&full, turn);
      if (mended) arrive(&seen);
      a.out[turn] = turn + 1;
    }
  }
}

// A warp leaves the pipeline early and takes its arrivals with it.
EXHIBIT(early_exit_keeps_its_arrivals) {
  __shared__ u64 full;
  init_all(&full, 1, 3);
  for (u32 turn = 0; turn < 2; ++turn) {
    if (lane_idx() == 0) {
      if (warp_idx() == 2) {
        if (mended) arrive_drop(&full);
        else arrive(&full);
        return;
      }
      arrive(&full);
      wait(&full, turn);
      a.out[warp_idx() * 2 + turn] = 1;
    }
  }
}
