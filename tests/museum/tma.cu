// SPDX-License-Identifier: Apache-2.0
//
// The copy engine in one CTA: bytes expected, proxy fences, groups of stores, tensor maps.
#include "ptx.h"

namespace {

constexpr u32 kBytes = 256;  // of a flat copy: 64 words

// One flat load, waited for by all threads. `expected` is what the barrier is told.
__device__ __forceinline__ void load_once(const Args& a, u32 expected) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, expected);
    bulk_load(tile, a.in, 128, &full);
    bulk_load(tile + 32, a.in + 32, 128, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

}  // namespace

EXHIBIT(expect_half_of_the_bytes) { load_once(a, mended ? kBytes : kBytes / 2); }
EXHIBIT(expect_more_bytes_than_come) { load_once(a, mended ? kBytes : kBytes + 16); }

EXHIBIT(expect_without_arrive) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    if (mended) arrive_expect(&full, kBytes);
    else expect(&full, kBytes);
    bulk_load(tile, a.in, kBytes, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

// The phase ends with the arrival, before any byte is expected.
EXHIBIT(arrive_before_expect) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    if (!mended) arrive(&full);
    expect(&full, kBytes);
    bulk_load(tile, a.in, kBytes, &full);
    if (mended) arrive(&full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

EXHIBIT(expect_on_the_wrong_stage) {
  __shared__ alignas(128) u32 tiles[2][64];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  if (threadIdx.x == 0) {
    for (u32 stage = 0; stage < 2; ++stage) {
      expect(&full[mended ? stage : 0], kBytes);
      arrive(&full[stage]);
      bulk_load(tiles[stage], a.in + stage * 64, kBytes, &full[stage]);
    }
  }
  for (u32 stage = 0; stage < 2; ++stage) {
    wait(&full[stage], 0);
    a.out[stage * 64 + threadIdx.x] = tiles[stage][threadIdx.x];
  }
}

// One thread waits, the others read at once.
EXHIBIT(load_waited_for_by_one_thread) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBytes);
    bulk_load(tile, a.in, kBytes, &full);
    wait(&full, 0);
  }
  if (mended) __syncthreads();
  a.out[threadIdx.x] = tile[threadIdx.x];
}

EXHIBIT(load_not_waited_for) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBytes);
    bulk_load(tile, a.in, kBytes, &full);
  }
  if (mended) wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
  wait(&full, 0);
}

EXHIBIT(no_init_fence_before_a_copy) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    bar_init(&full, 1);
    if (mended) fence_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBytes);
    bulk_load(tile, a.in, kBytes, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

// A stage that threads have cleared is filled by the copy engine.
EXHIBIT(no_proxy_fence_before_a_load) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  tile[threadIdx.x] = 0;
  if (mended) fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBytes);
    bulk_load(tile, a.in, kBytes, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

// The next load overwrites what threads have read, behind a barrier of threads, without a proxy fence.
EXHIBIT(no_proxy_fence_between_read_and_load) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  for (u32 turn = 0; turn < 2; ++turn) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, kBytes);
      bulk_load(tile, a.in + turn * 64, kBytes, &full);
    }
    wait(&full, turn);
    a.out[turn * 64 + threadIdx.x] = ld_shared(&tile[threadIdx.x]);
    if (mended) fence_async_shared();
    __syncthreads();
  }
}

// The next load overwrites what other threads still read.
EXHIBIT(next_load_without_barrier) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  for (u32 turn = 0; turn < 2; ++turn) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, kBytes);
      bulk_load(tile, a.in + turn * 64, kBytes, &full);
    }
    wait(&full, turn);
    a.out[turn * 64 + threadIdx.x] = ld_shared(&tile[threadIdx.x]);
    fence_async_shared();
    if (mended) __syncthreads();
  }
}

EXHIBIT(no_proxy_fence_before_a_store) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (mended) fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out, tile, kBytes);
    bulk_commit();
    bulk_wait<0>();
  }
}

EXHIBIT(proxy_fence_before_the_writes) {
  __shared__ alignas(128) u32 tile[64];
  if (!mended) fence_async_shared();
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (mended) fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out, tile, kBytes);
    bulk_commit();
    bulk_wait<0>();
  }
}

// The issuing thread fences before the barrier: what others write is not behind its fence.
EXHIBIT(proxy_fence_in_one_writer) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  if (mended || threadIdx.x == 0) fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out, tile, kBytes);
    bulk_commit();
    bulk_wait<0>();
  }
}

EXHIBIT(store_without_barrier) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  fence_async_shared();
  if (mended) __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out, tile, kBytes);
    bulk_commit();
    bulk_wait<0>();
  }
}

// The tile is written again before the store has read it.
EXHIBIT(tile_overwritten_under_a_store) {
  __shared__ alignas(128) u32 tile[64];
  for (u32 turn = 0; turn < 2; ++turn) {
    tile[threadIdx.x] = a.in[turn * 64 + threadIdx.x];
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(a.out + turn * 64, tile, kBytes);
      bulk_commit();
      if (mended) bulk_wait_read<0>();
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) bulk_wait<0>();
}

EXHIBIT(store_wait_allows_one_group) {
  __shared__ alignas(128) u32 tile[64];
  for (u32 turn = 0; turn < 2; ++turn) {
    tile[threadIdx.x] = a.in[turn * 64 + threadIdx.x];
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(a.out + turn * 64, tile, kBytes);
      bulk_commit();
      if (mended) bulk_wait_read<0>();
      else bulk_wait_read<1>();
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) bulk_wait<0>();
}

// The wait counts committed groups only.
EXHIBIT(store_without_commit) {
  __shared__ alignas(128) u32 tile[64];
  for (u32 turn = 0; turn < 2; ++turn) {
    tile[threadIdx.x] = a.in[turn * 64 + threadIdx.x];
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(a.out + turn * 64, tile, kBytes);
      if (mended) bulk_commit();
      bulk_wait_read<0>();
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    bulk_commit();
    bulk_wait<0>();
  }
}

// Bulk groups belong to the thread that issued them.
EXHIBIT(store_waited_for_by_another_thread) {
  __shared__ alignas(128) u32 tile[64];
  for (u32 turn = 0; turn < 2; ++turn) {
    tile[threadIdx.x] = a.in[turn * 64 + threadIdx.x];
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(a.out + turn * 64, tile, kBytes);
      bulk_commit();
    }
    if (threadIdx.x == (mended ? 0 : 32)) bulk_wait_read<0>();
    __syncthreads();
  }
  if (threadIdx.x == 0) bulk_wait<0>();
}

// wait_group.read says that the source was read, not that the destination was written.
EXHIBIT(flag_behind_wait_group_read) {
  __shared__ alignas(128) u32 tile[64];
  u32* flag = a.scratch + 1024;
  if (blockIdx.x == 0) {
    tile[threadIdx.x] = a.in[threadIdx.x];
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(a.scratch, tile, kBytes);
      bulk_commit();
      if (mended) bulk_wait<0>();
      else bulk_wait_read<0>();
      fence_async_global();
      st_release_gpu(flag, 1);
      bulk_wait<0>();
    }
  } else {
    if (threadIdx.x == 0) {
      while (ld_acquire_gpu(flag) == 0) {
      }
    }
    __syncthreads();
    a.out[threadIdx.x] = ld_weak(a.scratch + threadIdx.x);
  }
}

EXHIBIT(stored_tile_read_without_wait) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.scratch, tile, kBytes);
    bulk_commit();
    if (mended) {
      bulk_wait<0>();
      fence_async_global();
    }
  }
  __syncthreads();
  a.out[threadIdx.x] = ld_weak(a.scratch + threadIdx.x);
  if (threadIdx.x == 0) bulk_wait<0>();
}

// Data that the kernel has written with ordinary stores, loaded by the copy engine.
EXHIBIT(no_proxy_fence_before_a_load_of_own_data) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  a.scratch[threadIdx.x] = threadIdx.x + 3;
  if (mended) fence_async_global();
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBytes);
    bulk_load(tile, a.scratch, kBytes, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

EXHIBIT(load_of_data_that_is_still_written) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  a.scratch[threadIdx.x] = threadIdx.x + 3;
  fence_async_global();
  if (mended) __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBytes);
    bulk_load(tile, a.scratch, kBytes, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

EXHIBIT(exit_with_a_store_in_flight) {
  __shared__ alignas(128) u32 tile[64];
  tile[threadIdx.x] = a.in[threadIdx.x];
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(a.out, tile, kBytes);
    bulk_commit();
    if (mended) bulk_wait_read<0>();
  }
}

EXHIBIT(exit_with_a_load_in_flight) {
  __shared__ alignas(128) u32 tiles[2][64];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  if (threadIdx.x == 0) {
    for (u32 stage = 0; stage < 2; ++stage) {
      arrive_expect(&full[stage], kBytes);
      bulk_load(tiles[stage], a.in + stage * 64, kBytes, &full[stage]);
    }
  }
  wait(&full[0], 0);
  a.out[threadIdx.x] = tiles[0][threadIdx.x];
  if (mended) wait(&full[1], 0);
}

// Threads copy a map to global memory, and the engine reads it there.
EXHIBIT(tensor_map_without_fence) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  u64* map = reinterpret_cast<u64*>(a.scratch);
  if (threadIdx.x < 16) map[threadIdx.x] = a.load->words[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    if (mended) {
      asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
      asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    }
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, reinterpret_cast<const TensorMap*>(map), 0, 0, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

EXHIBIT(tensor_map_changed_in_flight) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  u64* map = reinterpret_cast<u64*>(a.scratch);
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < 16; ++i) map[i] = a.load->words[i];
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    arrive_expect(&full, kBoxBytes);
    tma_load(tile, reinterpret_cast<const TensorMap*>(map), 0, 0, &full);
    if (mended) wait(&full, 0);
    for (u32 i = 0; i < 16; ++i) map[i] = a.store->words[i];
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

// inval, while a copy has yet to complete on the barrier.
EXHIBIT(barrier_invalidated_under_a_copy) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full[0], kBytes);
    bulk_load(tile, a.in, kBytes, &full[0]);
    if (mended) wait(&full[0], 0);
    bar_inval(&full[0]);
  }
  __syncthreads();
  a.out[threadIdx.x] = 1;
}

EXHIBIT(load_over_a_barrier) {
  struct Shared {
    u32 tile[48];
    u64 full[2];
  };
  __shared__ alignas(128) Shared s;
  init_all(s.full, 2, 1);
  const u32 bytes = mended ? 192 : 208;
  if (threadIdx.x == 0) {
    arrive_expect(&s.full[1], bytes);
    bulk_load(s.tile, a.in, bytes, &s.full[1]);
  }
  wait(&s.full[1], 0);
  a.out[threadIdx.x] = s.tile[threadIdx.x % 48];
}

EXHIBIT(two_loads_into_one_stage) {
  __shared__ alignas(128) u32 tile[64];
  __shared__ u64 full[2];
  init_all(full, 2, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full[0], kBytes);
    bulk_load(tile, a.in, kBytes, &full[0]);
    if (mended) wait(&full[0], 0);
    arrive_expect(&full[1], kBytes);
    bulk_load(tile, a.in + 64, kBytes, &full[1]);
  }
  wait(&full[0], 0);
  wait(&full[1], 0);
  a.out[threadIdx.x] = tile[threadIdx.x];
}

EXHIBIT(tile_misaligned_for_a_tensor_copy) {
  __shared__ alignas(128) u32 tile[264];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  u32* to = tile + (mended ? 0 : 4);
  if (threadIdx.x == 0) {
    arrive_expect(&full, kBoxBytes);
    tma_load(to, a.load, 0, 0, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = to[threadIdx.x];
}

// The copy signals the whole box, its part outside of the tensor included.
EXHIBIT(expect_only_what_lies_inside) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 full;
  init_all(&full, 1, 1);
  if (threadIdx.x == 0) {
    arrive_expect(&full, mended ? kBoxBytes : kBoxBytes / 2);
    tma_load(tile, a.load, 0, 56, &full);
  }
  wait(&full, 0);
  a.out[threadIdx.x] = tile[255 - threadIdx.x];
}
