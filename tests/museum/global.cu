// SPDX-License-Identifier: Apache-2.0
//
// CTAs of one launch that talk through global memory: flags, counters, locks. CTA 0 writes, CTA 1 reads.
#include "ptx.h"

__device__ inline void wait_for(const u32* flag, u32 value) {
  while (ld_relaxed_gpu(flag) != value) {
  }
}

EXHIBIT(flag_without_threadfence) {
  u32* data = a.scratch;
  u32* flag = a.scratch + 64;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 42;
    if (mended) __threadfence();
    atomicExch(flag, 1u);
  } else {
    wait_for(flag, 1);
    __threadfence();
    a.out[0] = ld_weak(data);
  }
}

EXHIBIT(flag_without_fence_in_the_reader) {
  u32* data = a.scratch;
  u32* flag = a.scratch + 64;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 42;
    __threadfence();
    st_relaxed_gpu(flag, 1);
  } else {
    wait_for(flag, 1);
    if (mended) __threadfence();
    a.out[0] = ld_weak(data);
  }
}

EXHIBIT(fence_behind_the_flag) {
  u32* data = a.scratch;
  u32* flag = a.scratch + 64;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 42;
    if (mended) __threadfence();
    st_relaxed_gpu(flag, 1);
    if (!mended) __threadfence();
  } else {
    wait_for(flag, 1);
    __threadfence();
    a.out[0] = ld_weak(data);
  }
}

// A semaphore: all threads write, one releases, and nothing makes it wait for the others.
EXHIBIT(semaphore_without_syncthreads) {
  u32* data = a.scratch;
  u32* flag = a.scratch + 256;
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x + 1;
    if (mended) __syncthreads();
    if (threadIdx.x == 0) st_release_gpu(flag, 1);
  } else {
    if (threadIdx.x == 0) {
      while (ld_acquire_gpu(flag) == 0) {
      }
    }
    __syncthreads();
    a.out[threadIdx.x] = ld_weak(data + threadIdx.x);
  }
}

// One thread waits; the others go on without a barrier.
EXHIBIT(semaphore_others_do_not_wait) {
  u32* data = a.scratch;
  u32* flag = a.scratch + 256;
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x + 1;
    __syncthreads();
    if (threadIdx.x == 0) st_release_gpu(flag, 1);
  } else {
    if (threadIdx.x == 0) {
      while (ld_acquire_gpu(flag) == 0) {
      }
    }
    if (mended) __syncthreads();
    a.out[threadIdx.x] = ld_weak(data + threadIdx.x);
  }
}

EXHIBIT(volatile_flag_in_global) {
  u32* data = a.scratch;
  u32* flag = a.scratch + 64;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 42;
    if (mended) __threadfence();
    st_volatile(flag, 1);
  } else {
    while (ld_volatile(flag) == 0) {
    }
    if (mended) __threadfence();
    a.out[0] = ld_weak(data);
  }
}

// An unrelated tile counter must not hide the race beside it.
EXHIBIT(race_beside_a_tile_counter) {
  u32* counter = a.scratch + 128;
  if (threadIdx.x == 0) {
    const u32 tile = atomicAdd(counter, 1u);
    a.scratch[256 + tile] = 1;
  }
  if (threadIdx.x == 1) a.scratch[mended ? blockIdx.x : 0] = blockIdx.x;
}

// The threads of the last CTA sum up the parts of all.
EXHIBIT(last_block_without_threadfence) {
  __shared__ u32 is_last;
  u32* parts = a.scratch;
  u32* count = a.scratch + 64;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = a.in[blockIdx.x];
    if (mended) __threadfence();
    is_last = atomicAdd(count, 1u) == gridDim.x - 1;
    if (mended) __threadfence();
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    u32 sum = 0;
    for (u32 i = 0; i < gridDim.x; ++i) sum += ld_weak(parts + i);
    a.out[0] = sum;
  }
}

// Every thread has a part, and the counter is raised before all of them are written.
EXHIBIT(last_block_without_first_barrier) {
  __shared__ u32 is_last;
  u32* parts = a.scratch;
  u32* count = a.scratch + 512;
  parts[blockIdx.x * 64 + threadIdx.x] = a.in[threadIdx.x];
  __threadfence();
  if (mended) __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(count, 1u) == gridDim.x - 1;
  __syncthreads();
  if (is_last) {
    __threadfence();
    u32 sum = 0;
    for (u32 i = 0; i < gridDim.x; ++i) sum += ld_weak(parts + i * 64 + (threadIdx.x ^ 32));
    a.out[threadIdx.x] = sum;
  }
}

EXHIBIT(grid_barrier_without_fence) {
  u32* count = a.scratch + 512;
  a.scratch[blockIdx.x * 32 + threadIdx.x] = blockIdx.x + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    if (mended) __threadfence();
    atomicAdd(count, 1u);
    wait_for(count, gridDim.x);
    if (mended) __threadfence();
  }
  __syncthreads();
  a.out[blockIdx.x * 32 + threadIdx.x] = ld_weak(a.scratch + (blockIdx.x ^ 1) * 32 + threadIdx.x);
}

// Decoupled look-back: the status is published before the prefix.
EXHIBIT(look_back_status_before_value) {
  u32* value = a.scratch;
  u32* status = a.scratch + 64;
  if (threadIdx.x != 0) return;
  u32 before = 0;
  if (blockIdx.x > 0) {
    while (ld_acquire_gpu(status + blockIdx.x - 1) == 0) {
    }
    before = ld_weak(value + blockIdx.x - 1);
  }
  const u32 total = before + a.in[blockIdx.x];
  if (!mended) st_release_gpu(status + blockIdx.x, 1);
  st_weak(value + blockIdx.x, total);
  if (mended) st_release_gpu(status + blockIdx.x, 1);
  a.out[blockIdx.x] = total;
}

// A release of CTA scope hands nothing to another CTA.
EXHIBIT(release_at_cta_scope) {
  u32* data = a.scratch;
  u32* flag = a.scratch + 64;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 42;
    if (mended) st_release_gpu(flag, 1);
    else st_release_cta(flag, 1);
  } else {
    while (ld_acquire_gpu(flag) == 0) {
    }
    a.out[0] = ld_weak(data);
  }
}

EXHIBIT(acquire_at_cta_scope) {
  u32* data = a.scratch;
  u32* flag = a.scratch + 64;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 42;
    st_release_gpu(flag, 1);
  } else {
    while ((mended ? ld_acquire_gpu(flag) : ld_acquire_cta(flag)) == 0) {
    }
    a.out[0] = ld_weak(data);
  }
}

// The lock is given back by an ordinary store.
EXHIBIT(lock_given_back_by_a_weak_store) {
  u32* lock = a.scratch + 64;
  u32* sum = a.scratch;
  if (threadIdx.x != 0) return;
  while (cas_acquire_gpu(lock, 0, 1) != 0) {
  }
  st_weak(sum, ld_weak(sum) + blockIdx.x + 1);
  if (mended) st_release_gpu(lock, 0);
  else st_weak(lock, 0);
}

// A counter that is raised by atomics and read by an ordinary load.
EXHIBIT(counter_read_without_order) {
  u32* count = a.scratch;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    atomicAdd(count, 1u);
  } else {
    a.out[0] = mended ? ld_relaxed_gpu(count) & 0 : ld_weak(count) & 0;
  }
}

EXHIBIT(two_blocks_write_one_word) {
  if (threadIdx.x == 0 && (!mended || blockIdx.x == 0)) a.out[0] = blockIdx.x + 1;
}

// The tiles of neighbours overlap by one row.
EXHIBIT(tiles_overlap) {
  const u32 rows = mended ? 4 : 5;
  for (u32 row = 0; row < rows; ++row) a.out[(blockIdx.x * 4 + row) * 32 + threadIdx.x] = blockIdx.x;
}

// The read-only path may hold what was there before the kernel.
EXHIBIT(read_only_load_of_written_data) {
  a.scratch[threadIdx.x] = threadIdx.x;
  __syncthreads();
  a.out[threadIdx.x] = mended ? ld_weak(a.scratch + (threadIdx.x ^ 32)) : ld_nc(a.scratch + (threadIdx.x ^ 32));
}

// Workspace that was allocated and never cleared.
EXHIBIT(workspace_never_cleared) {
  if (mended) a.raw[threadIdx.x] = 0;
  a.raw[threadIdx.x] += a.in[threadIdx.x];
  a.out[threadIdx.x] = a.raw[threadIdx.x];
}
