// SPDX-License-Identifier: Apache-2.0
//
// Where the sums of a warpgroup's 64 queries go, times a factor for each row: as tiles, which the copy engine
// stores and cuts off at the end of a tensor, or row by row where rows of others follow.
#pragma once

#include "attention_scores.h"

#include <heddle/isa/matrix.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// `at` is where the first column begins in the map's tensor.
template <WgmmaShape shape, class Stores>
HEDDLE_DEVICE void store_sums(Stores& stores, const isa::TensorMap* map, const std::int32_t (&at)[4],
                              const WgmmaValues<shape>& sums, const RowPair& factor) {
  using Tile = decltype(stores.acquire().tile());
  constexpr std::uint32_t piece = Tile::layout.shape[1];
  const std::uint32_t lane = isa::laneid();
  const std::uint32_t row = isa::warp_idx() % 4 * 16 + lane % 16;
  HEDDLE_UNROLL
  for (std::uint32_t first_col = 0; first_col < shape.n; first_col += piece) {
    auto stage = stores.acquire();
    const auto tile = stage.tile();
    HEDDLE_UNROLL
    for (std::uint32_t col = 0; col < piece; col += 16) {
      std::uint32_t pairs[4];
      HEDDLE_UNROLL
      for (std::uint32_t j = 0; j < 4; ++j) {
        const std::uint32_t i = (first_col + col) / 2 + 2 * j;
        pairs[j] = pack_pair<typename Tile::value_type>(sums[i] * factor[j % 2], sums[i + 1] * factor[j % 2]);
      }
      isa::stmatrix_x4(tile.pointer(row, col + lane / 16 * 8), pairs);
    }
    std::move(stage).release(map, {at[0] + static_cast<std::int32_t>(first_col), at[1], at[2], at[3]});
  }
}

struct SumRows {
  std::int64_t row_stride;  // in elements
  std::int32_t rows;        // so many of the 64 exist
  std::int32_t cols;
};

template <Element T, WgmmaShape shape>
HEDDLE_DEVICE void store_sums(T* to, const SumRows& extent, const WgmmaValues<shape>& sums,
                              const RowPair& factor) {
  using Values = WgmmaValues<shape>;
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < Values::count; i += 2) {
    const auto row = static_cast<std::int32_t>(Values::row(i));
    const auto col = static_cast<std::int32_t>(Values::col(i));
    if (row >= extent.rows || col >= extent.cols) continue;
    const float of_row = factor[Values::row_of_pair(i)];
    isa::st_global(reinterpret_cast<std::uint32_t*>(to + row * extent.row_stride + col),
                   pack_pair<T>(sums[i] * of_row, sums[i + 1] * of_row));
  }
}

// The logarithms of a warpgroup's 64 queries, those before `queries`.
HEDDLE_DEVICE void store_lse(float* to, std::int32_t first_query, std::int32_t queries, const RowPair& log2_sum) {
  if (isa::laneid() % 4 != 0) return;
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::int32_t query =
        first_query + static_cast<std::int32_t>(WgmmaValues<WgmmaShape{.n = 8}>::row(2 * i));
    if (query < queries) isa::st_global(&to[query], kLn2 * log2_sum[i]);
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
