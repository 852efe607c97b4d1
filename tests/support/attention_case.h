// SPDX-License-Identifier: Apache-2.0
//
// Tensors for a problem of attention.
#pragma once

#include "attention/attention_plan.h"

#include <heddle/tile/element.h>

#include <cmath>
#include <random>
#include <vector>

namespace heddle::test {

struct AttentionCase {
  AttentionProblem problem;
  std::vector<std::uint16_t> q, k, v, o;
  std::vector<float> lse;
  std::vector<float> sinks;
  std::vector<std::int32_t> query_offsets, key_offsets;

  // Normal numbers, and outputs of NaNs.
  explicit AttentionCase(const AttentionProblem& p) : problem(p) {
    const AttentionPlan plan = plan_attention(p);
    std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    const auto numbers = [&](std::size_t bytes) {
      std::vector<std::uint16_t> made(bytes / 2);
      for (std::uint16_t& bits : made) {
        const float number = normal(engine);
        bits = p.type == AttentionElement::kBf16 ? bf16::from_float(number).bits : fp16::from_float(number).bits;
      }
      return made;
    };
    q = numbers(plan.q.bytes);
    k = numbers(plan.k.bytes);
    v = numbers(plan.v.bytes);
    o.assign(plan.o.bytes / 2, 0x7fff);
    lse.assign(plan.lse_bytes / 4, std::nanf(""));
  }

  AttentionTensors tensors() {
    return {.q = q.data(),
            .k = k.data(),
            .v = v.data(),
            .o = o.data(),
            .lse = lse.data(),
            .sinks = sinks.empty() ? nullptr : sinks.data(),
            .query_offsets = query_offsets.empty() ? nullptr : query_offsets.data(),
            .key_offsets = key_offsets.empty() ? nullptr : key_offsets.data()};
  }
  double value(std::uint16_t bits) const {
    return problem.type == AttentionElement::kBf16 ? double{bf16{bits}.to_float()}
                                                   : double{fp16{bits}.to_float()};
  }
};

}  // namespace heddle::test
