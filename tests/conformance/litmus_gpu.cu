// SPDX-License-Identifier: Apache-2.0
//
// litmus_gpu [TRIALS]: message passing on the card, a million trials of each way. The writer puts the trial's
// number into memory and hands it over; the reader counts how often it finds something else. Ways that the manual
// orders must never show that (the status is 1 if one does); of the others the program says which were seen.
#include "../museum/ptx.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr u32 kPairs = 60;

struct Memory {
  u32 data[kPairs][8][64];
  u32 flag[kPairs][64];
  u32 ack[kPairs][64];
};

enum class Global {
  kNothing,
  kFenceInWriter,
  kFenceInReader,
  kFences,
  kReleaseAcquire,
  kCtaScope,
  kVolatile,
  kVolatileFences,
  kReadOnlyLoad,
  kBulkWait,
  kBulkWaitRead,
  kBulkWaitFence
};

// CTA 2p writes, CTA 2p + 1 reads.
template <Global way>
__global__ void through_global(Memory* m, u32 trials, u64* bad) {
  __shared__ alignas(128) u32 tile[64];
  const u32 pair = blockIdx.x / 2;
  if (threadIdx.x != 0) return;
  u64 wrong = 0;
  for (u32 i = 1; i <= trials; ++i) {
    u32* data = m->data[pair][i % 8];
    u32* flag = m->flag[pair];
    u32* ack = m->ack[pair];
    if (blockIdx.x % 2 == 0) {
      constexpr bool is_bulk =
          way == Global::kBulkWait || way == Global::kBulkWaitRead || way == Global::kBulkWaitFence;
      if constexpr (is_bulk) {
        for (u32 w = 0; w < 64; ++w) st_shared(&tile[w], i);
        fence_async();
        bulk_store(data, tile, 256);
        bulk_commit();
        if constexpr (way == Global::kBulkWaitRead) bulk_wait_read<0>();
        else bulk_wait<0>();
        if constexpr (way == Global::kBulkWaitFence) fence_async();
        st_release_gpu(flag, i);
        bulk_wait<0>();
      } else {
        st_weak(data, i);
        if constexpr (way == Global::kFenceInWriter || way == Global::kFences || way == Global::kVolatileFences ||
                      way == Global::kReadOnlyLoad)
          __threadfence();
        if constexpr (way == Global::kReleaseAcquire) st_release_gpu(flag, i);
        else if constexpr (way == Global::kCtaScope) st_release_cta(flag, i);
        else if constexpr (way == Global::kVolatile || way == Global::kVolatileFences) st_volatile(flag, i);
        else st_relaxed_gpu(flag, i);
      }
      while (ld_acquire_gpu(ack) != i) {
      }
    } else {
      u32 warm;  // brings the old value into L1
      asm volatile("ld.weak.global.ca.u32 %0, [%1];" : "=r"(warm) : "l"(data) : "memory");
      for (u32 tries = 0;; ++tries) {
        u32 seen;
        // A load of CTA scope may find the old value in L1 for ever.
        if constexpr (way == Global::kCtaScope)
          seen = tries % 64 == 63 ? ld_relaxed_gpu(flag) : ld_acquire_cta(flag);
        else if constexpr (way == Global::kVolatile || way == Global::kVolatileFences) seen = ld_volatile(flag);
        else if constexpr (way == Global::kReleaseAcquire || way == Global::kBulkWait ||
                           way == Global::kBulkWaitRead || way == Global::kBulkWaitFence)
          seen = ld_acquire_gpu(flag);
        else seen = ld_relaxed_gpu(flag);
        if (seen == i) break;
      }
      if constexpr (way == Global::kFenceInReader || way == Global::kFences || way == Global::kVolatileFences ||
                    way == Global::kReadOnlyLoad)
        __threadfence();
      const u32 got = way == Global::kReadOnlyLoad ? ld_nc(data) : ld_weak(data);
      wrong += got != i;
      __threadfence();
      st_release_gpu(ack, i);
    }
  }
  if (wrong != 0) atomicAdd(bad, wrong);
}

enum class Shared {
  kMbarrier,
  kMbarrierRelaxed,
  kNamedSync,
  kNamedArrive,
  kVolatile,
  kVolatileFences,
  kStoreFenced,
  kStoreUnfenced,
  kLoadAfterClearFenced,
  kLoadAfterClearUnfenced,
  kLoadAfterReadFenced,
  kLoadAfterReadUnfenced,
  kLoadOfOwnGlobalFenced,
  kLoadOfOwnGlobalUnfenced
};

// Warp 0 writes, warp 1 reads, one lane of each.
template <Shared way>
__global__ void through_shared(Memory* m, u32 trials, u64* bad) {
  __shared__ alignas(128) u32 tile[8][64];
  __shared__ u32 flag;
  __shared__ u64 full, back;
  if (threadIdx.x == 0) {
    bar_init(&full, 1);
    bar_init(&back, 1);
    flag = 0;
    fence_init();
  }
  for (u32 w = threadIdx.x; w < 512; w += 64) (&tile[0][0])[w] = 0;
  fence_async();
  __syncthreads();
  u32* global = m->data[blockIdx.x % kPairs][0];
  u64 wrong = 0;
  for (u32 i = 1; i <= trials; ++i) {
    u32* data = tile[i % 8];
    const u32 parity = (i - 1) % 2;
    if constexpr (way == Shared::kStoreFenced || way == Shared::kStoreUnfenced) {
      // A tile is written by all threads, and stored by one.
      data[threadIdx.x] = i;
      if constexpr (way == Shared::kStoreFenced) fence_async_shared();
      __syncthreads();
      if (threadIdx.x == 0) {
        bulk_store(global, data, 256);
        bulk_commit();
        bulk_wait<0>();
        fence_async();
      }
      __syncthreads();
      wrong += ld_relaxed_gpu(global + threadIdx.x) != i;
      __syncthreads();
    } else if constexpr (way == Shared::kLoadAfterClearFenced || way == Shared::kLoadAfterClearUnfenced) {
      // A tile is cleared by all threads, and filled by a copy; a late store would show as 0.
      if (blockIdx.x < kPairs && threadIdx.x < 64) m->data[blockIdx.x][1][threadIdx.x] = i;
      fence_async();
      __syncthreads();
      data[threadIdx.x] = 0;
      if constexpr (way == Shared::kLoadAfterClearFenced) fence_async_shared();
      __syncthreads();
      if (threadIdx.x == 0) {
        arrive_expect(&full, 256);
        bulk_load(data, m->data[blockIdx.x][1], 256, &full);
      }
      wait(&full, parity);
      wrong += ld_shared(&data[threadIdx.x]) != i;
      __syncthreads();
      fence_async();
    } else if constexpr (way == Shared::kLoadAfterReadFenced || way == Shared::kLoadAfterReadUnfenced) {
      // Read, hand back, overwrite by a copy: the read must not see the copy.
      if (warp_idx() == 1) {
        m->data[blockIdx.x][2][lane_idx()] = i;
        m->data[blockIdx.x][2][lane_idx() + 32] = i;
      }
      fence_async();
      __syncthreads();
      if (warp_idx() == 1) {
        const u32 got = ld_shared(&tile[0][lane_idx()]);
        if constexpr (way == Shared::kLoadAfterReadFenced) fence_async_shared();
        __syncwarp();
        if (lane_idx() == 0) arrive(&back);
        wrong += got != i - 1;
      } else if (threadIdx.x == 0) {
        wait(&back, parity);
        arrive_expect(&full, 256);
        bulk_load(tile[0], m->data[blockIdx.x][2], 256, &full);
        wait(&full, parity);
      }
      __syncthreads();
    } else if constexpr (way == Shared::kLoadOfOwnGlobalFenced || way == Shared::kLoadOfOwnGlobalUnfenced) {
      m->data[blockIdx.x][3][threadIdx.x] = i;
      if constexpr (way == Shared::kLoadOfOwnGlobalFenced) fence_async();
      __syncthreads();
      if (threadIdx.x == 0) {
        arrive_expect(&full, 256);
        bulk_load(data, m->data[blockIdx.x][3], 256, &full);
      }
      wait(&full, parity);
      wrong += ld_shared(&data[threadIdx.x]) != i;
      fence_async();
      __syncthreads();
    } else {
      const bool acts = lane_idx() == 0;
      if (warp_idx() == 0) {
        if (acts) {
          st_shared(data, i);
          if constexpr (way == Shared::kVolatileFences) fence_cta();
          if constexpr (way == Shared::kMbarrier) arrive(&full);
          if constexpr (way == Shared::kMbarrierRelaxed) arrive_relaxed(&full);
          if constexpr (way == Shared::kVolatile || way == Shared::kVolatileFences) st_shared_volatile(&flag, i);
        }
        __syncwarp();
        if constexpr (way == Shared::kNamedSync) named_sync(1, 64);
        if constexpr (way == Shared::kNamedArrive) named_arrive(1, 64);
        if (acts) wait(&back, parity);
        __syncwarp();
      } else {
        if constexpr (way == Shared::kNamedSync || way == Shared::kNamedArrive) named_sync(1, 64);
        if (acts) {
          if constexpr (way == Shared::kMbarrier) wait(&full, parity);
          if constexpr (way == Shared::kMbarrierRelaxed) wait_relaxed(&full, parity);
          if constexpr (way == Shared::kVolatile || way == Shared::kVolatileFences)
            while (ld_shared_volatile(&flag) != i) {
            }
          if constexpr (way == Shared::kVolatileFences) fence_cta();
          wrong += ld_shared(data) != i;
          arrive(&back);
        }
        __syncwarp();
      }
    }
  }
  if (wrong != 0) atomicAdd(bad, wrong);
}

enum class Cluster { kScope, kArriveWithoutScope, kArriveRelaxed, kWaitWithoutScope, kBarrier, kBarrierRelaxed };

// CTA 0 of the cluster stores into CTA 1.
template <Cluster way>
__global__ void __cluster_dims__(2) through_cluster(Memory*, u32 trials, u64* bad) {
  __shared__ u32 tile[8];
  __shared__ u64 full, back;
  if (threadIdx.x == 0) {
    bar_init(&full, 1);
    bar_init(&back, 1);
    fence_init();
  }
  cluster_sync();
  u64 wrong = 0;
  for (u32 i = 1; i <= trials; ++i) {
    const u32 parity = (i - 1) % 2;
    u32* data = &tile[i % 8];
    const bool acts = threadIdx.x == 0;
    if constexpr (way == Cluster::kBarrier || way == Cluster::kBarrierRelaxed) {
      if (cluster_rank() == 0 && acts) st_peer(peer(data, 1), i);
      __syncwarp();
      if constexpr (way == Cluster::kBarrier) cluster_arrive();
      else cluster_arrive_relaxed();
      cluster_wait();
      if (cluster_rank() == 1 && acts) wrong += ld_shared(data) != i;
      __syncwarp();
      cluster_sync();
    } else if (acts) {
      if (cluster_rank() == 0) {
        st_peer(peer(data, 1), i);
        if constexpr (way == Cluster::kArriveWithoutScope) arrive_peer_without_scope(peer(&full, 1));
        else if constexpr (way == Cluster::kArriveRelaxed) arrive_peer_relaxed(peer(&full, 1));
        else arrive_peer(peer(&full, 1));
        wait_cluster(&back, parity);
      } else {
        if constexpr (way == Cluster::kWaitWithoutScope) wait(&full, parity);
        else wait_cluster(&full, parity);
        wrong += ld_shared(data) != i;
        arrive_peer(peer(&back, 0));
      }
    }
  }
  __syncwarp();
  cluster_sync();
  if (wrong != 0) atomicAdd(bad, wrong);
}

struct Litmus {
  const char* what;
  bool ordered;  // by the manual: the outcome must never be seen
  void (*kernel)(Memory*, u32, u64*);
  u32 blocks, threads;
};

const Litmus kLitmus[] = {
    {"global: relaxed flag, no fence", false, through_global<Global::kNothing>, 2 * kPairs, 32},
    {"global: relaxed flag, fence in the writer only", false, through_global<Global::kFenceInWriter>, 2 * kPairs,
     32},
    {"global: relaxed flag, fence in the reader only", false, through_global<Global::kFenceInReader>, 2 * kPairs,
     32},
    {"global: relaxed flag, fences in both", true, through_global<Global::kFences>, 2 * kPairs, 32},
    {"global: st.release.gpu, ld.acquire.gpu", true, through_global<Global::kReleaseAcquire>, 2 * kPairs, 32},
    {"global: st.release.cta, ld.acquire.cta, two CTAs", false, through_global<Global::kCtaScope>, 2 * kPairs,
     32},
    {"global: volatile flag, no fence", false, through_global<Global::kVolatile>, 2 * kPairs, 32},
    {"global: volatile flag, fences in both", true, through_global<Global::kVolatileFences>, 2 * kPairs, 32},
    {"global: fences in both, ld.global.nc", false, through_global<Global::kReadOnlyLoad>, 2 * kPairs, 32},
    {"bulk store, wait_group, flag", true, through_global<Global::kBulkWait>, 2 * kPairs, 32},
    {"bulk store, wait_group, proxy fence, flag", true, through_global<Global::kBulkWaitFence>, 2 * kPairs, 32},
    {"bulk store, wait_group.read, flag", false, through_global<Global::kBulkWaitRead>, 2 * kPairs, 32},
    {"mbarrier, release and acquire", true, through_shared<Shared::kMbarrier>, kPairs, 64},
    {"mbarrier, relaxed arrive and wait", false, through_shared<Shared::kMbarrierRelaxed>, kPairs, 64},
    {"named barrier, sync and sync", true, through_shared<Shared::kNamedSync>, kPairs, 64},
    {"named barrier, arrive and sync", true, through_shared<Shared::kNamedArrive>, kPairs, 64},
    {"shared: volatile flag, no fence", false, through_shared<Shared::kVolatile>, kPairs, 64},
    {"shared: volatile flag, fences in both", true, through_shared<Shared::kVolatileFences>, kPairs, 64},
    {"st.shared, proxy fence, bulk store", true, through_shared<Shared::kStoreFenced>, kPairs, 64},
    {"st.shared, bulk store", false, through_shared<Shared::kStoreUnfenced>, kPairs, 64},
    {"st.shared, proxy fence, bulk load over it", true, through_shared<Shared::kLoadAfterClearFenced>, kPairs,
     64},
    {"st.shared, bulk load over it", false, through_shared<Shared::kLoadAfterClearUnfenced>, kPairs, 64},
    {"ld.shared, proxy fence, arrive, bulk load over it", true, through_shared<Shared::kLoadAfterReadFenced>,
     kPairs, 64},
    {"ld.shared, arrive, bulk load over it", false, through_shared<Shared::kLoadAfterReadUnfenced>, kPairs, 64},
    {"st.global, proxy fence, bulk load", true, through_shared<Shared::kLoadOfOwnGlobalFenced>, kPairs, 64},
    {"st.global, bulk load", false, through_shared<Shared::kLoadOfOwnGlobalUnfenced>, kPairs, 64},
    {"cluster: remote store, arrive.release.cluster, acquire.cluster", true, through_cluster<Cluster::kScope>,
     2 * kPairs, 32},
    {"cluster: remote store, arrive without scope", false, through_cluster<Cluster::kArriveWithoutScope>,
     2 * kPairs, 32},
    {"cluster: remote store, arrive.relaxed.cluster", false, through_cluster<Cluster::kArriveRelaxed>, 2 * kPairs,
     32},
    {"cluster: remote store, wait without scope", false, through_cluster<Cluster::kWaitWithoutScope>, 2 * kPairs,
     32},
    {"cluster barrier, release and acquire", true, through_cluster<Cluster::kBarrier>, 2 * kPairs, 32},
    {"cluster barrier, relaxed arrive", false, through_cluster<Cluster::kBarrierRelaxed>, 2 * kPairs, 32},
};

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: there is no GPU");
    return 77;
  }
  const u64 wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const u32 trials = static_cast<u32>((wanted + kPairs - 1) / kPairs);
  Memory* memory;
  u64* bad;
  check(cudaMalloc(&memory, sizeof(Memory)), "cudaMalloc");
  check(cudaMalloc(&bad, sizeof(u64)), "cudaMalloc");
  int status = 0;
  std::printf("%-64s %-22s %10s %10s\n", "way", "by the manual", "trials", "other value");
  for (const Litmus& litmus : kLitmus) {
    check(cudaMemset(memory, 0, sizeof(Memory)), "cudaMemset");
    check(cudaMemset(bad, 0, sizeof(u64)), "cudaMemset");
    litmus.kernel<<<litmus.blocks, litmus.threads>>>(memory, trials, bad);
    check(cudaDeviceSynchronize(), litmus.what);
    u64 seen = 0;
    check(cudaMemcpy(&seen, bad, sizeof seen, cudaMemcpyDeviceToHost), "cudaMemcpy");
    const bool broken = litmus.ordered && seen != 0;
    std::printf("%-64s %-22s %10llu %10llu%s\n", litmus.what, litmus.ordered ? "ordered" : "not ordered",
                u64{trials} * kPairs, seen, broken ? "  IMPOSSIBLE" : "");
    std::fflush(stdout);
    if (broken) status = 1;
  }
  return status;
}
