// SPDX-License-Identifier: Apache-2.0
//
// Launches of Blackwell's attention, for the kernels of the library and for those with a score policy of one's
// own, as attention_sm90_launch.h has them:
//
//   constexpr AttentionSm100Config config = attention_sm100_config({128, 128}, {.is_causal = true});
//   enqueue_attention_scored<bf16, config, Distance>(problem, tensors, {.slope = 0.25f}, stream);
#pragma once

#include "attention_forward_sm100.h"
#include "attention_launch.h"

#include <algorithm>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionSm100Kind {
  bool is_causal = false;
  bool is_general = false;  // windows and offsets, too; its mask is causal, and may let every query see every key
};

// Two tiles of queries, but for heads of 256: sums of two tiles would take all of tensor memory, and scores have
// to lie there too. What shared memory has room for beside the queries decides about tiles of keys.
constexpr AttentionSm100Config attention_sm100_config(AttentionHeads heads, AttentionSm100Kind kind) {
  return {.head_dim = heads.head_dim,
          .value_dim = heads.value_dim,
          .keys = heads.head_dim > 128 ? 64u : 128u,
          .stages = heads.head_dim == 64 ? 3u : 2u,
          .tiles = heads.value_dim > 128 ? 1u : 2u,
          .is_causal = kind.is_causal || kind.is_general,
          .has_window = kind.is_general,
          .has_offsets = kind.is_general};
}

template <Element T, AttentionSm100Config config, class Score>
RunOutcome launch_attention_sm100(Device& device, const AttentionCall& call,
                                  const typename Score::Params& score) {
  using K = AttentionForwardSm100<T, config, Score>;
  const std::uint32_t resident = device.resident_clusters<K>(1);
  if (resident == 0) {
    RunOutcome outcome;
    outcome.report = "attention: the GPU says that it can run no CTA of this kernel\n";
    return outcome;
  }
  const auto params = attention_params<K>(call, K::kTiles * K::kRows, config.is_causal, resident, score);
  const std::uint32_t ctas = std::min(portions_of(params.extents), resident);
  return device.enqueue<K>({.grid = {ctas}, .is_dependent = call.problem.is_dependent}, params, call.stream);
}

// attention() with a score policy, with host memory and with a stream: what they do is as there.
template <Element T, AttentionSm100Config config, class Score>
RunOutcome attention_scored(const AttentionProblem& problem, const AttentionTensors& tensors,
                            const typename Score::Params& score, const RunOptions& options) {
  check_attention_config<T>(problem, config);
  return run_attention(problem, tensors, options, 10, [&](Device& device, const AttentionCall& call) {
    return launch_attention_sm100<T, config, Score>(device, call, score);
  });
}
template <Element T, AttentionSm100Config config, class Score>
void enqueue_attention_scored(const AttentionProblem& problem, const AttentionTensors& tensors,
                              const typename Score::Params& score, void* stream) {
  check_attention_config<T>(problem, config);
  start_attention(problem, tensors, stream, 10, [&](Device& device, const AttentionCall& call) {
    return launch_attention_sm100<T, config, Score>(device, call, score);
  });
}

}  // namespace heddle::inline HEDDLE_TARGET
