// SPDX-License-Identifier: Apache-2.0
//
// The parameters of a Hopper matmul: for the library's instances, and for kernels with an epilogue of one's own.
//
//   using Kernel = MatmulSm90<MatmulSm90Config{.tile_m = 128, .tile_n = 128}, bf16, MyEpilogue>;
//   auto params = matmul_sm90_params<Kernel>({.m = m, .n = n, .k = k, .a = {a, m, k}, .b = {b, n, k},
//                                             .out = {MatmulElement::kBf16, c, m, n}});
//   params.epilogue = {...};
//   launch_matmul<Kernel>(device, params);
#pragma once

#include "matmul/host/matmul_launch.h"
#include "matmul/host/matmul_operands.h"
#include "matmul_sm90.h"

namespace heddle::inline HEDDLE_TARGET {

template <class Kernel>
typename Kernel::Params matmul_sm90_params(const MatmulOperands& call) {
  constexpr MatmulSm90Config config = Kernel::kConfig;
  if constexpr (!Kernel::kStoresRagged) check_whole_rows(call.out);
  const auto one = [](TiledMatrix matrix) {
    matrix.batches = 0;
    return matrix;
  };
  typename Kernel::Params params{};
  params.a = edge_maps_for<typename Kernel::LoadA>(one(call.a), config.cluster_m);
  params.b = edge_maps_for<typename Kernel::LoadB>(one(call.b), config.cluster_n);
  // A box has 128 bytes of 16 rows; transposed, as many rows as it has columns there, of the 64 that a block has.
  const std::uint32_t panel_cols = 128 / call.out.element_bytes();
  const std::uint32_t tail = Kernel::kOutCols % panel_cols;
  const auto map_c = [&](std::uint32_t cols) {
    return call.out.map(2, config.is_swapped ? cols : Kernel::kStoreRows, config.is_swapped ? panel_cols : cols,
                        L2Promotion::k128B);
  };
  params.c = map_c(panel_cols);
  params.c_tail = tail == 0 ? params.c : map_c(tail);
  params.scheduler = matmul_tiles<Kernel>({.tiles_m = tiles_along(call.m, config.tile_m),
                                           .tiles_n = tiles_along(call.n, config.tile_n),
                                           .splits = call.is_joined ? 1 : call.splits,
                                           .group = call.group,
                                           .raster = call.raster});
  // The parts of a split K are equal: the last one multiplies zeros behind the end of K.
  params.k_blocks = tiles_along(tiles_along(call.k, config.tile_k), call.splits);
  params.split_rows = static_cast<std::uint32_t>(call.out.rows);
  params.joined = call.is_joined ? call.splits : 1;
  if (call.is_dependent && config.b_major == Major::kK) {
    params.early_a = early_rows_of<typename Kernel::Operand>(call.a);
    params.early_b = early_rows_of<typename Kernel::Operand>(call.b);
    params.early_lines =
        early_lines(Kernel::LoadA::kPart + Kernel::LoadB::kPart,
                    params.k_blocks * config.tile_k * sizeof(typename Kernel::Operand),
                    call.m > config.tile_m * config.cluster_m && call.n > config.tile_n * config.cluster_n);
  }
  params.m = call.m;
  params.n = call.n;
  params.output = call.out.type;
  return params;
}

}  // namespace heddle::inline HEDDLE_TARGET
