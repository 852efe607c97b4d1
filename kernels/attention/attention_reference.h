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
  // How far a kernel's may be from them: it rounds weights and outputs to the type of V, and sums in float.
  std::vector<double> o_bound;
  std::vector<double> lse_bound;
};

// With tensors in host memory; of them o and lse are not touched. Throws as attention() does. Of each `every`
// queries only the first; the others are NaNs.
AttentionOutput attention(const AttentionProblem& problem, const AttentionTensors& tensors,
                          std::int64_t every = 1);

}  // namespace heddle::reference
