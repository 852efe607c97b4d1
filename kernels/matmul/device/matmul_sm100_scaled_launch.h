// SPDX-License-Identifier: Apache-2.0
//
// From a plan to a launch, for the Blackwell matmuls with scales.
#pragma once

#include "matmul/host/matmul_sm100_scaled_configs.h"
#include "matmul/host/matmul_sm100_scaled_host.h"
#include "matmul_sm100_params.h"

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

// With rows in groups, from host memory.
RunOutcome run_grouped_scaled(const MatmulScaledProblem& problem, const MatmulScaledPlan& plan,
                              const MatmulScaledTensors& tensors, const RunOptions& options);

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

// What all of them have: operands, which are rows of bytes, output and tiles.
template <class Kernel>
typename Kernel::Params scaled_params(const MatmulScaledCall& call) {
  const MatmulScaledProblem& p = call.problem;
  const MatmulScaledPlan& plan = call.plan;
  const auto m = static_cast<std::uint64_t>(p.m);
  const auto n = static_cast<std::uint64_t>(p.n);
  auto params = matmul_sm100_params<Kernel>(
      {.m = static_cast<std::uint32_t>(p.m),
       .n = static_cast<std::uint32_t>(p.n),
       .k = static_cast<std::uint32_t>(plan.row_bytes),
       .a = {.address = call.a, .rows = m, .cols = plan.row_bytes, .pitch = plan.a_pitch_bytes},
       .b = {.address = call.b, .rows = n, .cols = plan.row_bytes, .pitch = plan.b_pitch_bytes},
       .out = {.type = p.out_type,
               .address = call.out,
               .rows = m,
               .cols = n,
               .pitch = plan.out_pitch,
               .is_ragged = plan.is_ragged}});
  const ScaledOperandTypes types = operand_types_of(p.format);
  params.operands.instruction = Kernel::FamilyType::instruction(types.a, types.b);
  return params;
}

}  // namespace sm100

}  // namespace heddle::inline HEDDLE_TARGET
