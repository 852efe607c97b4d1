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
#include <cmath>

namespace heddle::inline HEDDLE_TARGET {

// Of queries and of keys. Which is fastest depends on how many there are: fastest_tiles.
enum class AttentionTiles {
  kLarge,
  kSmall,  // heads up to 96: less is left over at the ends of queries and keys, and above the diagonal
  kFew     // heads of 64: where all tiles together are less than the GPU has SMs
};

struct AttentionKind {
  bool is_causal = false;
  AttentionTiles tiles = AttentionTiles::kLarge;
  bool is_general = false;  // windows and offsets, too; its mask is causal, and may let every query see every key
};

// What was fastest on an H200: see docs/attention.md. Small tiles of heads of 64 have two streams: what two
// warpgroups wait for, two others hide.
constexpr AttentionConfig attention_sm90_config(AttentionHeads heads, AttentionKind kind) {
  AttentionConfig config{.head_dim = heads.head_dim,
                         .value_dim = heads.value_dim,
                         .is_causal = kind.is_causal || kind.is_general,
                         .has_window = kind.is_general,
                         .has_offsets = kind.is_general};
  const bool is_large = kind.tiles == AttentionTiles::kLarge && !kind.is_general;
  if (heads.head_dim <= 96 && is_large) config.warpgroups = 3;
  if (heads.head_dim == 96) {
    if (is_large) config.keys = 96;
    if (kind.tiles == AttentionTiles::kSmall) config.stages = 3;
  } else if (heads.head_dim == 64 && kind.tiles == AttentionTiles::kSmall) {
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

// How long a kernel takes, in any unit: what the busiest SM has to do, tiles with what is left over at their
// ends, at `speed` percent of the fastest. Under a causal mask lengths even out, and the longest tile is left.
inline double time_of_tiles(const AttentionConfig& config, const AttentionCall& call, std::uint32_t sms,
                            double speed) {
  const auto round_up = [](std::int64_t number, std::uint32_t step) {
    return static_cast<double>((number + step - 1) / step * step);
  };
  const AttentionProblem& problem = call.problem;
  const std::uint32_t tile = config.queries();
  const double rows = round_up(problem.queries, tile);
  const double keys = round_up(problem.keys, config.keys);
  const double all = rows / tile * static_cast<double>(problem.heads) * static_cast<double>(problem.batches);
  const double workers = sms * config.streams;
  double rounds = std::ceil(all / workers);
  if (config.is_causal) {
    const double unseen = std::min((rows - tile) / 2, keys) - config.keys / 2.0;
    rounds = std::max(all / workers * (1 - unseen / keys), 1.0);
  }
  return rounds * tile * config.streams * keys / speed;
}

// The fastest kind for heads up to 96, by speeds that were measured with much to do on an H200.
template <AttentionHeads heads>
AttentionTiles fastest_tiles(const AttentionCall& call, std::uint32_t sms) {
  const auto time = [&](AttentionTiles tiles, double speed) {
    const AttentionKind kind{.is_causal = call.problem.is_causal, .tiles = tiles};
    return time_of_tiles(attention_sm90_config(heads, kind), call, sms, speed);
  };
  const double of_large = time(AttentionTiles::kLarge, 100);
  const double of_small = time(AttentionTiles::kSmall, heads.head_dim != 64     ? 88
                                                       : call.problem.is_causal ? 96
                                                                                : 93);
  const AttentionTiles faster = of_small < of_large ? AttentionTiles::kSmall : AttentionTiles::kLarge;
  if (heads.head_dim != 64) return faster;
  return time(AttentionTiles::kFew, 78) < std::min(of_small, of_large) ? AttentionTiles::kFew : faster;
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
  const std::uint32_t ctas = std::min(portions_of(params.extents), resident);
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
