// SPDX-License-Identifier: Apache-2.0
#include "attention_sm90_launch.h"

#include "attention_sm90_host.h"

namespace heddle::inline HEDDLE_TARGET {

namespace {

template <Element T, AttentionHeads heads, AttentionKind kind>
RunOutcome launch_kind(Device& device, const AttentionCall& call) {
  return launch_attention_sm90<T, attention_sm90_config(heads, kind), PlainScores>(device, call, {});
}

template <Element T, AttentionHeads heads, bool is_causal>
RunOutcome launch_mask(Device& device, const AttentionCall& call) {
  using enum AttentionTiles;
  if constexpr (heads.head_dim <= 96) {
    const AttentionTiles tiles = fastest_tiles<heads>(call, device.sms());
    if (tiles == kSmall) {
      return launch_kind<T, heads, AttentionKind{.is_causal = is_causal, .tiles = kSmall}>(device, call);
    }
    if constexpr (heads.head_dim == 64) {
      if (tiles == kFew) {
        return launch_kind<T, heads, AttentionKind{.is_causal = is_causal, .tiles = kFew}>(device, call);
      }
    }
  }
  return launch_kind<T, heads, AttentionKind{.is_causal = is_causal}>(device, call);
}

// Windows, caps and offsets have kernels of their own, which can do everything: without a mask, queries are moved
// to after the last key.
template <Element T, AttentionHeads heads>
RunOutcome launch_heads(Device& device, const AttentionCall& call) {
  if (call.problem.window != 0 || call.problem.soft_cap != 0 || call.tensors.query_offsets != nullptr) {
    constexpr AttentionConfig config = attention_sm90_config(heads, {.is_general = true});
    return launch_attention_sm90<T, config, CappedScores>(device, call, capped_scores(call.problem, call.plan));
  }
  return call.problem.is_causal ? launch_mask<T, heads, true>(device, call)
                                : launch_mask<T, heads, false>(device, call);
}

template <Element T>
RunOutcome launch_type(Device& device, const AttentionCall& call) {
  return with_attention_heads<AttentionHeads{64, 64}, AttentionHeads{96, 96}, AttentionHeads{128, 128},
                              AttentionHeads{192, 128}, AttentionHeads{256, 256}>(
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
RunOutcome attention_sm90<kTarget>(const AttentionProblem& problem, const AttentionTensors& tensors,
                                   const RunOptions& options) {
  return run_attention(problem, tensors, options, 9, start);
}

template <>
void enqueue_attention_sm90<kTarget>(const AttentionProblem& problem, const AttentionTensors& tensors,
                                     void* stream) {
  start_attention(problem, tensors, stream, 9, start);
}

}  // namespace heddle
