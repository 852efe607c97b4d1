// SPDX-License-Identifier: Apache-2.0
//
// What is made of scores before the softmax: a policy of the kernel, on the registers of a warpgroup. A policy of
// your own changes the sums Q K^T as wgmma leaves them; they are multiplied by the problem's factor afterwards.
//
//   struct Distance {
//     struct Params { float slope; };
//     template <class Scores>
//     HEDDLE_DEVICE static void apply(Scores& s, const Params& params, const ScorePlace& at) {
//       HEDDLE_UNROLL
//       for (std::uint32_t i = 0; i < Scores::count; ++i) s[i] -= params.slope * distance(at.query(s, i),
//       at.key(s, i));
//     }
//   };
//   AttentionSm90<bf16, config, Distance>
#pragma once

#include <heddle/isa/math.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

// Where a warpgroup's scores are.
struct ScorePlace {
  std::int32_t first_query;
  std::int32_t first_key;
  std::int32_t head;
  std::int32_t batch;

  template <class Scores>
  HEDDLE_DEVICE std::int32_t query(const Scores&, std::uint32_t i) const {
    return first_query + static_cast<std::int32_t>(Scores::row(i));
  }
  template <class Scores>
  HEDDLE_DEVICE std::int32_t key(const Scores&, std::uint32_t i) const {
    return first_key + static_cast<std::int32_t>(Scores::col(i));
  }
};

// A sink is a score without a value: that of a head, to base two, or none.
HEDDLE_DEVICE float log2_sink(const float* sinks, std::int32_t head) {
  return sinks == nullptr ? -__builtin_huge_valf() : isa::ld_global(&sinks[head]) * 1.44269504089f;
}
// Of logarithms to base two.
inline constexpr float kLn2 = 0.69314718056f;

// As they are.
struct PlainScores {
  struct Params {};
  template <class Scores>
  HEDDLE_DEVICE static void apply(Scores&, const Params&, const ScorePlace&) {}
};

// cap * tanh(score * scale / cap), which stays within the cap; where that is 0, as they are.
struct CappedScores {
  struct Params {
    float cap;
    float factor;  // scale / cap * 2 * log2(e)
  };
  template <class Scores>
  HEDDLE_DEVICE static void apply(Scores& s, const Params& params, const ScorePlace&) {
    if (params.cap == 0.0f) return;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < Scores::count; ++i) {
      s[i] = params.cap -
             2.0f * params.cap * isa::rcp_approx_f32(isa::ex2_approx_ftz_f32(s[i] * params.factor) + 1.0f);
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
