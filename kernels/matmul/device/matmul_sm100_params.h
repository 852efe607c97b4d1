// SPDX-License-Identifier: Apache-2.0
//
// The parameters of a Blackwell matmul, of every family: for the library's instances, and for kernels with an
// epilogue of one's own.
//
//   using Kernel = MatmulSm100<MatmulSm100Config{.tile_n = 128}, MmaKind::kF16, OperandMajors{}, MyEpilogue>;
//   auto params = matmul_sm100_params<Kernel>({.m = m, .n = n, .k = k, .a = {a, m, k}, .b = {b, n, k},
//                                              .out = {MatmulElement::kBf16, c, m, n}});
//   params.epilogue = {...};
//   launch_matmul<Kernel>(device, params);
#pragma once

#include "matmul/host/matmul_launch.h"
#include "matmul/host/matmul_operands.h"
#include "matmul_sm100.h"

namespace heddle::inline HEDDLE_TARGET {

template <std::uint32_t tile_n>
constexpr std::uint32_t chunk_cols_of(std::uint32_t element_bytes) {
  return element_bytes == 4   ? row_chunk_cols<float, tile_n>()
         : element_bytes == 2 ? row_chunk_cols<bf16, tile_n>()
                              : row_chunk_cols<e4m3, tile_n>();
}

// The instruction is that of the types which the family stores; others of its kind take another one.
template <class Kernel>
typename Kernel::Params matmul_sm100_params(const MatmulOperands& call) {
  using Family = typename Kernel::FamilyType;
  constexpr MatmulSm100Config config = Kernel::config;
  using Loads = typename Family::Loads;
  const auto batched = [](TiledMatrix matrix) {
    if (matrix.batches == 0) matrix.batches = 1;
    matrix.l2_promotion = L2Promotion::k256B;
    return matrix;
  };
  check_whole_rows(call.out);
  typename Kernel::Params params{};
  if (call.k > 0) {  // otherwise there is nothing to copy
    params.operands.a = edge_maps_for<typename Loads::A>(batched(call.a), config.cluster.m);
    params.operands.b = edge_maps_for<typename Loads::B>(batched(call.b), config.cluster.n * config.cta_group);
    constexpr OperandType type = operand_type<typename Family::In>();
    params.operands.instruction = Family::instruction(type, type);
  }
  params.c = {{.map = call.out.map(3, config.tile_m / 4,
                                   chunk_cols_of<Kernel::kOutCols>(call.out.element_bytes()), L2Promotion::k256B),
               .m = static_cast<std::uint32_t>(call.out.rows),
               .n = static_cast<std::uint32_t>(call.out.cols),
               .ragged_out = call.out.is_ragged ? call.out.address : nullptr,
               .pitch = call.out.row_elems(),
               .batch_stride = call.out.matrix_elems()},
              call.out.type};
  params.k_blocks.all = tiles_along(call.k, Family::kTileK);
  params.k_blocks.share = tiles_along(params.k_blocks.all, call.splits);
  params.scheduler = matmul_tiles<Kernel>({.tiles_m = tiles_along(call.m, config.tile_m),
                                           .tiles_n = tiles_along(call.n, config.tile_n),
                                           .batches = static_cast<std::uint32_t>(call.out.batches) / call.splits,
                                           .splits = call.splits,
                                           .group = call.group,
                                           .raster = call.raster});
  return params;
}

}  // namespace heddle::inline HEDDLE_TARGET
