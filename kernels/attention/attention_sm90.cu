// SPDX-License-Identifier: Apache-2.0
#include "attention_sm90_launch.h"

#include "attention_sm90_host.h"

namespace heddle::inline HEDDLE_TARGET {

namespace {

// The kernels, by the largest heads that they take: columns that a problem does not have are zeros, and not
// stored.
constexpr AttentionHeads kHeads[] = {{64, 64}, {128, 128}, {192, 128}, {256, 256}};

template <Element T, AttentionHeads heads, AttentionKind kind>
RunOutcome launch_kind(Device& device, const AttentionCall& call) {
  return launch_attention_sm90<T, attention_sm90_config(heads, kind), PlainScores>(device, call, {});
}

// Windows, caps and offsets have kernels of their own, which can do everything: without a mask, queries are moved
// to after the last key.
template <Element T, AttentionHeads heads>
RunOutcome launch_heads(Device& device, const AttentionCall& call) {
  if (call.problem.window != 0 || call.problem.soft_cap != 0 || call.tensors.query_offsets != nullptr) {
    constexpr AttentionConfig config = attention_sm90_config(heads, {.is_general = true});
    return launch_attention_sm90<T, config, CappedScores>(device, call, capped_scores(call.problem, call.plan));
  }
  if (!call.problem.is_causal) return launch_kind<T, heads, AttentionKind{}>(device, call);
  if constexpr (heads.head_dim == 64) {
    if (call.problem.keys <= kAttentionFewKeys) {
      return launch_kind<T, heads, AttentionKind{.is_causal = true, .has_few_keys = true}>(device, call);
    }
  }
  return launch_kind<T, heads, AttentionKind{.is_causal = true}>(device, call);
}

template <Element T>
RunOutcome launch_type(Device& device, const AttentionCall& call) {
  const auto fits = [&](const AttentionHeads& heads) {
    return call.plan.q.dim <= heads.head_dim && call.plan.v.dim <= heads.value_dim;
  };
  if (fits(kHeads[0])) return launch_heads<T, kHeads[0]>(device, call);
  if (fits(kHeads[1])) return launch_heads<T, kHeads[1]>(device, call);
  if (fits(kHeads[2])) return launch_heads<T, kHeads[2]>(device, call);
  return launch_heads<T, kHeads[3]>(device, call);
}

RunOutcome start(Device& device, const AttentionCall& call) {
  return call.problem.type == AttentionElement::kBf16 ? launch_type<bf16>(device, call)
                                                      : launch_type<fp16>(device, call);
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome attention_sm90<kTarget>(const AttentionProblem& problem, const AttentionTensors& tensors,
                                   const RunOptions& options) {
  return run_attention_sm90(problem, tensors, options, start);
}

template <>
void enqueue_attention_sm90<kTarget>(const AttentionProblem& problem, const AttentionTensors& tensors,
                                     void* stream) {
  start_attention_sm90(problem, tensors, stream, start);
}

}  // namespace heddle
