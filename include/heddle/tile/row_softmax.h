// SPDX-License-Identifier: Apache-2.0
//
// RowSoftmax: OnlineSoftmax where each thread has a whole row, as tensor memory gives it.
//
//   RowSoftmax softmax;
//   for (...) {
//     output *= softmax.follow(largest, factor);                    // what was summed so far
//     for (...) weights[i] = softmax.weigh(scores[i], factor);
//   }
//   const auto [sum, log2_sum] = softmax.end(factor);               // output / sum is the result
//
// A row without a score (all of them minus infinity) has weights and a sum of zero.
#pragma once

#include <heddle/isa/math.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

class RowSoftmax {
 public:
  // With the largest of the scores that come next; `factor` is a scale times log2(e).
  HEDDLE_DEVICE float follow(float largest, float factor) {
    if (!((largest - reference_) * factor > kSlack)) return 1.0f;
    const float rescaling = isa::ex2_approx_ftz_f32((reference_ - largest) * factor);
    reference_ = largest;
    sum_ *= rescaling;
    return rescaling;
  }

  HEDDLE_DEVICE float weigh(float score, float factor) {
    const float weight = isa::ex2_approx_ftz_f32(score * factor - reference_ * factor);
    sum_ += weight;
    return weight;
  }

  struct End {
    float sum;       // of all weights
    float log2_sum;  // logarithm to base two of the sum of 2^(score * factor)
  };
  // Both with 2^also, a score that has no value and was not weighed.
  HEDDLE_DEVICE End end(float factor, float also = -__builtin_huge_valf()) const {
    if (sum_ != sum_) return {sum_, sum_};  // a score is NaN
    const float reference = sum_ > 0.0f ? reference_ * factor : also;
    if (reference == -__builtin_huge_valf()) return {0.0f, reference};
    // Such a score may be so far above the others that their sum is infinite, and its logarithm is not.
    const float log = sum_ > 0.0f ? reference + isa::lg2_approx_ftz_f32(sum_) : -__builtin_huge_valf();
    const float larger = __builtin_fmaxf(log, also);
    const float smaller = log < also ? log : also;
    return {sum_ + isa::ex2_approx_ftz_f32(also - reference),
            larger + isa::lg2_approx_ftz_f32(1.0f + isa::ex2_approx_ftz_f32(smaller - larger))};
  }

 private:
  // As OnlineSoftmax has them: below every score, and how far from the reference weights are exact.
  static constexpr float kLowest = -1e30f;
  static constexpr float kSlack = 8;

  float reference_ = kLowest;
  float sum_ = 0;
};

}  // namespace heddle::inline HEDDLE_TARGET
