// SPDX-License-Identifier: Apache-2.0
//
// Launches of Hopper's attention, for the kernels of the library and for those with a score policy of one's own:
//
//   constexpr AttentionConfig config = attention_sm90_config({128, 128}, {.is_causal = true});
//   enqueue_attention_scored<bf16, config, Distance>(problem, tensors, {.slope = 0.25f}, stream);
//
// in a source file for nvcc, or attention_scored with host memory and RunOptions, for the simulated SM too.
#pragma once

#include "attention_device.h"
#include "attention_plan.h"
#include "attention_sm90.h"

#include <heddle/host/error.h>
#include <heddle/host/run_options.h>
#include <heddle/isa/device.h>

#include <algorithm>
#include <new>
#include <string>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionHeads {
  std::uint32_t head_dim;
  std::uint32_t value_dim;
};
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

// Everything that a launch needs.
struct AttentionCall {
  const AttentionProblem& problem;
  const AttentionTensors& tensors;
  const AttentionPlan& plan;
  void* stream;
};

template <class K, AttentionConfig config>
typename K::Params attention_params(const AttentionCall& call, std::uint32_t ctas,
                                    const decltype(K::Params::score)& score) {
  const AttentionPlan& plan = call.plan;
  return {.q = map_of<typename K::QTiles::Tile>(call.tensors.q, plan.q),
          .k = map_of<typename K::KTiles::Tile>(call.tensors.k, plan.k),
          .v = map_of<typename K::VTiles::Tile>(call.tensors.v, plan.v),
          .o = map_of<typename K::OTiles::Tile>(call.tensors.o, plan.o),
          .extents = extents_of(call.problem, call.tensors, plan, config.queries(), ctas, config.is_causal),
          .heads_per_key_head = static_cast<std::uint32_t>(plan.q.heads / plan.k.heads),
          .o_data = static_cast<typename K::OTiles::Tile::value_type*>(call.tensors.o),
          .o_row = static_cast<std::int64_t>(plan.o.row_stride),
          .o_head = static_cast<std::int64_t>(plan.o.head_stride),
          .o_dim = static_cast<std::int32_t>(plan.o.dim),
          .lse = call.tensors.lse,
          .sinks = call.tensors.sinks,
          .factor = score_factor(call.problem, plan),
          .score = score};
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
  const auto params = attention_params<K, config>(call, resident * config.streams, score);
  const std::uint32_t wanted = (portions_of(params.extents) + config.streams - 1) / config.streams;
  const std::uint32_t ctas = std::min(wanted, resident);
  return device.enqueue<K>({.grid = {ctas}, .is_dependent = call.problem.is_dependent}, params, call.stream);
}

// With tensors in host memory, by `start(device, call)`.
template <class Start>
RunOutcome run_attention_sm90(const AttentionProblem& problem, const AttentionTensors& tensors,
                              const RunOptions& options, const Start& start) {
  const AttentionPlan plan = plan_attention(problem);
  check_attention_tensors(problem, plan, tensors, true);
  check_gpu(options.ordinal);
  Device device(options);
  try {
    const AttentionOnDevice copies(device, tensors, plan);
    const AttentionTensors on_device = copies.tensors();
    const RunOutcome outcome = device.finish([&] {
      return start(device, AttentionCall{problem, on_device, plan, nullptr});
    });
    if (outcome.ok()) copies.download(tensors);
    return outcome;
  } catch (const std::bad_alloc&) {
    throw InputError("attention: the device has no room for the tensors, which take " +
                     std::to_string(plan.q.bytes + plan.k.bytes + plan.v.bytes + plan.o.bytes + plan.lse_bytes) +
                     " bytes");
  }
}

// With tensors on the current GPU, in a stream of it.
template <class Start>
void start_attention_sm90(const AttentionProblem& problem, const AttentionTensors& tensors, void* stream,
                          const Start& start) {
  if constexpr (kIsSimulated) {
    throw InputError("attention: the simulated SM has no stream; give host memory and a device");
  } else {
    const AttentionPlan plan = plan_attention(problem);
    check_attention_tensors(problem, plan, tensors, false);
    Device device({.kernel = "attention", .ordinal = checked_gpu_of(stream)});
    const RunOutcome outcome = start(device, AttentionCall{problem, tensors, plan, stream});
    if (!outcome.ok()) throw DriverError(outcome.report, 0);
  }
}

// What a kernel of one configuration can do, where the problem asks for more.
template <Element T, AttentionConfig config>
void check_attention_config(const AttentionProblem& problem) {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) throw InputError("attention: " + message);
  };
  constexpr bool is_bf16 = operand_type<T>() == OperandType::kBf16;
  require(
      (problem.type == AttentionElement::kBf16) == is_bf16,
      std::string("the kernel is for ") + (is_bf16 ? "bf16" : "fp16") + ", and the problem's type is another");
  const std::int64_t value_dim = problem.value_dim == 0 ? problem.head_dim : problem.value_dim;
  require(problem.head_dim <= config.head_dim && value_dim <= config.value_dim,
          "head_dim is " + std::to_string(problem.head_dim) + " and value_dim " + std::to_string(value_dim) +
              "; the kernel is for heads up to " + std::to_string(config.head_dim) + " and " +
              std::to_string(config.value_dim));
  require(config.has_window || problem.is_causal == config.is_causal,
          std::string("the kernel is for ") + (config.is_causal ? "a causal mask" : "no mask") +
              "; one that is_general takes both");
  require(config.has_window || problem.window == 0,
          "window is " + std::to_string(problem.window) + "; only a kernel that is_general has windows");
  require(config.has_offsets || problem.query_rows == 0,
          "query_rows is " + std::to_string(problem.query_rows) +
              "; only a kernel that is_general takes batches one after another");
  require(problem.soft_cap == 0, "soft_cap is " + std::to_string(problem.soft_cap) +
                                     "; 0 would pass: scores are what the policy makes of them");
}

// attention() with a score policy, with host memory and with a stream: what they do is as there.
template <Element T, AttentionConfig config, class Score>
RunOutcome attention_scored(const AttentionProblem& problem, const AttentionTensors& tensors,
                            const typename Score::Params& score, const RunOptions& options) {
  check_attention_config<T, config>(problem);
  return run_attention_sm90(problem, tensors, options, [&](Device& device, const AttentionCall& call) {
    return launch_attention_sm90<T, config, Score>(device, call, score);
  });
}
template <Element T, AttentionConfig config, class Score>
void enqueue_attention_scored(const AttentionProblem& problem, const AttentionTensors& tensors,
                              const typename Score::Params& score, void* stream) {
  check_attention_config<T, config>(problem);
  start_attention_sm90(problem, tensors, stream, [&](Device& device, const AttentionCall& call) {
    return launch_attention_sm90<T, config, Score>(device, call, score);
  });
}

}  // namespace heddle::inline HEDDLE_TARGET
