// SPDX-License-Identifier: Apache-2.0
//
// From a plan to a launch. Each type of input has a source file of its own, which defines launch_matmul_sm100 for it.
#pragma once

#include "matmul_sm100_configs.h"
#include "matmul_sm100_host.h"

#include <heddle/host/error.h>
#include <heddle/host/tensor_map.h>
#include <heddle/isa/device.h>

#include <array>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// A problem, and where everything is on the device. With a split K, `out` is the workspace.
struct MatmulSm100Call {
  const MatmulSm100Problem& problem;
  const MatmulSm100Plan& plan;
  const void* a;
  const void* b;
  void* out;
  const void* bias;
  const void* residual;
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

constexpr std::uint32_t tiles_along(std::int64_t elems, std::uint32_t tile) {
  return static_cast<std::uint32_t>((elems + tile - 1) / tile);
}

// Matrices in a row, for boxes of box_rows x box_cols.
struct MatricesMap {
  TensorType type;
  const void* address;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t batches;
  std::uint32_t element_bytes;
  std::uint64_t pitch;         // elements
  std::uint64_t batch_stride;  // elements
  std::uint32_t box_rows;
  std::uint32_t box_cols;

  isa::TensorMap make() const {
    return make_tensor_map({.type = type,
                            .rank = 3,
                            .address = address,
                            .dims = {static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(batches)},
                            .strides = {pitch * element_bytes, batch_stride * element_bytes},
                            .box = {box_cols, box_rows, 1},
                            .swizzle = Swizzle::k128B,
                            .l2_promotion = L2Promotion::k256B});
  }
};

inline TensorType output_tensor_type(MatmulElement type) {
  return type == MatmulElement::kBf16   ? TensorType::kBF16
         : type == MatmulElement::kFp16 ? TensorType::kF16
                                        : TensorType::kF32;
}

template <std::uint32_t tile_n>
constexpr std::uint32_t chunk_cols_of(MatmulElement type) {
  return type == MatmulElement::kFp32 ? output_chunk_cols<float, tile_n>() : output_chunk_cols<bf16, tile_n>();
}

// Where the kernel stores: the output, or the workspace of a split K.
template <std::uint32_t tile_n>
OutputTarget output_target(const MatmulSm100Call& call) {
  const MatmulSm100Problem& p = call.problem;
  const MatmulSm100Plan& plan = call.plan;
  const bool is_split = p.splits > 1;
  OutputTarget target;
  target.type = is_split ? MatmulElement::kFp32 : p.output;
  target.m = static_cast<std::uint32_t>(p.m);
  target.n = static_cast<std::uint32_t>(p.n);
  target.pitch = is_split ? plan.partial_pitch : plan.out_pitch;
  target.batch_stride = is_split ? plan.partial_pitch * target.m : plan.out_batch_stride;
  target.ragged_out = plan.is_ragged ? call.out : nullptr;
  target.map = MatricesMap{.type = output_tensor_type(target.type),
                           .address = call.out,
                           .rows = p.m,
                           .cols = is_split ? static_cast<std::int64_t>(plan.partial_pitch) : p.n,
                           .batches = p.batches * p.splits,
                           .element_bytes = element_bytes_of(target.type),
                           .pitch = target.pitch,
                           .batch_stride = target.batch_stride,
                           .box_rows = kStoreTileRows,
                           .box_cols = chunk_cols_of<tile_n>(target.type)}
                   .make();
  return target;
}

template <class Kernel>
TileSchedulerParams scheduler_params(const MatmulSm100Problem& p, std::uint32_t tile_n) {
  const TileGrid grid{.tiles_m = tiles_along(p.m, kSm100TileM),
                      .tiles_n = tiles_along(p.n, tile_n),
                      .batches = static_cast<std::uint32_t>(p.batches),
                      .splits = static_cast<std::uint32_t>(p.splits)};
  if (const std::uint64_t tiles = cluster_tiles_of<Kernel::kScheduler>(grid); tiles > kMaxClusterTiles) {
    throw InputError("matmul: the output has " + std::to_string(tiles) + " tiles; a launch has at most " +
                     std::to_string(kMaxClusterTiles));
  }
  return make_tile_scheduler_params<Kernel::kScheduler>(grid);
}

template <std::uint32_t index, Element In>
RunOutcome launch_config(Device& device, const MatmulSm100Call& call) {
  constexpr MatmulSm100Named named = kMatmulSm100Configs[index];
  constexpr MatmulSm100Config config = named.config;
  using Epilogue = std::conditional_t<named.is_fused, FusedEpilogue, PlainEpilogue>;
  using Kernel = MatmulSm100<config, In, Epilogue>;
  constexpr std::uint32_t kTileK = StandardFamily<config, In>::kTileK;
  const MatmulSm100Problem& p = call.problem;
  const MatmulSm100Plan& plan = call.plan;

  const auto operand = [&](const void* address, std::int64_t rows, std::uint64_t pitch, std::uint64_t batch_stride,
                           std::uint32_t box_rows) {
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
    params.operands.a = operand(call.a, p.m, plan.a_pitch, plan.a_batch_stride, kSm100TileM / config.sharers_of_a());
    params.operands.b = operand(call.b, p.n, plan.b_pitch, plan.b_batch_stride,
                                Kernel::Payload::BTile::rows() / config.sharers_of_b());
  }
  params.c = output_target<config.tile_n>(call);
  params.k_blocks.all = tiles_along(p.k, kTileK);
  params.k_blocks.share = tiles_along(params.k_blocks.all, static_cast<std::uint32_t>(p.splits));
  params.scheduler = scheduler_params<Kernel>(p, config.tile_n);
  if constexpr (named.is_fused) {
    if (p.splits == 1) {
      params.has_residual = call.residual != nullptr;
      params.epilogue.alpha = p.alpha;
      params.epilogue.bias = call.bias;
      params.epilogue.activation = p.activation;
    }
    if (params.has_residual) {
      params.residual = MatricesMap{.type = output_tensor_type(p.output),
                                    .address = call.residual,
                                    .rows = p.m,
                                    .cols = p.n,
                                    .batches = p.batches,
                                    .element_bytes = element_bytes_of(p.output),
                                    .pitch = plan.residual_pitch,
                                    .batch_stride = plan.residual_batch_stride,
                                    .box_rows = kSm100TileM,
                                    .box_cols = chunk_cols_of<config.tile_n>(p.output)}
                            .make();
    }
  }
  const std::uint32_t ctas = device.resident_clusters<Kernel>(config.cluster.size()) * config.cluster.size();
  return device.launch<Kernel>(Kernel::Scheduler::launch_shape(params.scheduler, ctas), params);
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
