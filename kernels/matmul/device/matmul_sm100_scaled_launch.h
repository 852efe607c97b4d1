// SPDX-License-Identifier: Apache-2.0
//
// From a plan to a launch, for the Blackwell matmuls with scales.
#pragma once

#include "matmul/host/matmul_sm100_scaled_configs.h"
#include "matmul/host/matmul_sm100_scaled_host.h"
#include "matmul_sm100_maps.h"

namespace heddle::inline HEDDLE_TARGET {

// A problem, and where everything is on the device; the scales as the kernels read them.
struct MatmulScaledCall {
  const MatmulScaledProblem& problem;
  const MatmulScaledPlan& plan;
  const void* a;
  const void* b;
  const void* a_scales;
  const void* b_scales;
  void* out;
};

RunOutcome launch_block_scaled(Device& device, const MatmulScaledCall& call);
RunOutcome launch_blockwise_fp8(Device& device, const MatmulScaledCall& call);

namespace sm100 {

struct ScaledOperandTypes {
  OperandType a;
  OperandType b;
};
inline ScaledOperandTypes operand_types_of(ScaledFormat format) {
  switch (format) {
    case ScaledFormat::kMxfp8E4m3:
    case ScaledFormat::kBlockwiseE4m3: return {OperandType::kE4m3, OperandType::kE4m3};
    case ScaledFormat::kMxfp8E5m2:
    case ScaledFormat::kBlockwiseE5m2: return {OperandType::kE5m2, OperandType::kE5m2};
    case ScaledFormat::kMxfp8E4m3E5m2: return {OperandType::kE4m3, OperandType::kE5m2};
    case ScaledFormat::kMxfp8E5m2E4m3: return {OperandType::kE5m2, OperandType::kE4m3};
    default: return {OperandType::kE2m1, OperandType::kE2m1};
  }
}

// Operands are rows of bytes.
inline isa::TensorMap bytes_map(const void* address, std::int64_t rows, std::uint64_t row_bytes,
                                std::uint64_t pitch_bytes, std::uint32_t box_rows) {
  return MatricesMap{.address = address,
                     .rows = rows,
                     .cols = static_cast<std::int64_t>(row_bytes),
                     .pitch = pitch_bytes,
                     .batch_stride = pitch_bytes * static_cast<std::uint64_t>(rows),
                     .box_rows = box_rows,
                     .box_cols = 128}
      .make();
}

// What all of them have: operands, output, tiles.
template <class Kernel, class Family>
typename Kernel::Params scaled_params(const MatmulScaledCall& call) {
  constexpr MatmulSm100Config config = Family::config;
  const MatmulScaledProblem& p = call.problem;
  const MatmulScaledPlan& plan = call.plan;
  typename Kernel::Params params{};
  if (p.k > 0) {
    params.operands.a =
        bytes_map(call.a, p.m, plan.row_bytes, plan.a_pitch_bytes, kSm100TileM / config.sharers_of_a());
    params.operands.instruction = Family::instruction(operand_types_of(p.format).a, operand_types_of(p.format).b);
    params.operands.b = bytes_map(call.b, p.n, plan.row_bytes, plan.b_pitch_bytes,
                                  Family::Payload::BTile::rows() / config.sharers_of_b());
  }
  const MatricesMap out{.address = call.out,
                        .rows = p.m,
                        .cols = p.n,
                        .pitch = plan.out_pitch,
                        .batch_stride = plan.out_pitch * static_cast<std::uint64_t>(p.m)};
  params.c = output_target<config.tile_n>(out, p.out_type, plan.is_ragged ? call.out : nullptr);
  params.k_blocks.all = tiles_along(static_cast<std::int64_t>(plan.row_bytes), Family::kTileK);
  params.k_blocks.share = params.k_blocks.all;
  params.scheduler = scheduler_params<Kernel>(
      {.tiles_m = tiles_along(p.m, kSm100TileM), .tiles_n = tiles_along(p.n, config.tile_n)});
  return params;
}

}  // namespace sm100

}  // namespace heddle::inline HEDDLE_TARGET
