// SPDX-License-Identifier: Apache-2.0
//
// From a plan to a launch. The kernels of each kind of multiplication have source files of their own.
#pragma once

#include "matmul/host/matmul_sm100_configs.h"
#include "matmul/host/matmul_sm100_host.h"
#include "matmul_sm100_maps.h"

#include <array>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// A problem, and where everything is on the device. With a split K, `out` is the workspace.
struct MatmulSm100Call {
  const MatmulProblem& problem;
  const MatmulSm100Plan& plan;
  const void* a;
  const void* b;
  void* out;
  const void* bias;
  const void* residual;
  void* stream = nullptr;
};

// By the kind of multiplication. The second of two takes operands that are not both K-major.
RunOutcome launch_sm100_f16(Device& device, const MatmulSm100Call& call);
RunOutcome launch_sm100_f16_layouts(Device& device, const MatmulSm100Call& call);
RunOutcome launch_sm100_fp8(Device& device, const MatmulSm100Call& call);
RunOutcome launch_sm100_fp8_layouts(Device& device, const MatmulSm100Call& call);
RunOutcome launch_sm100_tf32(Device& device, const MatmulSm100Call& call);
RunOutcome launch_sm100_tf32_layouts(Device& device, const MatmulSm100Call& call);

namespace sm100 {

inline Major major_of(OperandLayout layout) { return layout == OperandLayout::kKMajor ? Major::kK : Major::kMN; }
inline OperandMajors majors_of(const MatmulProblem& problem) {
  return {major_of(problem.a_layout), major_of(problem.b_layout)};
}

inline TensorType tensor_type_of(MatmulElement type) {
  switch (type) {
    case MatmulElement::kBf16: return tensor_type<bf16>;
    case MatmulElement::kFp16: return tensor_type<fp16>;
    case MatmulElement::kTf32: return tensor_type<tf32>;
    default: return tensor_type<e4m3>;
  }
}

// Where the kernel stores: the output, or the workspace of a split K.
template <std::uint32_t tile_n, std::uint32_t tile_m>
OutputTarget output_target(const MatmulSm100Call& call) {
  const MatmulProblem& p = call.problem;
  const MatmulSm100Plan& plan = call.plan;
  MatricesMap map{.address = call.out, .rows = p.m, .cols = p.n, .batches = p.batches * p.splits};
  if (p.splits > 1) {
    map.cols = static_cast<std::int64_t>(plan.partial_pitch);
    map.pitch = plan.partial_pitch;
    map.batch_stride = plan.partial_pitch * static_cast<std::uint64_t>(p.m);
    return output_target<tile_n, tile_m>(map, MatmulElement::kFp32, nullptr);
  }
  map.pitch = plan.out_pitch;
  map.batch_stride = plan.out_batch_stride;
  return output_target<tile_n, tile_m>(map, p.out_type, plan.is_ragged ? call.out : nullptr);
}

// A matrix of an operand whose tile has this layout; [rows, cols] as it is stored.
template <class Tile>
isa::TensorMap operand_map(const MatmulSm100Call& call, const void* address, MatmulElement type,
                           std::int64_t rows, std::int64_t cols, std::uint64_t pitch, std::uint64_t batch_stride,
                           std::uint32_t sharers) {
  constexpr Layout layout = Tile::layout;
  return MatricesMap{.type = tensor_type_of(type),
                     .address = address,
                     .rows = rows,
                     .cols = cols,
                     .batches = call.problem.batches,
                     .element_bytes = layout.element_bytes,
                     .pitch = pitch,
                     .batch_stride = batch_stride,
                     .box_rows = Tile::rows() / sharers,
                     .box_cols = layout.panel_elems,
                     .swizzle = layout.swizzle}
      .make();
}

template <std::uint32_t index, MmaKind kind, OperandMajors majors>
RunOutcome launch_config(Device& device, const MatmulSm100Call& call) {
  constexpr MatmulSm100Named named = kMatmulSm100Configs[index];
  constexpr MatmulSm100Config config = named.config;
  using Epilogue = std::conditional_t<named.is_fused, FuseSums, PlainEpilogue>;
  using Family = StandardFamily<config, kind, majors>;
  using Kernel = MatmulSm100Frame<Family, Epilogue>;
  const MatmulProblem& p = call.problem;
  const MatmulSm100Plan& plan = call.plan;

  typename Kernel::Params params{};
  if (p.k > 0) {  // otherwise there is nothing to copy
    constexpr bool is_a_k = majors.a == Major::kK;
    constexpr bool is_b_k = majors.b == Major::kK;
    params.operands.a = operand_map<typename Family::Payload::ATile>(call, call.a, p.a_type, is_a_k ? p.m : p.k,
                                                                     is_a_k ? p.k : p.m, plan.a_pitch,
                                                                     plan.a_batch_stride, config.sharers_of_a());
    params.operands.b = operand_map<typename Family::Payload::BTile>(call, call.b, p.b_type, is_b_k ? p.n : p.k,
                                                                     is_b_k ? p.k : p.n, plan.b_pitch,
                                                                     plan.b_batch_stride, config.sharers_of_b());
    params.operands.instruction = Family::instruction(operand_type_of(p.a_type), operand_type_of(p.b_type));
  }
  params.c = output_target<config.tile_n, config.tile_m>(call);
  params.k_blocks.all = tiles_along(p.k, Family::kTileK);
  params.k_blocks.share = tiles_along(params.k_blocks.all, static_cast<std::uint32_t>(p.splits));
  params.scheduler = scheduler_params<Kernel>({.tiles_m = tiles_along(p.m, config.tile_m),
                                               .tiles_n = tiles_along(p.n, config.tile_n),
                                               .batches = static_cast<std::uint32_t>(p.batches),
                                               .splits = static_cast<std::uint32_t>(p.splits)});
  if constexpr (named.is_fused) {
    if (p.splits == 1) {
      params.has_c_before = p.beta != 0;
      params.has_residual = call.residual != nullptr;
      params.epilogue.alpha = p.alpha;
      params.epilogue.beta = p.beta;
      params.epilogue.bias = call.bias;
      params.epilogue.activation = p.activation;
    }
    const auto source = [&](const void* address, std::uint64_t pitch, std::uint64_t batch_stride) {
      return MatricesMap{.type = output_tensor_type(p.out_type),
                         .address = address,
                         .rows = p.m,
                         .cols = p.n,
                         .batches = p.batches,
                         .element_bytes = element_bytes_of(p.out_type),
                         .pitch = pitch,
                         .batch_stride = batch_stride,
                         .box_rows = kSm100TileM,
                         .box_cols = chunk_cols_of<config.tile_n>(p.out_type)}
          .make();
    };
    if (params.has_c_before) params.c_before = source(call.out, plan.out_pitch, plan.out_batch_stride);
    if (params.has_residual) {
      params.residual = source(call.residual, plan.residual_pitch, plan.residual_batch_stride);
    }
  }
  return launch<Kernel>(device, params, p.is_dependent, call.stream);
}

// Null: the library does not hold this kernel, and plan_matmul_sm100 has refused it.
using Launch = RunOutcome (*)(Device&, const MatmulSm100Call&);
template <std::uint32_t index, MmaKind kind, OperandMajors majors>
constexpr Launch launch_of() {
  if constexpr (majors == OperandMajors{} || kMatmulSm100Configs[index].has_layouts) {
    return launch_config<index, kind, majors>;
  }
  return nullptr;
}

template <MmaKind kind, OperandMajors majors = OperandMajors{}>
RunOutcome launch_any(Device& device, const MatmulSm100Call& call) {
  constexpr auto launches = []<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
    return std::array<Launch, sizeof...(i)>{launch_of<i, kind, majors>()...};
  }
  (std::make_integer_sequence<std::uint32_t, kMatmulSm100ConfigCount>());
  return launches[call.plan.config](device, call);
}

template <MmaKind kind>
RunOutcome launch_layouts(Device& device, const MatmulSm100Call& call) {
  const OperandMajors majors = majors_of(call.problem);
  if (majors.b == Major::kK) return launch_any<kind, OperandMajors{.a = Major::kMN}>(device, call);
  if (majors.a == Major::kK) return launch_any<kind, OperandMajors{.b = Major::kMN}>(device, call);
  return launch_any<kind, OperandMajors{Major::kMN, Major::kMN}>(device, call);
}

}  // namespace sm100

}  // namespace heddle::inline HEDDLE_TARGET
