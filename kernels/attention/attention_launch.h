// SPDX-License-Identifier: Apache-2.0
//
// What launches of forward attention on Hopper and on Blackwell have in common: tensors of host memory and of a
// GPU, parameters, and what a kernel with a score policy of one's own is refused for.
#pragma once

#include "attention_device.h"
#include "attention_params.h"
#include "attention_plan.h"

#include <heddle/host/device.h>
#include <heddle/host/error.h>
#include <heddle/host/run_options.h>
#include <heddle/tile/operand.h>

#include <algorithm>
#include <new>
#include <string>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionHeads {
  std::uint32_t head_dim;
  std::uint32_t value_dim;
};

// launch.operator()<heads>() for the first that a problem fits into; the last takes all. Columns that a problem
// does not have are zeros, and not stored.
template <AttentionHeads first, AttentionHeads... others, class Launch>
RunOutcome with_attention_heads(const AttentionPlan& plan, const Launch& launch) {
  if constexpr (sizeof...(others) > 0) {
    if (plan.q.dim > first.head_dim || plan.v.dim > first.value_dim) {
      return with_attention_heads<others...>(plan, launch);
    }
  }
  return launch.template operator()<first>();
}

// Everything that a launch needs.
struct AttentionCall {
  const AttentionProblem& problem;
  const AttentionTensors& tensors;
  const AttentionPlan& plan;
  void* stream;
};

// For a kernel with tiles of `queries`, that has a causal mask or none.
template <class K>
typename K::Params attention_params(const AttentionCall& call, std::uint32_t queries, bool is_causal,
                                    std::uint32_t ctas, const decltype(K::Params::score)& score) {
  const AttentionPlan& plan = call.plan;
  return {.q = map_of<typename K::QTiles::Tile>(call.tensors.q, plan.q),
          .k = map_of<typename K::KTiles::Tile>(call.tensors.k, plan.k),
          .v = map_of<typename K::VTiles::Tile>(call.tensors.v, plan.v),
          .o = map_of<typename K::OTiles::Tile>(call.tensors.o, plan.o),
          .extents = extents_of(call.problem, call.tensors, plan, queries, ctas, is_causal),
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

// With tensors in host memory, by `start(device, call)`, on GPUs of that compute capability.
template <class Start>
RunOutcome run_attention(const AttentionProblem& problem, const AttentionTensors& tensors,
                         const RunOptions& options, int major, const Start& start) {
  const AttentionPlan plan = plan_attention(problem);
  check_attention_tensors(problem, plan, tensors, true);
  check_gpu(options.ordinal, major);
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
void start_attention(const AttentionProblem& problem, const AttentionTensors& tensors, void* stream, int major,
                     const Start& start) {
  if constexpr (kIsSimulated) {
    throw InputError("attention: the simulated SM has no stream; give host memory and a device");
  } else {
    const AttentionPlan plan = plan_attention(problem);
    check_attention_tensors(problem, plan, tensors, false);
    Device device({.kernel = "attention", .ordinal = checked_gpu_of(stream, major)});
    const RunOutcome outcome = start(device, AttentionCall{problem, tensors, plan, stream});
    if (!outcome.ok()) throw DriverError(outcome.report, 0);
  }
}

// What a kernel of one configuration can do, where the problem asks for more.
template <Element T, class Config>
void check_attention_config(const AttentionProblem& problem, const Config& config) {
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

}  // namespace heddle::inline HEDDLE_TARGET
