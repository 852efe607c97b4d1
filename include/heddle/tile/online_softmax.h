// SPDX-License-Identifier: Apache-2.0
//
// OnlineSoftmax: the softmax of rows that come piece by piece, as attention has them, in the registers of a
// warpgroup. Scores become weights; what belongs to the rows so far is a reference, whose weight is one, and the
// sum of the weights.
//
//   OnlineSoftmax softmax;
//   for (...) {
//     if (softmax.weigh(scores, factor)) softmax.rescale(output);   // before the weighted values are added to it
//     output += to_operand<bf16>(scores) * values;
//   }
//   const RowPair sums = softmax.sums();                            // output / sums are the results
//
// Rows without a score (all of them minus infinity) have weights and sums of zero.
#pragma once

#include <heddle/isa/math.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/wgmma_sums.h>

namespace heddle::inline HEDDLE_TARGET {

// What a thread knows of its two rows. All 32 lanes of a warp do the same.
class OnlineSoftmax {
 public:
  // Scores become powers of two of their distance from the reference, times `factor`, which is positive: a scale
  // times log2(e). True where the reference has moved for a row of this warp: what was summed before is to be
  // rescaled.
  template <class Scores>
  HEDDLE_DEVICE bool weigh(Scores& scores, float factor) {
    const RowPair largest = row_max(scores);
    const bool is_far =
        (largest[0] - reference_[0]) * factor > kSlack || (largest[1] - reference_[1]) * factor > kSlack;
    const bool moves = isa::vote_sync_ballot(is_far) != 0;
    if (moves) {
      HEDDLE_UNROLL
      for (std::uint32_t row = 0; row < 2; ++row) {
        const float reference = __builtin_fmaxf(reference_[row], largest[row]);
        rescaling_[row] = isa::ex2_approx_ftz_f32((reference_[row] - reference) * factor);
        reference_[row] = reference;
        sum_[row] *= rescaling_[row];
      }
    }
    const RowPair shift{{reference_[0] * factor, reference_[1] * factor}};
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < Scores::count; ++i) {
      const std::uint32_t row = Scores::row_of_pair(i);
      scores[i] = isa::ex2_approx_ftz_f32(scores[i] * factor - shift[row]);
      sum_[row] += scores[i];
    }
    return moves;
  }

  // What was summed with the weights before the last weigh.
  template <class Output>
  HEDDLE_DEVICE void rescale(Output& output) const {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < Output::count; ++i) output[i] *= rescaling_[Output::row_of_pair(i)];
  }

  // Of all weights of each row.
  HEDDLE_DEVICE RowPair sums() const {
    RowPair sums = sum_;
    HEDDLE_UNROLL
    for (std::uint32_t row = 0; row < 2; ++row) {
      HEDDLE_UNROLL
      for (std::uint32_t lanes = 1; lanes <= 2; lanes *= 2) {
        sums[row] +=
            __builtin_bit_cast(float, isa::shfl_sync_bfly(__builtin_bit_cast(std::uint32_t, sums[row]), lanes));
      }
    }
    return sums;
  }
  // Of the weights in this thread's columns, of both rows.
  HEDDLE_DEVICE float own_sum() const { return sum_[0] + sum_[1]; }

  // Of a score, times the factor, that was not among those weighed.
  HEDDLE_DEVICE float weight_of(std::uint32_t row, float log2_score, float factor) const {
    return isa::ex2_approx_ftz_f32(log2_score - reference_[row] * factor);
  }

  // The logarithm to base two of the sum of 2^(score * factor) over a row, of whose weights `sum` is the sum, and
  // of 2^also.
  HEDDLE_DEVICE float log2_sum(std::uint32_t row, float sum, float factor,
                               float also = -__builtin_huge_valf()) const {
    const float log = sum > 0.0f ? reference_[row] * factor + isa::lg2_approx_ftz_f32(sum) : also;
    const float larger = __builtin_fmaxf(log, also);
    const float smaller = sum > 0.0f ? (log < also ? log : also) : -__builtin_huge_valf();
    if (larger == -__builtin_huge_valf()) return larger;
    return larger + isa::lg2_approx_ftz_f32(1.0f + isa::ex2_approx_ftz_f32(smaller - larger));
  }

 private:
  // Below every score, and finite, so that minus infinity is infinitely far from it.
  static constexpr float kLowest = -1e30f;
  // Weights up to two to this power are as exact as others: the reference follows the largest score only when
  // that is further away.
  static constexpr float kSlack = 8;

  RowPair reference_{{kLowest, kLowest}};
  RowPair sum_{{0.0f, 0.0f}};
  RowPair rescaling_{{1.0f, 1.0f}};
};

}  // namespace heddle::inline HEDDLE_TARGET
