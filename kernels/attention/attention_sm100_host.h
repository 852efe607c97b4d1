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

// With tensors on the current GPU, in a stream of it.
template <Target target>
void enqueue_attention_sm100(const AttentionProblem& problem, const AttentionTensors& tensors, void* stream);

template <>
RunOutcome attention_sm100<Target::kSim>(const AttentionProblem&, const AttentionTensors&, const RunOptions&);
template <>
RunOutcome attention_sm100<Target::kCuda>(const AttentionProblem&, const AttentionTensors&, const RunOptions&);
template <>
void enqueue_attention_sm100<Target::kSim>(const AttentionProblem&, const AttentionTensors&, void*);
template <>
void enqueue_attention_sm100<Target::kCuda>(const AttentionProblem&, const AttentionTensors&, void*);

}  // namespace heddle
