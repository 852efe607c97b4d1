// SPDX-License-Identifier: Apache-2.0
//
// Attention of numbers of 8 bits (e4m3), on Hopper, with a scale for each head and an output of bf16:
//
//   o[i] = v_scale * sum over keys j of softmax(q[i] . k[j] * q_scale * k_scale * scale) * v[j]
//
// The tensor cores read such numbers along the sum alone, so that V lies with its keys along rows: [batches,
// key_heads, head_dim, keys], where keys are padded to a multiple of 16. Weights are rounded to e4m3, too: expect
// errors of a sixteenth of the values, or of their mean where many keys weigh.
//
//   const AttentionProblem problem{.heads = 16, .queries = 4096, .keys = 4096, .is_causal = true};
//   attention_fp8(problem, {.q = q, .k = k, .v = v, .o = o, .q_scales = scales}, stream);
//
// Of the problem, types, windows, caps, strides and rows stay as they are by default. What cannot be run is
// refused with an InputError before anything is written.
#pragma once

#include "../devices.h"
#include "attention_problem.h"

#include <heddle/host/device_id.h>
#include <heddle/host/run_options.h>

namespace heddle {

// All in the memory of the device, or all in the host's; without gaps.
struct AttentionFp8Tensors {
  const void* q = nullptr;          // [batches, heads, queries, head_dim] of e4m3
  const void* k = nullptr;          // [batches, key_heads, keys, head_dim] of e4m3
  const void* v = nullptr;          // [batches, key_heads, head_dim, keys padded] of e4m3
  void* o = nullptr;                // [batches, heads, queries, head_dim] of bf16
  float* lse = nullptr;             // [batches, heads, queries]; null: not wanted
  const float* q_scales = nullptr;  // [heads]; null: 1
  const float* k_scales = nullptr;  // [key_heads]
  const float* v_scales = nullptr;  // [key_heads]
};

// Of a row of V, in elements.
std::int64_t attention_fp8_padded_keys(std::int64_t keys);

RunOutcome attention_fp8(const AttentionProblem& problem, const AttentionFp8Tensors& tensors,
                         const DeviceId& device, const RunOptions& options = {.kernel = "attention"});
void attention_fp8(const AttentionProblem& problem, const AttentionFp8Tensors& tensors, void* stream);

}  // namespace heddle
