// SPDX-License-Identifier: Apache-2.0
//
// Copies a tensor box by box through a ring of shared-memory stages: one warp loads with TMA, the others take
// each tile, put it into an output tile, and store that with TMA. Nothing is computed, so every byte can be
// checked; what is left is exactly the machinery that every warp-specialised kernel has.
//
// With a cluster, all its CTAs work on the same boxes, take turns at loading, and multicast each box to all;
// each stores to a destination of its own.
#pragma once

#include <heddle/isa/cluster.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>

namespace heddle::inline HEDDLE_TARGET {

struct TileCopyConfig {
  std::uint32_t stages = 4;
  std::uint32_t stage_bytes = 16384;  // room for one box
};

struct TileCopyParams {
  static constexpr std::uint32_t kMaxCluster = 2;

  isa::TensorMap source;
  isa::TensorMap destination[kMaxCluster];  // by CTA rank
  unsigned char* image[kMaxCluster];        // where not null: the bytes of each tile as they lie in shared
                                            // memory, instead of the TMA store
  std::uint32_t rank;
  std::uint32_t boxes;
  std::uint32_t counts[5];   // boxes along each dimension
  std::int32_t start[5];     // coordinates of the first box
  std::uint32_t box[5];      // elements from one box to the next
  std::uint32_t tx_bytes;    // what a load of one box completes
  std::uint32_t tile_bytes;  // what a box takes in shared memory
};

template <TileCopyConfig config, class Backend = MbarrierBackend<config.stages, PipelineScope::kCluster>>
struct TileCopy {
  using Params = TileCopyParams;
  using Pipeline = ProducerConsumerPipeline<config.stages, Backend>;

  struct Shared {
    SMemArray<unsigned char, config.stages * config.stage_bytes, 1024> tiles;
    SMemArray<unsigned char, config.stage_bytes, 1024> output;
    BarrierPair<config.stages> barriers;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());

  static constexpr std::uint32_t kMaxConsumerWarps = 4;
  static constexpr std::uint32_t kThreads = isa::kWarpThreads * (1 + kMaxConsumerWarps);
  static constexpr std::uint32_t kConsumerBarrier = 1;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Pipeline pipeline(shared.barriers.ptr(), "input");
    if (isa::tid_x() == 0) {
      pipeline.init_mbars(1, consumer_warps() * isa::cluster_nctarank());
      isa::fence_mbarrier_init();
    }
    if (params.image[isa::cluster_ctarank()] != nullptr) clear(shared);
    isa::cluster_sync();
    if (isa::warp_idx() == 0) {
      load(params, shared, pipeline);
    } else {
      store(params, shared, pipeline);
    }
    isa::cluster_sync();  // no CTA leaves while a peer may still signal it
  }

 private:
  HEDDLE_DEVICE static std::uint32_t consumer_warps() { return isa::ntid_x() / isa::kWarpThreads - 1; }
  HEDDLE_DEVICE static std::uint32_t first_box() { return isa::clusterid().x; }
  HEDDLE_DEVICE static std::uint32_t box_step() { return isa::nctaid().x / isa::cluster_nctarank(); }

  // An image shows all bytes of a tile. Where a box is narrower than the swizzle, copies leave gaps, which must
  // have a value too.
  HEDDLE_DEVICE static void clear(Shared& shared) {
    for (std::uint32_t at = isa::tid_x() * 16; at < config.stages * config.stage_bytes;
         at += isa::ntid_x() * 16) {
      isa::st_shared(reinterpret_cast<isa::Bytes16*>(shared.tiles.ptr(at)), {});
    }
    isa::fence_proxy_async_shared_cta();
  }

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, Pipeline& pipeline) {
    isa::annotate_role("load");
    if (!isa::elect_sync()) return;
    const std::uint32_t peers = isa::cluster_nctarank();
    std::uint32_t turn = 0;
    for (std::uint32_t box = first_box(); box < params.boxes; box += box_step()) {
      auto stage = pipeline.acquire_producer();
      stage.expect_bytes(params.tx_bytes);
      if (turn == isa::cluster_ctarank()) {
        load_box(params, box, shared.tiles.ptr(stage.index() * config.stage_bytes), stage.mbar());
      }
      std::move(stage).release();
      turn = turn + 1 == peers ? 0 : turn + 1;
    }
    pipeline.drain_producer();
  }

  HEDDLE_DEVICE static void store(const Params& params, Shared& shared, Pipeline& pipeline) {
    isa::annotate_role("store");
    const std::uint32_t threads = consumer_warps() * isa::kWarpThreads;
    const std::uint32_t thread = isa::tid_x() - isa::kWarpThreads;
    const auto everyone = static_cast<std::uint16_t>((1u << isa::cluster_nctarank()) - 1);
    for (std::uint32_t box = first_box(); box < params.boxes; box += box_step()) {
      if (thread == 0) isa::cp_async_bulk_wait_group_read<0>();
      isa::bar_sync(kConsumerBarrier, threads);  // the output tile is free

      auto stage = pipeline.acquire_consumer();
      const unsigned char* tile = shared.tiles.ptr(stage.index() * config.stage_bytes);
      for (std::uint32_t at = thread * 16; at < params.tile_bytes; at += threads * 16) {
        const auto bytes = isa::ld_shared(reinterpret_cast<const isa::Bytes16*>(tile + at));
        isa::st_shared(reinterpret_cast<isa::Bytes16*>(shared.output.ptr(at)), bytes);
      }
      std::move(stage).release_to(everyone);

      isa::fence_proxy_async_shared_cta();
      isa::bar_sync(kConsumerBarrier, threads);  // the output tile is complete
      if (params.image[isa::cluster_ctarank()] != nullptr) {
        write_image(params, box, shared, thread, threads);
      } else if (thread == 0) {
        store_box(params, box, shared.output.ptr());
        isa::cp_async_bulk_commit_group();
      }
    }
    if (thread == 0) isa::cp_async_bulk_wait_group<0>();
  }

  HEDDLE_DEVICE static void write_image(const Params& params, std::uint32_t box, Shared& shared,
                                        std::uint32_t thread, std::uint32_t threads) {
    unsigned char* image = params.image[isa::cluster_ctarank()] + std::size_t{box} * params.tile_bytes;
    for (std::uint32_t at = thread * 16; at < params.tile_bytes; at += threads * 16) {
      const auto bytes = isa::ld_shared(reinterpret_cast<const isa::Bytes16*>(shared.output.ptr(at)));
      isa::st_global(reinterpret_cast<isa::Bytes16*>(image + at), bytes);
    }
  }

  // The coordinates of a box, innermost first.
  template <int rank>
  struct Coordinates {
    std::int32_t at[rank];

    HEDDLE_DEVICE Coordinates(const Params& params, std::uint32_t box) {
      for (int d = 0; d < rank; ++d) {
        at[d] = params.start[d] + static_cast<std::int32_t>(box % params.counts[d] * params.box[d]);
        box /= params.counts[d];
      }
    }
  };

  template <class Issue>
  HEDDLE_DEVICE static void at_rank(std::uint32_t rank, Issue issue) {
    switch (rank) {
      case 1: return issue.template operator()<1>();
      case 2: return issue.template operator()<2>();
      case 3: return issue.template operator()<3>();
      case 4: return issue.template operator()<4>();
      default: return issue.template operator()<5>();
    }
  }

  HEDDLE_DEVICE static void load_box(const Params& params, std::uint32_t box, unsigned char* tile, MbarPtr full) {
    const std::uint32_t peers = isa::cluster_nctarank();
    at_rank(params.rank, [&]<int rank>() {
      const Coordinates<rank> coords(params, box);
      if (peers == 1) {
        isa::cp_async_bulk_tensor_load(tile, &params.source, coords.at, full);
      } else {
        isa::cp_async_bulk_tensor_load_multicast(tile, &params.source, coords.at, full,
                                                 static_cast<std::uint16_t>((1u << peers) - 1));
      }
    });
  }

  HEDDLE_DEVICE static void store_box(const Params& params, std::uint32_t box, const unsigned char* tile) {
    const isa::TensorMap* map = &params.destination[isa::cluster_ctarank()];
    at_rank(params.rank,
            [&]<int rank>() { isa::cp_async_bulk_tensor_store(map, Coordinates<rank>(params, box).at, tile); });
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
