// SPDX-License-Identifier: Apache-2.0
//
// The main loop of the Hopper matmul (kernels/matmul/device/matmul_sm90.h: 128 x 256 x 64, 4 stages, clusters of
// 2), reduced to one tile: what both versions share, so that they differ only in how a stage is handed over.
#pragma once

#include <heddle/isa/cluster.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/isa/wgmma.h>
#include <heddle/pipeline/input_tile_pipeline.h>

#include <utility>

using namespace heddle;

inline constexpr std::uint32_t kStages = 4;
inline constexpr std::uint32_t kMathThreads = 256;
inline constexpr std::uint16_t kEveryone = 0x3;

using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {128, 64}, .b = {256, 64}}>;
using Backend = MbarrierBackend<kStages, PipelineScope::kClusterAsync>;
using Storage = InputPipelineStorage<kStages, Payload>;
inline constexpr WgmmaShape kWgmma{.n = 256, .a = OperandType::kBf16, .b = OperandType::kBf16};
using Sums = WgmmaAccumulators<kWgmma>;

struct Args {
  isa::TensorMap a;
  isa::TensorMap b;
  float* out;
  std::uint32_t k_blocks;
};

HEDDLE_DEVICE void load(const Args& args, const Payload& payload, std::uint32_t stage, std::uint32_t k_block,
                        MbarPtr full) {
  const auto k = static_cast<std::int32_t>(k_block * 64);
  const auto rank = static_cast<std::int32_t>(isa::cluster_ctarank());
  isa::cp_async_bulk_tensor_load(payload.get_a_tile(stage).data(), &args.a, {k, rank * 128}, full);
  isa::cp_async_bulk_tensor_load_multicast(payload.get_b_tile(stage).data() + rank * 128 * 64, &args.b,
                                           {k, rank * 128}, full, kEveryone);
}

// Starts the multiplication of a stage by one math warpgroup.
HEDDLE_DEVICE void multiply(const Payload& payload, std::uint32_t stage, Sums& sums, bool is_first) {
  const std::uint64_t a = payload.get_a_tile(stage).wgmma_descriptor(isa::warp_idx() / 4 * 64);
  const std::uint64_t b = payload.get_b_tile(stage).wgmma_descriptor();
  isa::wgmma_fence();
  HEDDLE_UNROLL
  for (std::uint32_t k = 0; k < 4; ++k) {
    isa::wgmma_mma_async<kWgmma>(sums, advanced_descriptor(a, 32 * k), advanced_descriptor(b, 32 * k),
                                 !(is_first && k == 0));
  }
  isa::wgmma_commit_group();
}

HEDDLE_DEVICE void store(const Args& args, Sums& sums) {
  isa::wgmma_wait_group<0>();
  isa::wgmma_fence_operands(sums);
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < 128; ++i) isa::st_global(args.out + i * kMathThreads + isa::tid_x(), sums[i]);
}
