// SPDX-License-Identifier: Apache-2.0
//
// From a plan to a launch. The kernels of each kind of multiplication have source files of their own.
#pragma once

#include "matmul/host/matmul_launch.h"
#include "matmul/host/matmul_sm100_configs.h"
#include "matmul/host/matmul_sm100_host.h"
#include "matmul_sm100_params.h"

#include <array>
#include <type_traits>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// By the kind of multiplication. The second of two takes operands that are not both K-major.
RunOutcome launch_sm100_f16(Device& device, const MatmulCall& call);
RunOutcome launch_sm100_layouts(Device& device, const MatmulCall& call);
RunOutcome launch_sm100_fp8(Device& device, const MatmulCall& call);
RunOutcome launch_sm100_fp8_layouts(Device& device, const MatmulCall& call);
RunOutcome launch_sm100_tf32(Device& device, const MatmulCall& call);
RunOutcome launch_sm100_tf32_layouts(Device& device, const MatmulCall& call);

namespace sm100 {

inline OperandMajors majors_of(const MatmulProblem& problem) {
  const auto major = [](OperandLayout layout) {
    return layout == OperandLayout::kKMajor ? Major::kK : Major::kMN;
  };
  return {major(problem.a_layout), major(problem.b_layout)};
}

inline OperandType operand_type_of(MatmulElement type) {
  switch (type) {
    case MatmulElement::kBf16: return OperandType::kBf16;
    case MatmulElement::kFp16: return OperandType::kF16;
    case MatmulElement::kE4m3: return OperandType::kE4m3;
    case MatmulElement::kE5m2: return OperandType::kE5m2;
    default: return OperandType::kTf32;
  }
}

// What the epilogue reads beside the sums: C as it was, or a residual, which has the output's shape.
template <class Kernel>
isa::TensorMap source_map(MatmulOutput out, const void* address, std::uint64_t pitch,
                          std::uint64_t batch_stride) {
  out.address = const_cast<void*>(address);  // only read through this map
  out.pitch = pitch;
  out.batch_stride = batch_stride;
  return out.map(3, kSm100TileM, chunk_cols_of<Kernel::config.tile_n>(out.element_bytes()), L2Promotion::k256B);
}

template <std::uint32_t index, MmaKind kind, OperandMajors majors>
RunOutcome launch_config(Device& device, const MatmulCall& call) {
  constexpr MatmulSm100Named named = kMatmulSm100Configs[index];
  using Family = StandardFamily<named.config, kind, majors>;
  using Kernel = MatmulSm100Frame<Family, std::conditional_t<named.is_fused, FuseSums, PlainEpilogue>>;
  const MatmulProblem& p = call.problem;
  const MatmulPlan& plan = call.plan;
  const MatmulOperands operands = operands_of(call);
  auto params = matmul_sm100_params<Kernel>(operands);
  params.operands.instruction = Family::instruction(operand_type_of(p.a_type), operand_type_of(p.b_type));
  if constexpr (named.is_fused) {
    if (plan.stored_parts() == 1) {
      params.has_c_before = p.beta != 0;
      params.has_residual = call.tensors.residual != nullptr;
      params.epilogue = {.alpha = p.alpha, .beta = p.beta, .bias = call.tensors.bias, .activation = p.activation};
    }
    if (params.has_c_before) {
      params.c_before = source_map<Kernel>(operands.out, call.tensors.out, plan.out_pitch, plan.out_batch_stride);
    }
    if (params.has_residual) {
      params.residual = source_map<Kernel>(operands.out, call.tensors.residual, plan.residual_pitch,
                                           plan.residual_batch_stride);
    }
  }
  return launch_matmul<Kernel>(device, params, p.is_dependent, call.stream);
}

// Null: the library does not hold this kernel, and plan_matmul_sm100 has refused it.
template <std::uint32_t index, MmaKind kind, OperandMajors majors>
constexpr MatmulLaunch launch_of() {
  if constexpr (majors == OperandMajors{} || kMatmulSm100Configs[index].has_layouts) {
    return launch_config<index, kind, majors>;
  }
  return nullptr;
}

template <MmaKind kind, OperandMajors majors = OperandMajors{}>
RunOutcome launch_any(Device& device, const MatmulCall& call) {
  constexpr auto launches = []<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
    return std::array<MatmulLaunch, sizeof...(i)>{launch_of<i, kind, majors>()...};
  }
  (std::make_integer_sequence<std::uint32_t, kMatmulSm100ConfigCount>());
  return launches[call.plan.choice.instance](device, call);
}

template <MmaKind kind>
RunOutcome launch_layouts(Device& device, const MatmulCall& call) {
  const OperandMajors majors = majors_of(call.problem);
  if (majors.b == Major::kK) return launch_any<kind, OperandMajors{.a = Major::kMN}>(device, call);
  if (majors.a == Major::kK) return launch_any<kind, OperandMajors{.b = Major::kMN}>(device, call);
  return launch_any<kind, OperandMajors{Major::kMN, Major::kMN}>(device, call);
}

}  // namespace sm100

}  // namespace heddle::inline HEDDLE_TARGET
