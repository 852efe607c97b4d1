// SPDX-License-Identifier: Apache-2.0
//
// Attention on the CPU, in double: what the kernels are compared with. No rounding but that of the inputs.
#pragma once

#include "attention_problem.h"

#include <vector>

namespace heddle::reference {

struct AttentionOutput {
  std::vector<double> o;    // [batches, heads, queries, value_dim], without gaps
  std::vector<double> lse;  // [batches, heads, queries]; NaNs in rows that no batch has
};

// With tensors in host memory; of them o and lse are not touched. Throws as attention() does.
AttentionOutput attention(const AttentionProblem& problem, const AttentionTensors& tensors);

}  // namespace heddle::reference
