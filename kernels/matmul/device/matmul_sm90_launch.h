// SPDX-License-Identifier: Apache-2.0
//
// From a plan to a launch. The source files that hold instances define their part of the table with
// launches_of_group; matmul_sm90.cu puts the parts together.
#pragma once

#include "matmul/host/matmul_on_device.h"
#include "matmul/host/matmul_sm90_plan.h"
#include "matmul_sm90_instances.h"
#include "matmul_sm90_params.h"

#include <heddle/isa/device.h>

#include <algorithm>
#include <array>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// Everything that a launch needs.
struct MatmulSm90Call {
  const MatmulProblem* problem;
  const MatmulTensors* tensors;
  const MatmulSm90Plan* plan;
  void* stream;
};

using MatmulSm90Launch = RunOutcome (*)(Device& device, const MatmulSm90Call& call);

struct MatmulSm90Launches {
  std::array<MatmulSm90Launch, kMatmulSm90InstanceCount> bf16{};
  std::array<MatmulSm90Launch, kMatmulSm90InstanceCount> fp16{};
};

template <MatmulGroup group>
void add_launches(MatmulSm90Launches& launches);

template <>
void add_launches<MatmulGroup::kLarge>(MatmulSm90Launches& launches);
template <>
void add_launches<MatmulGroup::kSmall>(MatmulSm90Launches& launches);
template <>
void add_launches<MatmulGroup::kSwapped>(MatmulSm90Launches& launches);
template <>
void add_launches<MatmulGroup::kFused>(MatmulSm90Launches& launches);
template <>
void add_launches<MatmulGroup::kFusedKn>(MatmulSm90Launches& launches);
template <>
void add_launches<MatmulGroup::kSimulated>(MatmulSm90Launches& launches);

// Null where the instance belongs to another group.
template <MatmulGroup group, Element In>
constexpr std::array<MatmulSm90Launch, kMatmulSm90InstanceCount> launches_of_group();

inline FusedEpilogue::Params matmul_epilogue(const MatmulProblem& problem, const MatmulTensors& tensors,
                                             const MatmulSm90Plan& plan) {
  return {.alpha = problem.alpha,
          .beta = problem.beta,
          .c = problem.beta != 0 ? tensors.out : nullptr,
          .bias = tensors.bias,
          .residual = tensors.residual,
          .c_pitch = plan.out_pitch,
          .residual_pitch = plan.residual_pitch,
          .activation = problem.activation,
          .ragged_out = plan.is_ragged ? tensors.out : nullptr};
}

namespace detail {

inline MatmulSm90Output output_matrix(const MatmulSm90Call& call) {
  const MatmulProblem& problem = *call.problem;
  const MatmulSm90Plan& plan = *call.plan;
  if (plan.stored_parts() == 1) {
    return {problem.out_type, call.tensors->out, static_cast<std::uint64_t>(problem.m),
            static_cast<std::uint64_t>(problem.n), plan.out_pitch};
  }
  return {MatmulElement::kFp32, call.tensors->workspace, std::uint64_t{plan.stored_parts()} * plan.partial_rows,
          plan.partial_pitch, plan.partial_pitch};
}

template <std::uint32_t instance, Element In>
RunOutcome launch_instance(Device& device, const MatmulSm90Call& call) {
  constexpr MatmulSm90Config config = kMatmulSm90Instances[instance].config;
  constexpr bool has_epilogue = has_fused_epilogue(kMatmulSm90Instances[instance]);
  using Epilogue = std::conditional_t<has_epilogue, FusedEpilogue, PlainEpilogue>;
  using Kernel = MatmulSm90<config, In, Epilogue>;
  const MatmulProblem& problem = *call.problem;
  const MatmulTensors& tensors = *call.tensors;
  const MatmulSm90Plan& plan = *call.plan;
  MatmulSm90Operands operands{.m = static_cast<std::uint32_t>(problem.m),
                              .n = static_cast<std::uint32_t>(problem.n),
                              .k = static_cast<std::uint32_t>(problem.k),
                              .a = tensors.a,
                              .b = tensors.b,
                              .a_pitch = plan.a_pitch,
                              .b_pitch = plan.b_pitch,
                              .out = output_matrix(call),
                              .splits = plan.choice.splits,
                              .is_joined = plan.is_joined,
                              .split_rows = plan.stored_parts() == 1 ? 0 : plan.partial_rows,
                              .group = plan.choice.group,
                              .bands_along_m = plan.choice.bands_along_m};
  if constexpr (config.is_swapped) operands = swapped(operands);
  auto params = matmul_sm90_params<Kernel>(operands);
  if constexpr (has_epilogue) {
    if (plan.stored_parts() == 1) params.epilogue = matmul_epilogue(problem, tensors, plan);
  }
  return launch_matmul_sm90<Kernel>(device, params, problem.is_dependent, call.stream);
}

template <MatmulGroup group, std::uint32_t instance, Element In>
constexpr MatmulSm90Launch launch_if_of_group() {
  if constexpr (kMatmulSm90Instances[instance].group == group &&
                is_compiled(kMatmulSm90Instances[instance], kIsSimulated)) {
    return launch_instance<instance, In>;
  } else {
    return nullptr;
  }
}

template <MatmulGroup group, Element In, std::size_t... i>
constexpr std::array<MatmulSm90Launch, sizeof...(i)> launches(std::index_sequence<i...>) {
  return {launch_if_of_group<group, static_cast<std::uint32_t>(i), In>()...};
}

template <std::size_t count>
void add(std::array<MatmulSm90Launch, count>& to, const std::array<MatmulSm90Launch, count>& from) {
  for (std::size_t i = 0; i < count; ++i) {
    if (from[i] != nullptr) to[i] = from[i];
  }
}

}  // namespace detail

template <MatmulGroup group, Element In>
constexpr std::array<MatmulSm90Launch, kMatmulSm90InstanceCount> launches_of_group() {
  return detail::launches<group, In>(std::make_index_sequence<kMatmulSm90InstanceCount>());
}

}  // namespace heddle::inline HEDDLE_TARGET
