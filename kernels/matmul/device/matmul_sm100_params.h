// SPDX-License-Identifier: Apache-2.0
//
// What a Blackwell matmul with an epilogue of one's own is given: one matrix, all of K, operands with K along
// their rows. sm100::launch<Kernel>(device, params) starts it.
//
//   using Kernel = MatmulSm100<MatmulSm100Config{.tile_n = 128}, MmaKind::kF16, OperandMajors{}, MyEpilogue>;
//   auto params = matmul_sm100_params<Kernel>({.m = m, .n = n, .k = k, .a = a, .b = b, .out = c,
//                                              .out_type = MatmulElement::kBf16});
//   params.epilogue = {...};
#pragma once

#include "matmul_sm100.h"
#include "matmul_sm100_maps.h"

namespace heddle::inline HEDDLE_TARGET {

// In the memory of the device, rows one behind the other. `n` counts columns of the sums, of which an epilogue
// that folds makes fewer.
struct MatmulSm100Operands {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* out = nullptr;
  MatmulElement out_type = MatmulElement::kBf16;
};

template <class Kernel>
typename Kernel::Params matmul_sm100_params(const MatmulSm100Operands& call) {
  using Family = typename Kernel::FamilyType;
  using In = typename Family::In;
  constexpr MatmulSm100Config config = Kernel::config;
  const auto map = [&]<class Tile>(const Tile*, const void* address, std::int64_t rows, std::uint32_t sharers) {
    return sm100::MatricesMap{.type = tensor_type<In>,
                              .address = address,
                              .rows = rows,
                              .cols = call.k,
                              .element_bytes = sizeof(In),
                              .pitch = static_cast<std::uint64_t>(call.k),
                              .batch_stride = static_cast<std::uint64_t>(rows * call.k),
                              .box_rows = Tile::rows() / sharers,
                              .box_cols = Tile::layout.panel_elems,
                              .swizzle = Tile::swizzle}
        .make();
  };
  const std::int64_t out_cols = call.n / Kernel::kFolds;
  check_whole_rows(static_cast<std::uint64_t>(out_cols), sm100::output_bytes(call.out_type));
  typename Kernel::Params params{};
  params.operands.a =
      map(static_cast<const typename Family::Payload::ATile*>(nullptr), call.a, call.m, config.sharers_of_a());
  params.operands.b =
      map(static_cast<const typename Family::Payload::BTile*>(nullptr), call.b, call.n, config.sharers_of_b());
  params.operands.instruction = Family::instruction(operand_type<In>(), operand_type<In>());
  params.c = sm100::output_target<Kernel::kOutCols, config.tile_m>(
      {.address = call.out,
       .rows = call.m,
       .cols = out_cols,
       .pitch = static_cast<std::uint64_t>(out_cols),
       .batch_stride = static_cast<std::uint64_t>(call.m * out_cols)},
      call.out_type, nullptr);
  params.k_blocks.all = sm100::tiles_along(call.k, Family::kTileK);
  params.k_blocks.share = params.k_blocks.all;
  params.scheduler = sm100::scheduler_params<Kernel>({.tiles_m = sm100::tiles_along(call.m, config.tile_m),
                                                      .tiles_n = sm100::tiles_along(call.n, config.tile_n)});
  return params;
}

}  // namespace heddle::inline HEDDLE_TARGET
