// SPDX-License-Identifier: Apache-2.0
//
// What a copy to all CTAs of a cluster takes on Hopper: the third part of sm90_costs. Tiles of 64 bf16 and a ring
// as in a matmul: each CTA brings its share of every tile to all of them.
#include "sm90_costs.h"

#include <heddle/host/tensor_map.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>

#include <algorithm>

namespace heddle::costs {

namespace {

constexpr std::uint32_t kRowBytes = 128;  // 64 bf16

struct Ring {
  std::uint32_t cluster;  // how many CTAs get each tile
  std::uint32_t bytes;    // of a tile
  std::uint32_t stages;
  std::uint32_t steps;
  std::uint32_t parts;  // cluster c reads from part c % parts of the matrix
  std::uint32_t part_rows;
};

__device__ void load(unsigned char* to, const isa::TensorMap* map, std::uint32_t row, SharedMemBarrier* barrier,
                     std::uint32_t cluster) {
  const std::int32_t coords[2] = {0, static_cast<std::int32_t>(row)};
  if (cluster == 1) {
    isa::cp_async_bulk_tensor_load(to, map, coords, barrier);
  } else {
    isa::cp_async_bulk_tensor_load_multicast(to, map, coords, barrier,
                                             static_cast<std::uint16_t>((1u << cluster) - 1));
  }
}

// A stage, and the parity of the phase that it is in, of a ring.
struct Place {
  std::uint32_t stage = 0;
  std::uint32_t parity = 0;

  __device__ void advance(std::uint32_t steps, std::uint32_t stages) {
    stage += steps;
    if (stage < stages) return;
    stage -= stages;
    parity ^= 1;
  }
};

constexpr std::uint32_t kConsumers = 4;

// One thread of warp 0 loads; the warps behind it take the tiles in turn, and give every stage back to all CTAs
// as soon as it is full, a lane to each. The other lanes of warp 0 leave: an elected thread is slower while they
// wait.
__global__ void multicast_rate(const __grid_constant__ isa::TensorMap map, Ring ring, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  SharedMemBarrier* const full = shared.barriers;
  SharedMemBarrier* const empty = shared.barriers + 32;
  if (threadIdx.x == 0) {
    for (std::uint32_t s = 0; s < ring.stages; ++s) {
      isa::mbarrier_init(&full[s], 1);
      isa::mbarrier_init(&empty[s], ring.cluster);
    }
    isa::fence_mbarrier_init();
  }
  isa::cluster_sync();
  const std::uint32_t warp = threadIdx.x / 32;
  const std::uint32_t lane = threadIdx.x % 32;
  if (warp == 0 && lane != 0) return;
  const std::uint64_t begin = now();
  if (warp == 0) {
    const std::uint32_t rank = blockIdx.x % ring.cluster;
    const std::uint32_t share = ring.bytes / ring.cluster;
    const std::uint32_t first = blockIdx.x / ring.cluster % ring.parts * ring.part_rows;
    const std::uint32_t rows = ring.bytes / kRowBytes;
    std::uint32_t row = 0;
    Place place{.parity = 1};  // stages begin empty
    for (std::uint32_t i = 0; i < ring.steps; ++i) {
      while (!isa::mbarrier_try_wait_parity_cluster(&empty[place.stage], place.parity)) {
      }
      isa::mbarrier_arrive_expect_tx(&full[place.stage], ring.bytes);
      load(shared.data + place.stage * ring.bytes + rank * share, &map, first + row + rank * (share / kRowBytes),
           &full[place.stage], ring.cluster);
      row += rows;
      if (row == ring.part_rows) row = 0;
      place.advance(1, ring.stages);
    }
  } else {
    Place place{.stage = warp - 1};
    for (std::uint32_t i = warp - 1; i < ring.steps; i += kConsumers) {
      while (!isa::mbarrier_try_wait_parity(&full[place.stage], place.parity)) {
      }
      if (lane < ring.cluster) {
        if (ring.cluster == 1) {
          isa::mbarrier_arrive(&empty[place.stage]);
        } else {
          isa::mbarrier_arrive_cluster(isa::mapa(&empty[place.stage], lane));
        }
      }
      isa::syncwarp(isa::kFullMask);
      place.advance(kConsumers, ring.stages);
    }
    if (warp == kConsumers && lane == 0) cycles[blockIdx.x] = now() - begin;
  }
  isa::cluster_sync();
}

// One copy at a time by the first CTA, one thread in each: from its issue there to the wait that passes there.
__global__ void multicast_latency(const __grid_constant__ isa::TensorMap map, std::uint32_t cluster,
                                  std::uint32_t bytes, std::uint32_t times, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  init_barriers(1);
  if (threadIdx.x != 0) return;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < times; ++i) {
    isa::mbarrier_arrive_expect_tx(&shared.barriers[0], bytes);
    isa::cluster_sync();
    const std::uint64_t begin = now();
    if (blockIdx.x == 0) load(shared.data, &map, i % 16 * (bytes / kRowBytes), &shared.barriers[0], cluster);
    while (!isa::mbarrier_try_wait_parity(&shared.barriers[0], i & 1)) {
    }
    sum += now() - begin;
  }
  isa::cluster_sync();
  cycles[blockIdx.x] = sum / times;
}

isa::TensorMap map_of(const Device& device, std::uint32_t rows, std::uint32_t box_rows) {
  return tensor_map_2d({.type = TensorType::kBF16,
                        .address = device.memory,
                        .rows = rows,
                        .cols = kRowBytes / 2,
                        .box_rows = box_rows,
                        .box_cols = kRowBytes / 2,
                        .swizzle = Swizzle::k128B});
}

void print_rate(const Device& device, std::uint32_t ctas, const Ring& ring, bool is_last) {
  const isa::TensorMap map = map_of(device, ring.parts * ring.part_rows, ring.bytes / ring.cluster / kRowBytes);
  // The second run finds everything in L2.
  for (int i = 0; i < 2; ++i)
    start_clusters(multicast_rate, ctas, 32 + 32 * kConsumers, ring.cluster, map, ring, device.cycles);
  std::uint64_t most = 0;
  for (std::uint32_t c = 0; c < ctas; ++c) most = std::max(most, device.get(c));
  std::printf(
      "    {\"cluster\": %u, \"ctas\": %u, \"bytes\": %u, \"stages\": %u, \"parts\": %u, \"cycles_per_tile\": "
      "%.1f, "
      "\"bytes_per_cycle_into_a_cta\": %.2f}%s\n",
      ring.cluster, ctas, ring.bytes, ring.stages, ring.parts, static_cast<double>(most) / ring.steps,
      static_cast<double>(ring.bytes) * ring.steps / static_cast<double>(most), is_last ? "" : ",");
}

}  // namespace

void print_multicast_costs(const Device& device, std::uint32_t sms) {
  std::printf("  \"multicast_latency\": [\n");
  for (const std::uint32_t cluster : {1u, 2u, 4u}) {
    for (const std::uint32_t bytes : {1024u, 8192u, 16384u}) {
      const isa::TensorMap map = map_of(device, 16 * bytes / kRowBytes, bytes / kRowBytes);
      for (int i = 0; i < 2; ++i)
        start_clusters(multicast_latency, cluster, 32, cluster, map, cluster, bytes, 64, device.cycles);
      std::printf("    {\"cluster\": %u, \"bytes\": %u, \"cycles\": %llu}%s\n", cluster, bytes,
                  static_cast<unsigned long long>(device.get()), cluster == 4 && bytes == 16384 ? "" : ",");
    }
  }
  std::printf("  ],\n  \"multicast_rate\": [\n");
  for (const std::uint32_t cluster : {1u, 2u, 4u}) {
    for (const std::uint32_t bytes : {4096u, 8192u, 16384u, 32768u}) {
      for (const bool is_whole : {false, true}) {
        const Ring ring{.cluster = cluster,
                        .bytes = bytes,
                        .stages = std::min(16u, kBuffers / bytes),
                        .steps = 512,
                        .parts = is_whole ? 12u : 1u,
                        .part_rows = (1u << 20) / kRowBytes};
        print_rate(device, is_whole ? sms : cluster, ring, cluster == 4 && bytes == 32768 && is_whole);
      }
    }
  }
  std::printf("  ],\n");
}

}  // namespace heddle::costs
