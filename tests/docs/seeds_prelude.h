// SPDX-License-Identifier: Apache-2.0
//
// What the C++ spellings in docs/seeds.md refer to. Declarations alone: the spellings are compiled, not run.
#pragma once

#include <heddle/kernel/clc_scheduler.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/warp_context.h>
#include <heddle/pipeline/epilogue_load.h>
#include <heddle/pipeline/payload.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_bundle.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/pipeline/tile_pipeline.h>
#include <heddle/tile/layout.h>

#include <type_traits>
#include <utility>

namespace heddle {

using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {128, 64}, .b = {256, 64}}>;
using ScaledPayload = BlockScaledTilePayload<e4m3, e4m3, BlockScaledTileConfig{.a = {128, 128}, .b = {128, 128}}>;
using BlockwisePayload =
    BlockwiseFP8TilePayload<e4m3, e4m3, BlockwiseFP8TileConfig{.a = {128, 128}, .b = {128, 128}}>;
using OutputTiles = OutputTileStorage<bf16, k_major_tile<bf16>(128, 64, Swizzle::k128B), 2>;

inline constexpr OutputPipelineConfig opc{.num_stages = 2, .stage_stride_cols = 256};
using Context = WarpContext<WarpContextConfig{.output = opc}>;

using SourceTiles = SourceTileStorage<bf16, k_major_tile<bf16>(128, 64, Swizzle::k128B), 2>;
inline constexpr PipelineBundleConfig bundle{.input_stages = 4, .output_stages = 2, .clc_stages = 2};
inline constexpr PipelineBundleConfig bundle_without_clc{.input_stages = 4, .output_stages = 2};

using Roles = WarpRoles<Role<"epilogue", 4>, Role<"scheduler", 1>, Role<"load", 1>, Role<"mma", 1>>;
using Scheduler = ClcTileScheduler<TileSchedulerConfig{}, Roles, 2>;

struct MyKernelSmem {
  auto& a_tiles() { return input_pipeline.tiles.a_tiles(); }
  auto& c_tiles() { return output_tiles.c_tiles(); }

  InputPipelineStorage<4, Payload> input_pipeline;
  OutputTiles output_tiles;
  OutputPipelineStorage<2> output_pipeline;
};

extern MbarPtr mbar;
extern MyKernelSmem& smem;
extern const KernelContext<ClusterConfig{}> ctx;
extern Scheduler& scheduler;
extern const Payload payload;
extern const ScaledPayload scaled_payload;
extern const BlockwisePayload blockwise_payload;

extern ProducerConsumerPipeline<4>& core;
extern ProducerStage<4>& core_producer_stage;
extern ConsumerStage<4>& core_consumer_stage;

extern InputTilePipeline<Payload, 4, 2>& input;
extern InputTilePipeline<Payload, 4, 2>::BarrierArray& barrier_array;
extern InputProducer<Payload, 4, 2>& input_producer;
extern InputConsumer<Payload, 4, 2>& input_consumer;
extern InputProducerStage<Payload, 4, 2>& input_producer_stage;
extern InputConsumerStage<Payload, 4, 2>& input_consumer_stage;
extern ProducerTiles<Payload, 4, 2>& producer_tiles;
extern ConsumerTiles<Payload, 4, 2>& consumer_tiles;

extern OutputTilePipeline<opc>& output;
extern const TmemAllocation<1>& tmem;
extern MmaStage<opc>& mma_stage;
extern EpilogueStage<opc>& epilogue_stage;

extern TmemDeallocStorage& tmem_storage;
extern OutputPipelineStorage<2>& output_storage;
extern Context::MmaHandle& mma_handle;

}  // namespace heddle
