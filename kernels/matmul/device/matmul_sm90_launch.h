// SPDX-License-Identifier: Apache-2.0
//
// From a plan to a launch. The source files that hold instances define their part of the table with
// launches_of_group; matmul_sm90.cu puts the parts together.
#pragma once

#include "matmul/host/matmul_on_device.h"
#include "matmul/host/matmul_sm90_plan.h"
#include "matmul_sm90_instances.h"

#include <heddle/host/tensor_map.h>
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

template <Element In>
isa::TensorMap operand_map(const void* address, std::uint64_t rows, std::uint64_t cols, std::uint64_t pitch,
                           std::uint32_t box_rows) {
  return tensor_map_2d({.type = tensor_type<In>,
                        .address = address,
                        .rows = rows,
                        .cols = cols,
                        .row_bytes = pitch * sizeof(In),
                        .box_rows = box_rows,
                        .box_cols = 64,
                        .swizzle = Swizzle::k128B,
                        .l2_promotion = L2Promotion::k128B});
}

// What the kernel stores to: the output, or the workspace of a split K.
struct OutputMatrix {
  MatmulElement type;
  void* address;
  std::uint64_t rows;
  std::uint64_t cols;
  std::uint64_t pitch;

  std::uint32_t panel_cols() const { return type == MatmulElement::kFp32 ? 32 : 64; }
  isa::TensorMap map(std::uint32_t box_cols) const {
    return tensor_map_2d({.type = type == MatmulElement::kFp32   ? TensorType::kF32
                                  : type == MatmulElement::kBf16 ? TensorType::kBF16
                                                                 : TensorType::kF16,
                          .address = address,
                          .rows = rows,
                          .cols = cols,
                          .row_bytes = pitch * (type == MatmulElement::kFp32 ? 4 : 2),
                          .box_rows = 16,
                          .box_cols = box_cols,
                          .swizzle = Swizzle::k128B});
  }
};

inline OutputMatrix output_matrix(const MatmulSm90Call& call) {
  const MatmulProblem& problem = *call.problem;
  const MatmulSm90Plan& plan = *call.plan;
  if (plan.choice.splits == 1) {
    return {problem.out_type, call.tensors->out, static_cast<std::uint64_t>(problem.m),
            static_cast<std::uint64_t>(problem.n), plan.out_pitch};
  }
  return {MatmulElement::kFp32, call.tensors->workspace, std::uint64_t{plan.choice.splits} * plan.partial_rows,
          plan.partial_pitch, plan.partial_pitch};
}

constexpr std::uint32_t tiles_along(std::int64_t elems, std::uint32_t tile) {
  return static_cast<std::uint32_t>((elems + tile - 1) / tile);
}

template <std::uint32_t instance, Element In>
RunOutcome launch_instance(Device& device, const MatmulSm90Call& call) {
  constexpr MatmulSm90Config config = kMatmulSm90Instances[instance].config;
  constexpr MatmulGroup group = kMatmulSm90Instances[instance].group;
  constexpr bool has_epilogue = has_fused_epilogue(group);
  using Epilogue = std::conditional_t<has_epilogue, FusedEpilogue, PlainEpilogue>;
  using Kernel = MatmulSm90<config, In, Epilogue>;
  const MatmulProblem& problem = *call.problem;
  const MatmulTensors& tensors = *call.tensors;
  const MatmulSm90Plan& plan = *call.plan;
  const auto m = static_cast<std::uint32_t>(problem.m);
  const auto n = static_cast<std::uint32_t>(problem.n);
  const auto k = static_cast<std::uint32_t>(problem.k);

  typename Kernel::Params params{};
  const std::uint32_t m_tiles = tiles_along(m, config.tile_m);
  const std::uint32_t n_tiles = tiles_along(n, config.tile_n);
  const std::uint32_t a_left = Kernel::rows_inside((m_tiles - 1) * config.tile_m, m, config.tile_m);
  const std::uint32_t b_left = Kernel::b_inside((n_tiles - 1) * config.tile_n, n);
  // Where clusters reach beyond the last tile, some CTA copies nothing.
  params.a_kept = m_tiles % config.cluster_m != 0 ? 0 : a_left;
  params.b_kept = n_tiles % config.cluster_n != 0 ? 0 : b_left;
  params.a_is_short = m_tiles == 1 && config.cluster_m == 1 && a_left < config.tile_m;
  const auto map_a = [&](std::uint32_t box_rows) {
    return operand_map<In>(tensors.a, m, k, plan.a_pitch, box_rows);
  };
  params.a = map_a(Kernel::kRowsOfA);
  params.a_edge = a_left % Kernel::kRowsOfA == 0 ? params.a : map_a(a_left % Kernel::kRowsOfA);
  if constexpr (config.b_major == Major::kK) {
    const auto map_b = [&](std::uint32_t box_rows) {
      return operand_map<In>(tensors.b, n, k, plan.b_pitch, box_rows);
    };
    params.b = map_b(Kernel::kRowsOfB);
    params.b_edge = b_left % Kernel::kRowsOfB == 0 ? params.b : map_b(b_left % Kernel::kRowsOfB);
  } else {
    params.b = operand_map<In>(tensors.b, k, n, plan.b_pitch, config.tile_k);
    params.b_edge = params.b;
  }
  const OutputMatrix out = output_matrix(call);
  const std::uint32_t tail_cols = config.tile_n % out.panel_cols();
  params.c = out.map(out.panel_cols());
  params.c_tail = tail_cols == 0 ? params.c : out.map(tail_cols);
  params.scheduler = make_tile_scheduler_params<Kernel::kScheduler>(
      {.tiles_m = m_tiles,
       .tiles_n = n_tiles,
       .splits = plan.choice.splits,
       .group = plan.choice.group,
       .raster = plan.choice.bands_along_m ? Raster::kAlongM : Raster::kAlongN});
  // The parts of a split K are equal: the last one multiplies zeros behind the end of K.
  params.k_blocks = tiles_along(tiles_along(k, config.tile_k), plan.choice.splits);
  params.split_rows = plan.choice.splits == 1 ? 0 : plan.partial_rows;
  params.m = m;
  params.n = n;
  params.output = out.type;
  if constexpr (has_epilogue) {
    if (plan.choice.splits == 1) params.epilogue = matmul_epilogue(problem, tensors, plan);
  }
  const std::uint32_t resident = resident_clusters<Kernel>(device, config.cluster());
  if (resident == 0) return cannot_run(config.cluster());
  LaunchShape shape = persistent_launch_shape<Kernel::kScheduler>(params.scheduler, resident * config.cluster());
  shape.is_dependent = problem.is_dependent;
  return device.enqueue<Kernel>(shape, params, call.stream);
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
