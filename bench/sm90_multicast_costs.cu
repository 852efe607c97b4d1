// SPDX-License-Identifier: Apache-2.0
//
// What a copy to all CTAs of a cluster takes on Hopper: the third part of sm90_costs. Tiles of 64 bf16 and a ring
// as in a matmul: each CTA brings its share of every tile to all of them.
#include "sm90_costs.h"

#include <heddle/host/tensor_map.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/tma.h>

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

// Warp 0 loads and warp 1 gives every stage back to all CTAs as soon as it is full.
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
  const std::uint32_t rank = blockIdx.x % ring.cluster;
  const std::uint32_t share = ring.bytes / ring.cluster;
  const std::uint32_t first = blockIdx.x / ring.cluster % ring.parts * ring.part_rows;
  const std::uint64_t begin = now();
  if (threadIdx.x == 0) {
    for (std::uint32_t i = 0; i < ring.steps; ++i) {
      const std::uint32_t s = i % ring.stages;
      while (!isa::mbarrier_try_wait_parity_cluster(&empty[s], 1 ^ (i / ring.stages & 1))) {
      }
      isa::mbarrier_arrive_expect_tx(&full[s], ring.bytes);
      const std::uint32_t row = first + i * (ring.bytes / kRowBytes) % ring.part_rows;
      load(shared.data + s * ring.bytes + rank * share, &map, row + rank * (share / kRowBytes), &full[s],
           ring.cluster);
    }
  } else if (threadIdx.x == 32) {
    for (std::uint32_t i = 0; i < ring.steps; ++i) {
      const std::uint32_t s = i % ring.stages;
      while (!isa::mbarrier_try_wait_parity(&full[s], i / ring.stages & 1)) {
      }
      for (std::uint32_t to = 0; to < ring.cluster; ++to) {
        isa::mbarrier_arrive_cluster(isa::mapa(&empty[s], to));
      }
    }
    cycles[blockIdx.x] = now() - begin;
  }
  isa::cluster_sync();
}

// One copy at a time by the first CTA: from its issue there to the wait that passes there.
__global__ void multicast_latency(const __grid_constant__ isa::TensorMap map, std::uint32_t cluster,
                                  std::uint32_t bytes, std::uint32_t times, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  init_barriers(1);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < times; ++i) {
    if (threadIdx.x == 0) isa::mbarrier_arrive_expect_tx(&shared.barriers[0], bytes);
    isa::cluster_sync();
    if (threadIdx.x == 0) {
      const std::uint64_t begin = now();
      if (blockIdx.x == 0) load(shared.data, &map, i % 16 * (bytes / kRowBytes), &shared.barriers[0], cluster);
      while (!isa::mbarrier_try_wait_parity(&shared.barriers[0], i & 1)) {
      }
      sum += now() - begin;
    }
  }
  isa::cluster_sync();
  if (threadIdx.x == 0) cycles[blockIdx.x] = sum / times;
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
  for (int i = 0; i < 2; ++i) start_clusters(multicast_rate, ctas, 64, ring.cluster, map, ring, device.cycles);
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
