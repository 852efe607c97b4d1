// SPDX-License-Identifier: Apache-2.0
//
// Where sums in tensor memory go, times a factor for each row, which a thread has: as tiles, which the copy
// engine stores and cuts off at the end of a tensor, or row by row where rows of others follow. As
// attention_store.h has it for sums in registers.
#pragma once

#include "attention_store.h"

#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/isa/tmem.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/tmem_rows.h>
#include <heddle/tile/tmem_view.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

inline constexpr std::uint32_t kTakenCols = 32;

// take(first column, kTakenCols numbers) for each part of this thread's row. By all threads of a warpgroup.
template <AccumulatorShape shape, class Take>
HEDDLE_DEVICE void take_columns(const TmemTensor<float, shape>& sums, std::uint32_t begin, std::uint32_t end,
                                float factor, const Take& take) {
  HEDDLE_UNROLL
  for (std::uint32_t col = begin; col < end; col += kTakenCols) {
    TmemFragment<float, kTakenCols> part;
    sums.load(part, col);
    isa::tcgen05_wait_ld();
    float values[kTakenCols];
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < kTakenCols; ++i) values[i] = part[i] * factor;
    take(col, values);
  }
}

// `at` is where the first column begins in the map's tensor.
template <class Stores, AccumulatorShape shape>
HEDDLE_DEVICE void store_sums(Stores& stores, const isa::TensorMap* map, const std::int32_t (&at)[4],
                              const TmemTensor<float, shape>& sums, float factor) {
  constexpr std::uint32_t kPiece = decltype(stores.acquire().tile())::layout.shape[1];
  HEDDLE_UNROLL
  for (std::uint32_t first = 0; first < shape.n; first += kPiece) {
    auto stage = stores.acquire();
    take_columns(sums, first, first + kPiece, factor, [&](std::uint32_t col, const auto& values) {
      fill_row(stage.tile(), TmemRow<shape.n>::row(0), col - first, values);
    });
    std::move(stage).release(map, {at[0] + static_cast<std::int32_t>(first), at[1], at[2], at[3]});
  }
}

// This thread's row, the first `cols` of it (a multiple of 8); null: this row exists in no tensor.
template <class T, AccumulatorShape shape>
HEDDLE_DEVICE void store_row(T* to, std::int32_t cols, const TmemTensor<float, shape>& sums, float factor) {
  constexpr std::uint32_t kPerWord = 4 / sizeof(T);
  take_columns(sums, 0, shape.n, factor, [&](std::uint32_t first, const auto& values) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < kTakenCols; i += 4 * kPerWord) {
      if (to == nullptr || static_cast<std::int32_t>(first + i) >= cols) continue;
      isa::Bytes16 bytes;
      HEDDLE_UNROLL
      for (std::uint32_t w = 0; w < 4; ++w) {
        const std::uint32_t at = i + w * kPerWord;
        if constexpr (sizeof(T) == 4) {
          bytes.word[w] = __builtin_bit_cast(std::uint32_t, values[at]);
        } else {
          bytes.word[w] = pack_pair<T>(values[at], values[at + 1]);
        }
      }
      isa::st_global(reinterpret_cast<isa::Bytes16*>(to + first + i), bytes);
    }
  });
}

template <class T, AccumulatorShape shape>
HEDDLE_DEVICE void store_sums(T* to, const SumRows& extent, const TmemTensor<float, shape>& sums, float factor) {
  const auto row = static_cast<std::int32_t>(TmemRow<shape.n>::row(0));
  store_row(row < extent.rows ? to + row * extent.row_stride : nullptr, extent.cols, sums, factor);
}

// Of this thread's row, where it is before `queries`.
HEDDLE_DEVICE void store_lse(float* to, std::int32_t first_query, std::int32_t queries, float log2_sum) {
  const std::int32_t query = first_query + static_cast<std::int32_t>(TmemRow<1>::row(0));
  if (query < queries) isa::st_global(&to[query], kLn2 * log2_sum);
}

}  // namespace heddle::inline HEDDLE_TARGET
