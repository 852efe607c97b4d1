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
//   const auto end = softmax.end(factor);                           // output * end.inverse are the results
//
// Rows without a score (all of them minus infinity) have weights and sums of zero.
#pragma once

#include <heddle/isa/math.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/wgmma_sums.h>

namespace heddle::inline HEDDLE_TARGET {

// Weights are at most 2^(slack + lift): the reference, whose weight is 2^lift, follows a row's largest score only
// when that is 2^slack further away. Weights of few bits want to be large.
struct SoftmaxRange {
  int slack = 8;
  int lift = 0;

  bool operator==(const SoftmaxRange&) const = default;
};

// What a thread knows of its two rows. All 32 lanes of a warp do the same.
template <SoftmaxRange range = SoftmaxRange{}>
class OnlineSoftmaxOf {
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
    const RowPair shift{{reference_[0] * factor - kLift, reference_[1] * factor - kLift}};
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

  struct End {
    RowPair inverse;   // of the sum of all weights; 0 where a row has none
    RowPair log2_sum;  // logarithm to base two of the sum of 2^(score * factor)
  };
  // Both with 2^also[row], a score that has no value and was not weighed.
  HEDDLE_DEVICE End end(float factor, const RowPair& also) const {
    const RowPair sum = sums();
    End end;
    HEDDLE_UNROLL
    for (std::uint32_t row = 0; row < 2; ++row) {
      const float all = sum[row] + isa::ex2_approx_ftz_f32(also[row] - reference_[row] * factor + kLift);
      end.inverse[row] = all != 0.0f ? isa::rcp_approx_f32(all) : 0.0f;
      end.log2_sum[row] = log2_sum(row, sum[row], factor, also[row]);
    }
    return end;
  }
  HEDDLE_DEVICE End end(float factor, float also = -__builtin_huge_valf()) const {
    return end(factor, RowPair{{also, also}});
  }

 private:
  HEDDLE_DEVICE float log2_sum(std::uint32_t row, float sum, float factor, float also) const {
    if (sum != sum) return sum;  // a score is NaN
    const float log = sum > 0.0f ? reference_[row] * factor - kLift + isa::lg2_approx_ftz_f32(sum) : also;
    const float larger = __builtin_fmaxf(log, also);
    const float smaller = sum > 0.0f ? (log < also ? log : also) : -__builtin_huge_valf();
    if (larger == -__builtin_huge_valf()) return larger;
    return larger + isa::lg2_approx_ftz_f32(1.0f + isa::ex2_approx_ftz_f32(smaller - larger));
  }

  // Below every score, and finite, so that minus infinity is infinitely far from it.
  static constexpr float kLowest = -1e30f;
  static constexpr float kSlack = range.slack;
  static constexpr float kLift = range.lift;

  RowPair reference_{{kLowest, kLowest}};
  RowPair sum_{{0.0f, 0.0f}};
  RowPair rescaling_{{1.0f, 1.0f}};
};

// For weights of 16 bits.
using OnlineSoftmax = OnlineSoftmaxOf<>;

}  // namespace heddle::inline HEDDLE_TARGET
