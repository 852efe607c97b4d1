// SPDX-License-Identifier: Apache-2.0
//
// Attention on Blackwell from the host. Target::kCuda exists only in programs that were built with nvcc.
#pragma once

#include "attention_problem.h"

#include <heddle/host/run_options.h>
#include <heddle/isa/target.h>

namespace heddle {

// With tensors in host memory.
template <Target target>
RunOutcome attention_sm100(const AttentionProblem& problem, const AttentionTensors& tensors,
                           const RunOptions& options);

template <>
RunOutcome attention_sm100<Target::kSim>(const AttentionProblem&, const AttentionTensors&, const RunOptions&);
template <>
RunOutcome attention_sm100<Target::kCuda>(const AttentionProblem&, const AttentionTensors&, const RunOptions&);

}  // namespace heddle
