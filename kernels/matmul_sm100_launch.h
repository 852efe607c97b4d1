// SPDX-License-Identifier: Apache-2.0
//
// From a plan to a launch. Each type of input has a source file of its own, which defines launch_matmul_sm100 for
// it.
#pragma once

#include "matmul_sm100_configs.h"
#include "matmul_sm100_host.h"
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

template <Element In>
RunOutcome launch_matmul_sm100(Device& device, const MatmulSm100Call& call);

template <>
RunOutcome launch_matmul_sm100<bf16>(Device&, const MatmulSm100Call&);
template <>
RunOutcome launch_matmul_sm100<fp16>(Device&, const MatmulSm100Call&);
template <>
RunOutcome launch_matmul_sm100<tf32>(Device&, const MatmulSm100Call&);
template <>
RunOutcome launch_matmul_sm100<e4m3>(Device&, const MatmulSm100Call&);
template <>
RunOutcome launch_matmul_sm100<e5m2>(Device&, const MatmulSm100Call&);

namespace sm100 {

// Where the kernel stores: the output, or the workspace of a split K.
template <std::uint32_t tile_n>
OutputTarget output_target(const MatmulSm100Call& call) {
  const MatmulProblem& p = call.problem;
  const MatmulSm100Plan& plan = call.plan;
  MatricesMap map{.address = call.out, .rows = p.m, .cols = p.n, .batches = p.batches * p.splits};
  if (p.splits > 1) {
    map.cols = static_cast<std::int64_t>(plan.partial_pitch);
    map.pitch = plan.partial_pitch;
    map.batch_stride = plan.partial_pitch * static_cast<std::uint64_t>(p.m);
    return output_target<tile_n>(map, MatmulElement::kFp32, nullptr);
  }
  map.pitch = plan.out_pitch;
  map.batch_stride = plan.out_batch_stride;
  return output_target<tile_n>(map, p.out_type, plan.is_ragged ? call.out : nullptr);
}

template <std::uint32_t index, Element In>
RunOutcome launch_config(Device& device, const MatmulSm100Call& call) {
  constexpr MatmulSm100Named named = kMatmulSm100Configs[index];
  constexpr MatmulSm100Config config = named.config;
  using Epilogue = std::conditional_t<named.is_fused, FuseSums, StoreSums>;
  using Kernel = MatmulSm100<config, In, Epilogue>;
  constexpr std::uint32_t kTileK = StandardFamily<config, In>::kTileK;
  const MatmulProblem& p = call.problem;
  const MatmulSm100Plan& plan = call.plan;

  const auto operand = [&](const void* address, std::int64_t rows, std::uint64_t pitch,
                           std::uint64_t batch_stride, std::uint32_t box_rows) {
    return MatricesMap{.type = tensor_type<In>,
                       .address = address,
                       .rows = rows,
                       .cols = p.k,
                       .batches = p.batches,
                       .element_bytes = sizeof(In),
                       .pitch = pitch,
                       .batch_stride = batch_stride,
                       .box_rows = box_rows,
                       .box_cols = kTileK}
        .make();
  };
  typename Kernel::Params params{};
  if (p.k > 0) {  // otherwise there is nothing to copy
    params.operands.a =
        operand(call.a, p.m, plan.a_pitch, plan.a_batch_stride, kSm100TileM / config.sharers_of_a());
    params.operands.b = operand(call.b, p.n, plan.b_pitch, plan.b_batch_stride,
                                Kernel::Payload::BTile::rows() / config.sharers_of_b());
  }
  params.c = output_target<config.tile_n>(call);
  params.k_blocks.all = tiles_along(p.k, kTileK);
  params.k_blocks.share = tiles_along(params.k_blocks.all, static_cast<std::uint32_t>(p.splits));
  params.scheduler = scheduler_params<Kernel>({.tiles_m = tiles_along(p.m, kSm100TileM),
                                               .tiles_n = tiles_along(p.n, config.tile_n),
                                               .batches = static_cast<std::uint32_t>(p.batches),
                                               .splits = static_cast<std::uint32_t>(p.splits)});
  if constexpr (named.is_fused) {
    if (p.splits == 1) {
      params.has_residual = call.residual != nullptr;
      params.epilogue.alpha = p.alpha;
      params.epilogue.bias = call.bias;
      params.epilogue.activation = p.activation;
    }
    if (params.has_residual) {
      params.residual = MatricesMap{.type = output_tensor_type(p.out_type),
                                    .address = call.residual,
                                    .rows = p.m,
                                    .cols = p.n,
                                    .batches = p.batches,
                                    .element_bytes = element_bytes_of(p.out_type),
                                    .pitch = plan.residual_pitch,
                                    .batch_stride = plan.residual_batch_stride,
                                    .box_rows = kSm100TileM,
                                    .box_cols = chunk_cols_of<config.tile_n>(p.out_type)}
                            .make();
    }
  }
  return launch<Kernel>(device, params, call.stream);
}

template <Element In>
RunOutcome launch_any(Device& device, const MatmulSm100Call& call) {
  using Launch = RunOutcome (*)(Device&, const MatmulSm100Call&);
  constexpr auto launches = []<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
    return std::array<Launch, sizeof...(i)>{launch_config<i, In>...};
  }
  (std::make_integer_sequence<std::uint32_t, kMatmulSm100ConfigCount>());
  return launches[call.plan.config](device, call);
}

}  // namespace sm100

}  // namespace heddle::inline HEDDLE_TARGET
