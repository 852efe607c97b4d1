// SPDX-License-Identifier: Apache-2.0
//
// RowSoftmax: OnlineSoftmax where each thread has a whole row, as tensor memory gives it.
//
//   RowSoftmax softmax;
//   for (...) {
//     output *= softmax.follow(largest, factor);                    // what was summed so far
//     for (...) weights[i] = softmax.weigh(scores[i], factor);
//   }
//   const auto end = softmax.end(factor);                           // output * end.inverse is the result
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
    float inverse;   // of the sum of all weights; 0 where there is none
    float log2_sum;  // logarithm to base two of the sum of 2^(score * factor)
  };
  // Both with 2^also, a score that has no value and was not weighed.
  HEDDLE_DEVICE End end(float factor, float also = -__builtin_huge_valf()) const {
    if (sum_ != sum_ || also != also) return {sum_ + also, sum_ + also};  // a score is NaN
    if (sum_ == 0.0f) return {also == -__builtin_huge_valf() ? 0.0f : 1.0f, also};
    // Such a score may be so far above the others that their sum is infinite, and its logarithm is not.
    const float reference = reference_ * factor;
    const float log = reference + isa::lg2_approx_ftz_f32(sum_);
    const float larger = __builtin_fmaxf(log, also);
    const float smaller = log < also ? log : also;
    return {isa::rcp_approx_f32(sum_ + isa::ex2_approx_ftz_f32(also - reference)),
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
