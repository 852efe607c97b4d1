// SPDX-License-Identifier: Apache-2.0
#include "attention_sm90.h"

#include "attention_device.h"
#include "attention_plan.h"
#include "attention_sm90_host.h"

#include <heddle/host/error.h>
#include <heddle/isa/device.h>

#include <algorithm>
#include <new>

namespace heddle::inline HEDDLE_TARGET {

namespace {

// The kernels, by the largest heads that they take: columns that a problem does not have are zeros, and not
// stored.
constexpr struct Heads {
  std::uint32_t head_dim;
  std::uint32_t value_dim;
} kHeads[] = {{64, 64}, {128, 128}, {192, 128}, {256, 256}};

// What was fastest on an H200: see docs/attention.md. Heads of 64 with few keys have smaller tiles under a causal
// mask, so that less is above the diagonal, and two streams of them: what two warpgroups wait for, two others
// hide.
constexpr AttentionConfig config_of(Heads heads, bool is_causal, bool has_few_keys, bool is_general = false) {
  AttentionConfig config{.head_dim = heads.head_dim,
                         .value_dim = heads.value_dim,
                         .is_causal = is_causal,
                         .has_window = is_general,
                         .has_offsets = is_general};
  if (heads.head_dim == 64) config.warpgroups = has_few_keys || is_general ? 2 : 3;
  if (has_few_keys) {
    config.keys = 64;
    config.streams = 2;
    config.takes_turns = false;
  }
  if (heads.head_dim > 128) {
    config.keys = heads.head_dim == 192 ? 128 : 64;
    if (is_general) config.keys -= 16;  // no register is left for more
    config.q_stages = 1;
    config.o_cols = 64;
  }
  return config;
}
constexpr std::uint64_t kFewKeys = 2048;

// Everything that a launch needs.
struct Call {
  const AttentionProblem& problem;
  const AttentionTensors& tensors;
  const AttentionPlan& plan;
  void* stream;
};

inline PlainScores::Params score_params(const Call&, PlainScores) { return {}; }
inline CappedScores::Params score_params(const Call& call, CappedScores) {
  return capped_scores(call.problem, call.plan);
}

template <class K, AttentionConfig config, class Score>
typename K::Params params_of(const Call& call, std::uint32_t ctas) {
  const AttentionPlan& plan = call.plan;
  const auto number = [](std::uint64_t value) { return static_cast<std::int32_t>(value); };
  const std::uint64_t sharing = plan.q.heads / plan.k.heads;
  return {.q = map_of<typename K::QTiles::Tile>(call.tensors.q, plan.q),
          .k = map_of<typename K::KTiles::Tile>(call.tensors.k, plan.k),
          .v = map_of<typename K::VTiles::Tile>(call.tensors.v, plan.v),
          .o = map_of<typename K::OTiles::Tile>(call.tensors.o, plan.o),
          .extents = extents_of(call.problem, call.tensors, plan, config.queries(), ctas, config.is_causal),
          .heads_per_key_head = static_cast<std::uint32_t>(sharing),
          .o_data = static_cast<typename K::OTiles::Tile::value_type*>(call.tensors.o),
          .o_row = static_cast<std::int64_t>(plan.o.row_stride),
          .o_head = static_cast<std::int64_t>(plan.o.head_stride),
          .o_dim = number(plan.o.dim),
          .lse = call.tensors.lse,
          .sinks = call.tensors.sinks,
          .factor = score_factor(call.problem, plan),
          .score = score_params(call, Score{})};
}

template <Element T, AttentionConfig config, class Score = PlainScores>
RunOutcome launch_config(Device& device, const Call& call) {
  using K = AttentionSm90<T, config, Score>;
  const std::uint32_t resident = device.resident_clusters<K>(1);
  if (resident == 0) {
    RunOutcome outcome;
    outcome.report = "attention: the GPU says that it can run no CTA of this kernel\n";
    return outcome;
  }
  const auto params = params_of<K, config, Score>(call, resident * config.streams);
  const std::uint32_t wanted = (portions_of(params.extents) + config.streams - 1) / config.streams;
  const std::uint32_t ctas = std::min(wanted, resident);
  return device.enqueue<K>({.grid = {ctas}, .is_dependent = call.problem.is_dependent}, params, call.stream);
}

// Windows, caps and offsets have kernels of their own, which can do everything: without a mask, queries are moved
// to after the last key.
template <Element T, Heads heads>
RunOutcome launch_heads(Device& device, const Call& call) {
  if (call.problem.window != 0 || call.problem.soft_cap != 0 || call.tensors.query_offsets != nullptr) {
    return launch_config<T, config_of(heads, true, false, true), CappedScores>(device, call);
  }
  if (!call.problem.is_causal) return launch_config<T, config_of(heads, false, false)>(device, call);
  if constexpr (heads.head_dim == 64) {
    if (static_cast<std::uint64_t>(call.problem.keys) <= kFewKeys)
      return launch_config<T, config_of(heads, true, true)>(device, call);
  }
  return launch_config<T, config_of(heads, true, false)>(device, call);
}

template <Element T>
RunOutcome launch_type(Device& device, const Call& call) {
  const auto fits = [&](const Heads& heads) {
    return call.plan.q.dim <= heads.head_dim && call.plan.v.dim <= heads.value_dim;
  };
  if (fits(kHeads[0])) return launch_heads<T, kHeads[0]>(device, call);
  if (fits(kHeads[1])) return launch_heads<T, kHeads[1]>(device, call);
  if (fits(kHeads[2])) return launch_heads<T, kHeads[2]>(device, call);
  return launch_heads<T, kHeads[3]>(device, call);
}

RunOutcome start(Device& device, const Call& call) {
  return call.problem.type == AttentionElement::kBf16 ? launch_type<bf16>(device, call)
                                                      : launch_type<fp16>(device, call);
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome attention_sm90<kTarget>(const AttentionProblem& problem, const AttentionTensors& tensors,
                                   const RunOptions& options) {
  const AttentionPlan plan = plan_attention(problem);
  check_attention_tensors(problem, plan, tensors, true);
  check_gpu(options.ordinal);
  Device device(options);
  try {
    const AttentionOnDevice copies(device, tensors, plan);
    const AttentionTensors on_device = copies.tensors();
    const RunOutcome outcome = device.finish([&] { return start(device, {problem, on_device, plan, nullptr}); });
    if (outcome.ok()) copies.download(tensors);
    return outcome;
  } catch (const std::bad_alloc&) {
    throw InputError("attention: the device has no room for the tensors, which take " +
                     std::to_string(plan.q.bytes + plan.k.bytes + plan.v.bytes + plan.o.bytes + plan.lse_bytes) +
                     " bytes");
  }
}

template <>
void enqueue_attention_sm90<kTarget>(const AttentionProblem& problem, const AttentionTensors& tensors,
                                     void* stream) {
  if constexpr (kIsSimulated) {
    throw InputError("attention: the simulated SM has no stream; give host memory and a device");
  } else {
    const AttentionPlan plan = plan_attention(problem);
    check_attention_tensors(problem, plan, tensors, false);
    Device device({.kernel = "attention", .ordinal = checked_gpu_of(stream)});
    const RunOutcome outcome = start(device, {problem, tensors, plan, stream});
    if (!outcome.ok()) throw DriverError(outcome.report, 0);
  }
}

}  // namespace heddle
