// SPDX-License-Identifier: Apache-2.0
//
// Launches of Hopper's attention, for the kernels of the library and for those with a score policy of one's own:
//
//   constexpr AttentionConfig config = attention_sm90_config({128, 128}, {.is_causal = true});
//   enqueue_attention_scored<bf16, config, Distance>(problem, tensors, {.slope = 0.25f}, stream);
//
// in a source file for nvcc, or attention_scored with host memory and RunOptions, for the simulated SM too.
#pragma once

#include "attention_launch.h"
#include "attention_sm90.h"

#include <algorithm>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionKind {
  bool is_causal = false;
  bool has_few_keys = false;  // heads of 64 under a causal mask: up to kAttentionFewKeys
  bool is_general = false;  // windows and offsets, too; its mask is causal, and may let every query see every key
};
inline constexpr std::int64_t kAttentionFewKeys = 2048;

// What was fastest on an H200: see docs/attention.md. Heads of 64 with few keys have smaller tiles under a causal
// mask, so that less is above the diagonal, and two streams of them: what two warpgroups wait for, two others
// hide.
constexpr AttentionConfig attention_sm90_config(AttentionHeads heads, AttentionKind kind) {
  AttentionConfig config{.head_dim = heads.head_dim,
                         .value_dim = heads.value_dim,
                         .is_causal = kind.is_causal || kind.is_general,
                         .has_window = kind.is_general,
                         .has_offsets = kind.is_general};
  if (heads.head_dim == 64) config.warpgroups = kind.has_few_keys || kind.is_general ? 2 : 3;
  if (kind.has_few_keys) {
    config.keys = 64;
    config.streams = 2;
    config.takes_turns = false;
  }
  if (heads.head_dim > 128) {
    config.keys = heads.head_dim == 192 ? 128 : 64;
    if (kind.is_general) config.keys -= 16;  // no register is left for more
    config.q_stages = 1;
    config.o_cols = 64;
  }
  return config;
}

template <Element T, AttentionConfig config, class Score>
RunOutcome launch_attention_sm90(Device& device, const AttentionCall& call, const typename Score::Params& score) {
  using K = AttentionSm90<T, config, Score>;
  const std::uint32_t resident = device.resident_clusters<K>(1);
  if (resident == 0) {
    RunOutcome outcome;
    outcome.report = "attention: the GPU says that it can run no CTA of this kernel\n";
    return outcome;
  }
  const auto params =
      attention_params<K>(call, config.queries(), config.is_causal, resident * config.streams, score);
  const std::uint32_t wanted = (portions_of(params.extents) + config.streams - 1) / config.streams;
  const std::uint32_t ctas = std::min(wanted, resident);
  return device.enqueue<K>({.grid = {ctas}, .is_dependent = call.problem.is_dependent}, params, call.stream);
}

// attention() with a score policy, with host memory and with a stream: what they do is as there.
template <Element T, AttentionConfig config, class Score>
RunOutcome attention_scored(const AttentionProblem& problem, const AttentionTensors& tensors,
                            const typename Score::Params& score, const RunOptions& options) {
  check_attention_config<T>(problem, config);
  return run_attention(problem, tensors, options, 9, [&](Device& device, const AttentionCall& call) {
    return launch_attention_sm90<T, config, Score>(device, call, score);
  });
}
template <Element T, AttentionConfig config, class Score>
void enqueue_attention_scored(const AttentionProblem& problem, const AttentionTensors& tensors,
                              const typename Score::Params& score, void* stream) {
  check_attention_config<T>(problem, config);
  start_attention(problem, tensors, stream, 9, [&](Device& device, const AttentionCall& call) {
    return launch_attention_sm90<T, config, Score>(device, call, score);
  });
}

}  // namespace heddle::inline HEDDLE_TARGET
