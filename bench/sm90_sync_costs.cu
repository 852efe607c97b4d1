// SPDX-License-Identifier: Apache-2.0
//
// What hand-overs, stores, clusters and launches take on a Hopper SM: the second half of sm90_costs.
#include "sm90_costs.h"

#include <heddle/isa/cluster.h>
#include <heddle/isa/cluster_memory.h>
#include <heddle/isa/matrix.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>

#include <algorithm>

namespace heddle::costs {

namespace {

// Two threads hand a barrier to and fro, each alone in its warp: half of a turn is from an arrival to the wait
// that passes. In a cluster they are in different CTAs.
template <bool is_remote>
__global__ void hand_over(std::uint32_t turns, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  init_barriers(1);
  if constexpr (is_remote) isa::cluster_sync();
  const std::uint32_t me = is_remote ? blockIdx.x : threadIdx.x / 32;
  if (threadIdx.x % 32 == 0 && threadIdx.x / 32 < (is_remote ? 1 : 2)) {
    SharedMemBarrier* const mine = &shared.barriers[me];
    const std::uint64_t begin = now();
    for (std::uint32_t i = 0; i < turns; ++i) {
      const auto arrive = [&] {
        if constexpr (is_remote) {
          isa::mbarrier_arrive_cluster(isa::mapa(&shared.barriers[1 - me], 1 - me));
        } else {
          isa::mbarrier_arrive(&shared.barriers[1 - me]);
        }
      };
      if (me == 0) arrive();
      while (!isa::mbarrier_try_wait_parity_cluster(mine, i & 1)) {
      }
      if (me == 1) arrive();
    }
    if (me == 0) *cycles = (now() - begin) / turns;
  }
  if constexpr (is_remote) isa::cluster_sync();
}

// Waits that need not wait, in a row: by one lane whose warp has no others, and by 32 lanes together.
__global__ void passing_waits(std::uint32_t times, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  init_barriers(1);
  const std::uint32_t warp = threadIdx.x / 32;
  if (warp > 1 || (warp == 0 && threadIdx.x != 0)) return;
  const std::uint64_t begin = now();
  for (std::uint32_t i = 0; i < times; ++i) {
    while (!isa::mbarrier_try_wait_parity(&shared.barriers[i % 8], 1)) {
    }
  }
  if (threadIdx.x % 32 == 0) cycles[warp] = (now() - begin) / times;
}

// The same by a lane while the others of its warp wait for it: at a barrier of the CTA, and at one of the warp.
__global__ void passing_waits_of_divergent(std::uint32_t times, bool is_at_barrier, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  init_barriers(1);
  if (threadIdx.x == 0) {
    const std::uint64_t begin = now();
    for (std::uint32_t i = 0; i < times; ++i) {
      while (!isa::mbarrier_try_wait_parity(&shared.barriers[i % 8], 1)) {
      }
    }
    *cycles = (now() - begin) / times;
  }
  if (is_at_barrier) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

__global__ void arrivals(std::uint32_t times, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  init_barriers(1);
  if (threadIdx.x != 0) return;
  std::uint64_t begin = now();
  for (std::uint32_t i = 0; i < times; ++i) isa::mbarrier_arrive(&shared.barriers[i % 8]);
  cycles[0] = (now() - begin) / times;
}

// How fast one thread issues copies into a ring that never fills: 64 of them, all of one barrier.
__global__ void issue_copies(const unsigned char* source, std::uint32_t bytes, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  init_barriers(1);
  if (threadIdx.x != 0) return;
  constexpr std::uint32_t kCopies = 64;
  isa::mbarrier_arrive_expect_tx(&shared.barriers[0], kCopies * bytes);
  const std::uint64_t begin = now();
  for (std::uint32_t i = 0; i < kCopies; ++i) {
    isa::cp_async_bulk_load(shared.data + i * bytes, source + i * bytes, bytes, &shared.barriers[0]);
  }
  *cycles = (now() - begin) / kCopies;
  while (!isa::mbarrier_try_wait_parity(&shared.barriers[0], 0)) {
  }
}

__global__ void named_barriers(std::uint32_t times, std::uint64_t* cycles) {
  __syncthreads();
  const std::uint64_t begin = now();
  for (std::uint32_t i = 0; i < times; ++i) isa::bar_sync(1, blockDim.x);
  if (threadIdx.x == 0) *cycles = (now() - begin) / times;
}

__global__ void cluster_barriers(std::uint32_t times, std::uint64_t* cycles) {
  isa::cluster_sync();
  const std::uint64_t begin = now();
  for (std::uint32_t i = 0; i < times; ++i) isa::cluster_sync();
  if (threadIdx.x == 0 && blockIdx.x == 0) *cycles = (now() - begin) / times;
}

// A store of 16 rows x 128 bytes: until its source is read, and until it is in memory.
__global__ void stores(unsigned char* target, std::uint32_t times, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  if (threadIdx.x != 0) return;
  std::uint64_t begin = now();
  for (std::uint32_t i = 0; i < times; ++i) {
    isa::cp_async_bulk_store(target + i * 2048, shared.data, 2048);
    isa::cp_async_bulk_commit_group();
    isa::cp_async_bulk_wait_group_read<0>();
  }
  cycles[0] = (now() - begin) / times;
  begin = now();
  for (std::uint32_t i = 0; i < times; ++i) {
    isa::cp_async_bulk_store(target + i * 2048, shared.data, 2048);
    isa::cp_async_bulk_commit_group();
    isa::cp_async_bulk_wait_group<0>();
  }
  cycles[1] = (now() - begin) / times;
}

// What a warp does for 16 rows x 128 bytes of a tile: four stmatrix of converted sums, a fence, and a store by
// one of its lanes. By every warp of every CTA, `times` times, and its parts alone.
template <bool has_matrix, bool has_fence, bool has_store>
__global__ void epilogue(unsigned char* target, std::uint32_t times, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  const std::uint32_t warp = threadIdx.x / 32;
  const std::uint32_t lane = threadIdx.x % 32;
  unsigned char* const pieces = shared.data + warp * 4096;
  __syncthreads();
  const std::uint64_t begin = now();
  for (std::uint32_t i = 0; i < times; ++i) {
    unsigned char* const piece = pieces + i % 2 * 2048;
    if (has_store) {
      if (lane == 0) isa::cp_async_bulk_wait_group_read<1>();
      isa::syncwarp(isa::kFullMask);
    }
    if (has_matrix) {
      for (std::uint32_t c = 0; c < 4; ++c) {
        const std::uint32_t chunk = (c * 2 + lane / 16) ^ lane % 8;
        isa::stmatrix_x4(piece + lane % 16 * 128 + chunk * 16, {i, c, lane, warp});
      }
    }
    if (has_fence) isa::fence_proxy_async_shared_cta();
    if (has_store) {
      isa::syncwarp(isa::kFullMask);
      if (lane == 0) {
        const std::uint64_t number = (std::uint64_t{blockIdx.x} * blockDim.x / 32 + warp) * times + i;
        isa::cp_async_bulk_store(target + number * 2048, piece, 2048);
        isa::cp_async_bulk_commit_group();
      }
    }
  }
  if (lane == 0) isa::cp_async_bulk_wait_group_read<0>();
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = (now() - begin) / times;
}

// Every thread writes 16 bytes to the other CTA of its cluster, `times` times, and then they meet.
__global__ void peer_stores(std::uint32_t times, std::uint64_t* cycles) {
  auto* const data = reinterpret_cast<isa::Bytes16*>(shared_memory().data);
  isa::Bytes16* const to = isa::mapa(data, 1 - blockIdx.x % 2);
  isa::cluster_sync();
  const std::uint64_t begin = now();
  for (std::uint32_t i = 0; i < times; ++i) {
    isa::st_shared_cluster(to + i % 16 * blockDim.x + threadIdx.x, isa::Bytes16{{i, i, i, i}});
  }
  isa::cluster_sync();
  if (threadIdx.x == 0) cycles[blockIdx.x] = now() - begin;
}

// Does nothing, as a kernel of a matmul would: all shared memory, 384 threads.
__global__ void nothing() {}

// From one launch to the next, in microseconds; in a graph, so that the host does not matter.
double launch_us(std::uint32_t sms) {
  constexpr int kLaunches = 200;
  check(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  cudaStream_t stream{};
  cudaGraph_t graph{};
  cudaGraphExec_t exec{};
  check(cudaStreamCreate(&stream));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kLaunches; ++i) nothing<<<sms, 384, kSharedBytes, stream>>>();
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&exec, graph, 0));
  cudaEvent_t begin{};
  cudaEvent_t end{};
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  float best = 1e9f;
  for (int i = 0; i < 5; ++i) {
    check(cudaEventRecord(begin, stream));
    check(cudaGraphLaunch(exec, stream));
    check(cudaEventRecord(end, stream));
    check(cudaStreamSynchronize(stream));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end));
    best = std::min(best, ms);
  }
  return static_cast<double>(best) * 1e3 / kLaunches;
}

}  // namespace

void print_sync_costs(const Device& device, std::uint32_t sms) {
  constexpr std::uint32_t kTimes = 1000;
  const auto number = [&](const char* name, std::uint32_t at = 0) {
    std::printf("  \"%s\": %llu,\n", name, static_cast<unsigned long long>(device.get(at)));
  };
  start(hand_over<false>, 1, 64, kTimes, device.cycles);
  number("barrier_round_trip");
  start_clusters(hand_over<true>, 2, 64, 2, kTimes, device.cycles);
  number("barrier_round_trip_in_cluster");
  start(passing_waits, 1, 64, kTimes, device.cycles);
  number("passing_wait");
  number("passing_wait_of_warp", 1);
  start(passing_waits_of_divergent, 1, 384, kTimes, true, device.cycles);
  number("passing_wait_while_others_are_at_a_barrier");
  start(passing_waits_of_divergent, 1, 32, kTimes, false, device.cycles);
  number("passing_wait_while_others_are_at_syncwarp");
  start(arrivals, 1, 32, kTimes, device.cycles);
  number("arrive");
  for (int i = 0; i < 2; ++i) start(issue_copies, 1, 32, device.memory, 2048, device.cycles);
  number("copy_issue");
  start(named_barriers, 1, 384, kTimes, device.cycles);
  number("named_barrier_12_warps");
  start(named_barriers, 1, 128, kTimes, device.cycles);
  number("named_barrier_4_warps");
  start_clusters(cluster_barriers, 2, 384, 2, kTimes, device.cycles);
  number("cluster_barrier");
  std::printf("  \"peer_store\": [\n");
  for (const std::uint32_t threads : {128u, 256u}) {
    for (const std::uint32_t ctas : {2u, sms}) {
      start_clusters(peer_stores, ctas, threads, 2, 64, device.cycles);
      std::printf("    {\"threads\": %u, \"ctas\": %u, \"bytes_per_cycle_of_a_cta\": %.2f}%s\n", threads, ctas,
                  16.0 * 64 * threads / static_cast<double>(device.get()),
                  threads == 256 && ctas == sms ? "" : ",");
    }
  }
  std::printf("  ],\n");
  start(stores, 1, 32, device.memory, kTimes, device.cycles);
  number("store_2k_read");
  number("store_2k_done", 1);
  std::printf("  \"epilogue_piece\": [\n");
  const auto piece = [&](const char* name, auto kernel, std::uint32_t warps, std::uint32_t ctas = 1,
                         bool is_last = false) {
    for (int i = 0; i < 2; ++i) start(kernel, ctas, warps * 32, device.memory, 64, device.cycles);
    std::printf("    {\"of\": \"%s\", \"warps\": %u, \"ctas\": %u, \"cycles\": %llu}%s\n", name, warps, ctas,
                static_cast<unsigned long long>(device.get()), is_last ? "" : ",");
  };
  for (const std::uint32_t warps : {4u, 8u}) {
    piece("stmatrix", epilogue<true, false, false>, warps);
    piece("stmatrix, fence", epilogue<true, true, false>, warps);
    piece("stmatrix, fence, store", epilogue<true, true, true>, warps);
    piece("stmatrix, fence, store", epilogue<true, true, true>, warps, sms, warps == 8);
  }
  std::printf("  ],\n  \"launch_us\": %.2f\n", launch_us(sms));
}

}  // namespace heddle::costs
