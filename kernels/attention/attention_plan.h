// SPDX-License-Identifier: Apache-2.0
//
// The checks that attention goes through, and the sizes that come of them.
#pragma once

#include "attention_problem.h"

#include <cstddef>

namespace heddle {

// A tensor of four dimensions, in elements.
struct AttentionTensorPlan {
  std::uint64_t dim = 0;
  std::uint64_t rows = 0;
  std::uint64_t heads = 0;
  std::uint64_t batches = 0;
  std::uint64_t row_stride = 0;
  std::uint64_t head_stride = 0;
  std::uint64_t batch_stride = 0;
  std::size_t bytes = 0;  // from the first element to behind the last
};

struct AttentionPlan {
  AttentionTensorPlan q;
  AttentionTensorPlan k;
  AttentionTensorPlan v;
  AttentionTensorPlan o;
  std::size_t lse_bytes = 0;
  std::size_t sinks_bytes = 0;
  std::size_t offsets_bytes = 0;  // of each of the two; 0: there are none
  float scale = 0;
};

// Throws an InputError that names the rule, the value and what would pass. Where the tensors are is checked
// apart: check_attention_tensors.
AttentionPlan plan_attention(const AttentionProblem& problem);

// Addresses that are null, misaligned or overlap. `copied`: the tensors are in host memory and will be copied, so
// that alignment does not matter and offsets can be read.
void check_attention_tensors(const AttentionProblem& problem, const AttentionPlan& plan,
                             const AttentionTensors& tensors, bool copied);

}  // namespace heddle
