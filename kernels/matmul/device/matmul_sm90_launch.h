// SPDX-License-Identifier: Apache-2.0
//
// From a plan to a launch. The units that hold instances, of which CMake makes one for each group, define their
// part of the table with launches_of_group; matmul_sm90.cu puts the parts together.
#pragma once

#include "matmul/host/matmul_launch.h"
#include "matmul_sm90_instances.h"
#include "matmul_sm90_params.h"

#include <array>
#include <type_traits>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

struct MatmulSm90Launches {
  std::array<MatmulLaunch, kMatmulSm90InstanceCount> bf16{};
  std::array<MatmulLaunch, kMatmulSm90InstanceCount> fp16{};
};

// The unit of the group has it: see matmul_sm90_unit.cu.in.
template <MatmulGroup group>
void add_launches(MatmulSm90Launches& launches);

// Null where the instance belongs to another group.
template <MatmulGroup group, Element In>
constexpr std::array<MatmulLaunch, kMatmulSm90InstanceCount> launches_of_group();

namespace detail {

template <std::uint32_t instance, Element In>
RunOutcome launch_instance(Device& device, const MatmulCall& call) {
  constexpr MatmulSm90Config config = kMatmulSm90Instances[instance].config;
  constexpr bool has_epilogue = has_fused_epilogue(kMatmulSm90Instances[instance]);
  using Kernel = MatmulSm90<config, In, std::conditional_t<has_epilogue, FusedEpilogue, PlainEpilogue>>;
  const MatmulOperands operands = operands_of(call);
  auto params = matmul_sm90_params<Kernel>(config.is_swapped ? swapped(operands) : operands);
  if constexpr (has_epilogue) {
    if (!call.plan.adds_up()) params.epilogue = epilogue_of(call);
  }
  return launch_matmul<Kernel>(device, params, operands.is_dependent, call.stream);
}

template <MatmulGroup group, std::uint32_t instance, Element In>
constexpr MatmulLaunch launch_if_of_group() {
  if constexpr (kMatmulSm90Instances[instance].group == group &&
                is_compiled(kMatmulSm90Instances[instance], kIsSimulated)) {
    return launch_instance<instance, In>;
  } else {
    return nullptr;
  }
}

template <MatmulGroup group, Element In, std::size_t... i>
constexpr std::array<MatmulLaunch, sizeof...(i)> launches(std::index_sequence<i...>) {
  return {launch_if_of_group<group, static_cast<std::uint32_t>(i), In>()...};
}

template <std::size_t count>
void add(std::array<MatmulLaunch, count>& to, const std::array<MatmulLaunch, count>& from) {
  for (std::size_t i = 0; i < count; ++i) {
    if (from[i] != nullptr) to[i] = from[i];
  }
}

}  // namespace detail

template <MatmulGroup group, Element In>
constexpr std::array<MatmulLaunch, kMatmulSm90InstanceCount> launches_of_group() {
  return detail::launches<group, In>(std::make_index_sequence<kMatmulSm90InstanceCount>());
}

}  // namespace heddle::inline HEDDLE_TARGET
