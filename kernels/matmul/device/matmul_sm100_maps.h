// SPDX-License-Identifier: Apache-2.0
//
// What the hosts of all Blackwell matmuls need for a launch: tensor maps of matrices, the target of C, the tiles.
#pragma once

#include "matmul/host/matmul_on_device.h"
#include "matmul/host/matmul_sm100_host.h"
#include "matmul_sm100_parts.h"

#include <heddle/host/error.h>
#include <heddle/host/tensor_map.h>
#include <heddle/isa/device.h>

#include <string>

namespace heddle::inline HEDDLE_TARGET {

namespace sm100 {

constexpr std::uint32_t tiles_along(std::int64_t elems, std::uint32_t tile) {
  return static_cast<std::uint32_t>((elems + tile - 1) / tile);
}

// Matrices in a row, for boxes of box_rows x box_cols.
struct MatricesMap {
  TensorType type = TensorType::kU8;
  const void* address = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t batches = 1;
  std::uint32_t element_bytes = 1;
  std::uint64_t pitch = 0;         // elements
  std::uint64_t batch_stride = 0;  // elements
  std::uint32_t box_rows = 0;
  std::uint32_t box_cols = 0;
  Swizzle swizzle = Swizzle::k128B;

  isa::TensorMap make() const {
    return make_tensor_map({.type = type,
                            .rank = 3,
                            .address = address,
                            .dims = {static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(batches)},
                            .strides = {pitch * element_bytes, batch_stride * element_bytes},
                            .box = {box_cols, box_rows, 1},
                            .swizzle = swizzle,
                            .l2_promotion = L2Promotion::k256B});
  }
};

inline OperandType operand_type_of(MatmulElement type) {
  switch (type) {
    case MatmulElement::kBf16: return OperandType::kBf16;
    case MatmulElement::kFp16: return OperandType::kF16;
    case MatmulElement::kE4m3: return OperandType::kE4m3;
    case MatmulElement::kE5m2: return OperandType::kE5m2;
    default: return OperandType::kTf32;
  }
}

inline TensorType output_tensor_type(MatmulElement type) {
  return type == MatmulElement::kBf16   ? TensorType::kBF16
         : type == MatmulElement::kFp16 ? TensorType::kF16
         : type == MatmulElement::kFp32 ? TensorType::kF32
                                        : TensorType::kU8;
}

inline std::uint32_t output_bytes(MatmulElement type) {
  return type == MatmulElement::kFp32 ? 4 : type == MatmulElement::kBf16 || type == MatmulElement::kFp16 ? 2 : 1;
}

template <std::uint32_t tile_n>
constexpr std::uint32_t chunk_cols_of(MatmulElement type) {
  return type == MatmulElement::kFp32                                   ? output_chunk_cols<float, tile_n>()
         : type == MatmulElement::kBf16 || type == MatmulElement::kFp16 ? output_chunk_cols<bf16, tile_n>()
                                                                        : output_chunk_cols<e4m3, tile_n>();
}

// C as the epilogue stores it.
template <std::uint32_t tile_n, std::uint32_t tile_m = kSm100TileM>
OutputTarget output_target(const MatricesMap& matrices, MatmulElement type, void* ragged_out) {
  MatricesMap map = matrices;
  map.type = output_tensor_type(type);
  map.element_bytes = output_bytes(type);
  map.box_rows = tile_m / 4;
  map.box_cols = chunk_cols_of<tile_n>(type);
  OutputTarget target;
  target.map = map.make();
  target.type = type;
  target.m = static_cast<std::uint32_t>(map.rows);
  target.n = static_cast<std::uint32_t>(map.cols);
  target.ragged_out = ragged_out;
  target.pitch = map.pitch;
  target.batch_stride = map.batch_stride;
  return target;
}

template <class Kernel>
TileSchedulerParams scheduler_params(const TileGrid& grid) {
  if (const std::uint64_t tiles = cluster_tiles_of<Kernel::kScheduler>(grid); tiles > kMaxClusterTiles) {
    throw InputError("matmul: the output has " + std::to_string(tiles) + " tiles; a launch has at most " +
                     std::to_string(kMaxClusterTiles));
  }
  return make_tile_scheduler_params<Kernel::kScheduler>(grid);
}

template <class Kernel>
RunOutcome launch(Device& device, const typename Kernel::Params& params, bool is_dependent = false,
                  void* stream = nullptr) {
  constexpr std::uint32_t size = Kernel::config.cluster.size();
  const std::uint32_t clusters = resident_clusters<Kernel>(device, size);
  if (clusters == 0) return cannot_run(size);
  LaunchShape shape = Kernel::Scheduler::launch_shape(params.scheduler, clusters * size);
  shape.is_dependent = is_dependent;
  return device.enqueue<Kernel>(shape, params, stream);
}

}  // namespace sm100

}  // namespace heddle::inline HEDDLE_TARGET
