// SPDX-License-Identifier: Apache-2.0
#include "attention_sm100_host.h"
#include "attention_sm100_launch.h"

namespace heddle::inline HEDDLE_TARGET {

namespace {

template <Element T, AttentionHeads heads, AttentionSm100Kind kind, class Score>
RunOutcome launch_kind(Device& device, const AttentionCall& call, const typename Score::Params& score) {
  return launch_attention_sm100<T, attention_sm100_config(heads, kind), Score>(device, call, score);
}

// Windows, caps and offsets have kernels of their own, which can do everything: without a mask, queries are moved
// to after the last key.
template <Element T, AttentionHeads heads>
RunOutcome launch_heads(Device& device, const AttentionCall& call) {
  if (call.problem.window != 0 || call.problem.soft_cap != 0 || call.tensors.query_offsets != nullptr) {
    return launch_kind<T, heads, AttentionSm100Kind{.is_general = true}, CappedScores>(
        device, call, capped_scores(call.problem, call.plan));
  }
  if (call.problem.is_causal) {
    return launch_kind<T, heads, AttentionSm100Kind{.is_causal = true}, PlainScores>(device, call, {});
  }
  return launch_kind<T, heads, AttentionSm100Kind{}, PlainScores>(device, call, {});
}

template <Element T>
RunOutcome launch_type(Device& device, const AttentionCall& call) {
  return with_attention_heads<AttentionHeads{64, 64}, AttentionHeads{128, 128}, AttentionHeads{192, 128},
                              AttentionHeads{256, 256}>(
      call.plan, [&]<AttentionHeads heads>() { return launch_heads<T, heads>(device, call); });
}

RunOutcome start(Device& device, const AttentionCall& call) {
  return call.problem.type == AttentionElement::kBf16 ? launch_type<bf16>(device, call)
                                                      : launch_type<fp16>(device, call);
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome attention_sm100<kTarget>(const AttentionProblem& problem, const AttentionTensors& tensors,
                                    const RunOptions& options) {
  return run_attention(problem, tensors, options, 10, start);
}

template <>
void enqueue_attention_sm100<kTarget>(const AttentionProblem& problem, const AttentionTensors& tensors,
                                      void* stream) {
  start_attention(problem, tensors, stream, 10, start);
}

}  // namespace heddle
