// SPDX-License-Identifier: Apache-2.0
//
// Decoding attention on Blackwell from the host. Target::kCuda exists only in programs that were built with nvcc.
#pragma once

#include "attention_decode.h"

#include <heddle/isa/target.h>

namespace heddle {

// With tensors in host memory.
template <Target target>
RunOutcome attention_decode_sm100(const AttentionDecodeProblem& problem, const AttentionDecodeTensors& tensors,
                                  const RunOptions& options);

// With tensors on the current GPU, in a stream of it.
template <Target target>
void enqueue_attention_decode_sm100(const AttentionDecodeProblem& problem, const AttentionDecodeTensors& tensors,
                                    void* stream);

template <>
RunOutcome attention_decode_sm100<Target::kSim>(const AttentionDecodeProblem&, const AttentionDecodeTensors&,
                                                const RunOptions&);
template <>
RunOutcome attention_decode_sm100<Target::kCuda>(const AttentionDecodeProblem&, const AttentionDecodeTensors&,
                                                 const RunOptions&);
template <>
void enqueue_attention_decode_sm100<Target::kSim>(const AttentionDecodeProblem&, const AttentionDecodeTensors&,
                                                  void*);
template <>
void enqueue_attention_decode_sm100<Target::kCuda>(const AttentionDecodeProblem&, const AttentionDecodeTensors&,
                                                   void*);

}  // namespace heddle
