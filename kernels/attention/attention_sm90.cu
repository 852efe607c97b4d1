// SPDX-License-Identifier: Apache-2.0
#include "attention_sm90.h"

#include "attention_plan.h"
#include "attention_sm90_host.h"

#include <heddle/host/error.h>
#include <heddle/host/tensor_map.h>
#include <heddle/isa/device.h>
#include <heddle/isa/gpu_list.h>

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

// What was fastest on an H200: see docs/attention.md. Heads of 64 with few keys have smaller tiles of queries
// under a causal mask, so that less is above the diagonal.
constexpr AttentionConfig config_of(Heads heads, bool is_causal, bool has_few_keys, bool has_window = false) {
  AttentionConfig config{
      .head_dim = heads.head_dim, .value_dim = heads.value_dim, .is_causal = is_causal, .has_window = has_window};
  if (heads.head_dim == 64) config.warpgroups = has_few_keys || has_window ? 2 : 3;
  if (heads.head_dim > 128) {
    config.keys = heads.head_dim == 192 ? 128 : 64;
    config.q_stages = 1;
    config.o_cols = 64;
  }
  return config;
}
constexpr std::uint64_t kFewKeys = 1536;

constexpr float kLog2E = 1.4426950408889634f;

// A template, for nvcc's sake: see heddle/host/tile_map.h.
template <class Tile>
isa::TensorMap map_of(const void* address, const AttentionTensorPlan& tensor) {
  using T = typename Tile::value_type;
  constexpr Layout layout = Tile::layout;
  constexpr TmaBox box = layout.box();
  return make_tensor_map({.type = tensor_type<T>,
                          .rank = 4,
                          .address = address,
                          .dims = {tensor.dim, tensor.rows, tensor.heads, tensor.batches},
                          .strides = {tensor.row_stride * sizeof(T), tensor.head_stride * sizeof(T),
                                      tensor.batch_stride * sizeof(T)},
                          .box = {box.dims[0], box.dims[1], 1, 1},
                          .swizzle = layout.swizzle});
}

// Everything that a launch needs.
struct Call {
  const AttentionProblem& problem;
  const AttentionTensors& tensors;
  const AttentionPlan& plan;
  void* stream;
};

// Of how many heads the tiles are dealt out in pairs under a causal mask: all but those whose tiles make a round
// and a half, which is what keeps CTAs within two percent of one another.
inline std::uint64_t paired_heads(std::uint64_t heads, std::uint64_t tiles, std::uint64_t ctas) {
  const std::uint64_t at_the_end = std::min(heads, (3 * ctas / 2 + tiles - 1) / tiles);
  return (heads - at_the_end) / 2 * 2;
}

inline PlainScores::Params score_params(const Call&, PlainScores) { return {}; }
inline CappedScores::Params score_params(const Call& call, CappedScores) {
  const float cap = call.problem.soft_cap;
  return {.cap = cap, .factor = cap == 0 ? 0 : call.plan.scale / cap * 2 * kLog2E};
}

template <class K, AttentionConfig config, class Score>
AttentionSm90Params<Score> params_of(const Call& call, std::uint32_t ctas) {
  const AttentionPlan& plan = call.plan;
  // Without a mask, every query sees every key.
  const bool sees_all = config.is_causal && !call.problem.is_causal;
  const auto number = [](std::uint64_t value) { return static_cast<std::int32_t>(value); };
  const std::uint64_t all_heads = plan.q.heads * plan.q.batches;
  const std::uint64_t tiles = (plan.q.rows + config.queries() - 1) / config.queries();
  const std::uint64_t paired = config.is_causal ? paired_heads(all_heads, tiles, ctas) : 0;
  const std::uint64_t sharing = plan.q.heads / plan.k.heads;
  return {.q = map_of<typename K::QTiles::Tile>(call.tensors.q, plan.q),
          .k = map_of<typename K::KTiles::Tile>(call.tensors.k, plan.k),
          .v = map_of<typename K::VTiles::Tile>(call.tensors.v, plan.v),
          .o = map_of<typename K::OTiles::Tile>(call.tensors.o, plan.o),
          .extents = {.queries = number(plan.q.rows),
                      .keys = number(plan.k.rows),
                      .heads = number(plan.q.heads),
                      .batches = number(plan.q.batches),
                      .offset = sees_all ? number(plan.k.rows) : number(plan.k.rows) - number(plan.q.rows),
                      .window = call.problem.window == 0 ? number(std::uint64_t{1} << 30)
                                                         : static_cast<std::int32_t>(call.problem.window),
                      .tiles = number(tiles),
                      .paired = number(paired),
                      .group = config.is_causal ? number(all_heads - paired) : 1},
          .heads_per_key_head = static_cast<std::uint32_t>(sharing),
          .lse = call.tensors.lse,
          .sinks = call.tensors.sinks,
          .factor = (call.problem.soft_cap == 0 ? plan.scale : 1.0f) * kLog2E,
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
  const auto params = params_of<K, config, Score>(call, resident);
  const AttentionSteps::Extents& extents = params.extents;
  const std::int32_t portions = (extents.heads * extents.batches - extents.paired / 2) * extents.tiles;
  const std::uint32_t ctas = std::min(static_cast<std::uint32_t>(portions), resident);
  return device.enqueue<K>({.grid = {ctas}, .is_dependent = call.problem.is_dependent}, params, call.stream);
}

// Windows and caps have kernels of their own, which can do everything: without a mask, queries are moved to after
// the last key.
template <Element T, Heads heads>
RunOutcome launch_heads(Device& device, const Call& call) {
  if (call.problem.window != 0 || call.problem.soft_cap != 0) {
    return launch_config<T, config_of(heads, true, false, true), CappedScores>(device, call);
  }
  if (!call.problem.is_causal) return launch_config<T, config_of(heads, false, false)>(device, call);
  if constexpr (heads.head_dim == 64) {
    if (call.plan.k.rows <= kFewKeys) return launch_config<T, config_of(heads, true, true)>(device, call);
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

void check_gpu(int ordinal) {
  if constexpr (kIsSimulated) return;
  static const GpuList list = find_gpus();
  for (const GpuDescription& gpu : list.gpus) {
    if (gpu.ordinal != ordinal) continue;
    if (gpu.major == 9) return;
    throw InputError("attention: GPU " + std::to_string(ordinal) + " (" + gpu.name + ") has compute capability " +
                     std::to_string(gpu.major) + "." + std::to_string(gpu.minor) + "; this kernel is for 9.0");
  }
  throw DriverError("attention: there is no GPU " + std::to_string(ordinal), 0);
}

// The tensors, copied from host memory.
class OnDevice {
 public:
  OnDevice(Device& device, const AttentionTensors& host, const AttentionPlan& plan)
      : q_(device, "q", plan.q.bytes),
        k_(device, "k", plan.k.bytes),
        v_(device, "v", plan.v.bytes),
        o_(device, "o", plan.o.bytes),
        lse_(device, "lse", host.lse == nullptr ? 0 : plan.lse_bytes),
        sinks_(device, "sinks", host.sinks == nullptr ? 0 : plan.sinks_bytes) {
    q_.upload(host.q);
    k_.upload(host.k);
    v_.upload(host.v);
    o_.upload(host.o);  // for what lies between its rows
    sinks_.upload(host.sinks);
  }

  AttentionTensors tensors() const {
    return {.q = q_.data(),
            .k = k_.data(),
            .v = v_.data(),
            .o = o_.data(),
            .lse = static_cast<float*>(lse_.data()),
            .sinks = static_cast<const float*>(sinks_.data())};
  }
  void download(const AttentionTensors& host) const {
    o_.download(host.o);
    lse_.download(host.lse);
  }

 private:
  DeviceBuffer q_;
  DeviceBuffer k_;
  DeviceBuffer v_;
  DeviceBuffer o_;
  DeviceBuffer lse_;
  DeviceBuffer sinks_;
};

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome attention_sm90<kTarget>(const AttentionProblem& problem, const AttentionTensors& tensors,
                                   const RunOptions& options) {
  const AttentionPlan plan = plan_attention(problem);
  check_attention_tensors(plan, tensors, true);
  check_gpu(options.ordinal);
  Device device(options);
  try {
    const OnDevice copies(device, tensors, plan);
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
    check_attention_tensors(plan, tensors, false);
    const int ordinal = current_device();
    check_gpu(ordinal);
    const int stream_device = device_of_stream(stream);
    if (stream_device != ordinal) {
      throw InputError("attention: the stream belongs to GPU " + std::to_string(stream_device) + ", and GPU " +
                       std::to_string(ordinal) + " is the current one");
    }
    Device device({.kernel = "attention", .ordinal = ordinal});
    const RunOutcome outcome = start(device, {problem, tensors, plan, stream});
    if (!outcome.ok()) throw DriverError(outcome.report, 0);
  }
}

}  // namespace heddle
