// SPDX-License-Identifier: Apache-2.0
//
// What an epilogue that reads C (a residual or a bias) has beside the input: tiles of C on their way in, their
// ring between the epilogue-load warp and the epilogue, and LoadOrderBarrier, by which the main load goes first.
//
//   struct Shared {
//     SourceTileStorage<bf16, c_layout, 2> source_tiles;
//     EpiLoadPipelineStorage<2> source;
//     LoadOrderBarrierStorage<> load_order;
//   };
//   LoadOrderBarrier order(shared.load_order);
//   // load warp, for each tile                       // epilogue-load warp, for each tile
//   fill_the_ring();                                  order.wait();
//   order.arrive();                                   load_tile_of_c();
#pragma once

#include <heddle/isa/target.h>
#include <heddle/linear.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/tile/element.h>
#include <heddle/tile/layout.h>
#include <heddle/tile/smem_array.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// Tiles of C on their way in, with a stage count of their own.
template <Element CType, Layout c_layout, std::uint32_t stage_count>
struct SourceTileStorage {
  using SourceTileArray = SMemTileArrayWithLayout<CType, c_layout, stage_count>;
  static constexpr std::uint32_t num_stages = stage_count;

  HEDDLE_HOST_DEVICE SourceTileArray& source_tiles() { return source_tiles_storage; }

  SourceTileArray source_tiles_storage;
};

// The ring of those tiles: one thread of the epilogue-load warp fills a stage, the epilogue threads empty it.
template <std::uint32_t stage_count>
struct EpiLoadPipelineStorage {
  static constexpr std::uint32_t num_stages = stage_count;

  HEDDLE_DEVICE auto pipeline(Name name) { return barriers.pipeline(name); }

  BarrierPair<stage_count> barriers;
};

// `depth` is how many tiles the main load may be ahead of the epilogue load.
template <std::uint32_t depth = 1>
struct LoadOrderBarrierStorage {
  static constexpr std::uint32_t num_stages = depth;

  BarrierPair<depth> barriers;
};

// Keeps the epilogue load from taking the copy engine while the input ring is still being filled for the same
// tile. An arrival is not lost if the other side has not waited yet: the load warp waits instead, once it is
// `depth` tiles ahead. Each side constructs one over the same storage; all threads of a warp call together.
template <std::uint32_t depth = 1>
class LoadOrderBarrier {
 public:
  HEDDLE_DEVICE explicit LoadOrderBarrier(LoadOrderBarrierStorage<depth>& storage)
      : turns_(storage.barriers.ptr(), "load order") {}

  HEDDLE_DEVICE void init_mbars(CallSite site = HEDDLE_HERE) const { turns_.init_mbars(1, 1, site); }

  // The main load of a tile is on its way.
  HEDDLE_DEVICE void arrive(CallSite site = HEDDLE_HERE) {
    auto turn = turns_.acquire_producer({}, site);
    std::move(turn).release_elected(site);
  }

  // Waits for the next arrival: the k-th wait for the k-th.
  HEDDLE_DEVICE void wait(CallSite site = HEDDLE_HERE) {
    auto turn = turns_.acquire_consumer({}, site);
    std::move(turn).release_elected(site);
  }

 private:
  ProducerConsumerPipeline<depth> turns_;
};

}  // namespace heddle::inline HEDDLE_TARGET
