// SPDX-License-Identifier: Apache-2.0
//
// Scores that do not count: those of keys that a query does not see, or that do not exist, become minus infinity.
#pragma once

#include <heddle/isa/target.h>
#include <heddle/isa/wgmma.h>
#include <heddle/tile/tmem_rows.h>

namespace heddle::inline HEDDLE_TARGET {

struct ScoreMask {
  std::int32_t first_key;  // of the scores
  std::int32_t keys;       // so many there are
  std::int32_t seen;       // causal: by the first of the warpgroup's queries; each further one sees one more
  std::int32_t window;     // and of those so many
};

namespace detail {

// The column of a thread's i-th score, from its first.
HEDDLE_HOST_DEVICE constexpr std::int32_t score_offset(std::uint32_t i) {
  return static_cast<std::int32_t>(i / 4 * 8 + i % 2);
}

}  // namespace detail

// By a warpgroup, of 64 queries.
template <bool is_causal, bool has_window, class Scores>
HEDDLE_DEVICE void mask_scores(Scores& s, const ScoreMask& mask) {
  constexpr auto kCols = static_cast<std::int32_t>(Scores::count / 4 * 8);
  const std::int32_t end = mask.first_key + kCols;
  const std::int32_t seen = is_causal ? mask.seen : end;
  // Counted from this thread's first key and row.
  const auto row = static_cast<std::int32_t>(Scores::row(0));
  const std::int32_t first = mask.first_key + static_cast<std::int32_t>(Scores::col(0));
  if (end > mask.keys || end > seen) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < Scores::count; ++i) {
      const std::int32_t causal = seen + row + static_cast<std::int32_t>(Scores::row_of_pair(i) * 8);
      const bool is_causal_limit = is_causal && causal < mask.keys;
      if (detail::score_offset(i) >= (is_causal_limit ? causal : mask.keys) - first)
        s[i] = -__builtin_huge_valf();
    }
  }
  if constexpr (has_window) {
    const std::int32_t begin = seen - mask.window;
    if (mask.first_key >= begin + static_cast<std::int32_t>(kWgmmaM) - 1) return;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < Scores::count; ++i) {
      const std::int32_t of_row = begin + row + static_cast<std::int32_t>(Scores::row_of_pair(i) * 8);
      if (detail::score_offset(i) < of_row - first) s[i] = -__builtin_huge_valf();
    }
  }
}

// By a thread, of the scores of one query, from the first key on.
template <bool is_causal, bool has_window, class Scores>
HEDDLE_DEVICE void mask_row(Scores& s, const ScoreMask& mask) {
  const std::int32_t end = (is_causal && mask.seen < mask.keys ? mask.seen : mask.keys) - mask.first_key;
  if (end < static_cast<std::int32_t>(Scores::count)) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < Scores::count; ++i) {
      if (static_cast<std::int32_t>(i) >= end) s[i] = -__builtin_huge_valf();
    }
  }
  if constexpr (has_window) {
    const std::int32_t begin = mask.seen - mask.window - mask.first_key;
    if (begin <= 0) return;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < Scores::count; ++i) {
      if (static_cast<std::int32_t>(i) < begin) s[i] = -__builtin_huge_valf();
    }
  }
}
template <bool is_causal, bool has_window, std::uint32_t cols>
HEDDLE_DEVICE void mask_scores(TmemRow<cols>& s, const ScoreMask& mask) {
  mask_row<is_causal, has_window>(s, {.first_key = mask.first_key,
                                      .keys = mask.keys,
                                      .seen = mask.seen + static_cast<std::int32_t>(TmemRow<cols>::row(0)),
                                      .window = mask.window});
}

}  // namespace heddle::inline HEDDLE_TARGET
