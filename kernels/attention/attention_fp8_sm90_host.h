// SPDX-License-Identifier: Apache-2.0
//
// Attention of e4m3 on Hopper from the host. Target::kCuda exists only in programs that were built with nvcc.
#pragma once

#include "attention_fp8.h"

#include <heddle/isa/target.h>

namespace heddle {

// With tensors in host memory.
template <Target target>
RunOutcome attention_fp8_sm90(const AttentionProblem& problem, const AttentionFp8Tensors& tensors,
                              const RunOptions& options);

// With tensors on the current GPU, in a stream of it.
template <Target target>
void enqueue_attention_fp8_sm90(const AttentionProblem& problem, const AttentionFp8Tensors& tensors,
                                void* stream);

template <>
RunOutcome attention_fp8_sm90<Target::kSim>(const AttentionProblem&, const AttentionFp8Tensors&,
                                            const RunOptions&);
template <>
RunOutcome attention_fp8_sm90<Target::kCuda>(const AttentionProblem&, const AttentionFp8Tensors&,
                                             const RunOptions&);
template <>
void enqueue_attention_fp8_sm90<Target::kSim>(const AttentionProblem&, const AttentionFp8Tensors&, void*);
template <>
void enqueue_attention_fp8_sm90<Target::kCuda>(const AttentionProblem&, const AttentionFp8Tensors&, void*);

}  // namespace heddle
