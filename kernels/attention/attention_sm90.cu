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

// What was fastest on an H200: see docs/attention.md. Long ones have so many keys that larger tiles pay, although
// the next queries are then loaded only when nobody reads those before them.
constexpr AttentionConfig config_of(Heads heads, bool is_causal, bool is_long) {
  AttentionConfig config{.head_dim = heads.head_dim, .value_dim = heads.value_dim, .is_causal = is_causal};
  if (heads.head_dim == 64) config.warpgroups = 3;
  if (heads.head_dim == 128 && is_long) {
    config.keys = 160;
    config.q_stages = 1;
  }
  if (heads.head_dim > 128) {
    config.keys = heads.head_dim == 192 ? 128 : 64;
    config.q_stages = 1;
    config.o_cols = 64;
  }
  return config;
}
constexpr std::int64_t kLongKeys = 3072;

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

template <class K, AttentionConfig config>
AttentionSm90Params params_of(const Call& call, std::uint32_t ctas) {
  const AttentionPlan& plan = call.plan;
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
                      .offset = number(plan.k.rows) - number(plan.q.rows),
                      .tiles = number(tiles),
                      .paired = number(paired),
                      .group = config.is_causal ? number(all_heads - paired) : 1},
          .heads_per_key_head = static_cast<std::uint32_t>(sharing),
          .lse = call.tensors.lse,
          .factor = plan.scale * 1.4426950408889634f};
}

template <Element T, AttentionConfig config>
RunOutcome launch_config(Device& device, const Call& call) {
  using K = AttentionSm90<T, config>;
  const std::uint32_t resident = device.resident_clusters<K>(1);
  if (resident == 0) {
    RunOutcome outcome;
    outcome.report = "attention: the GPU says that it can run no CTA of this kernel\n";
    return outcome;
  }
  const auto params = params_of<K, config>(call, resident);
  const AttentionSteps::Extents& extents = params.extents;
  const std::int32_t portions = (extents.heads * extents.batches - extents.paired / 2) * extents.tiles;
  const std::uint32_t ctas = std::min(static_cast<std::uint32_t>(portions), resident);
  return device.enqueue<K>({.grid = {ctas}, .is_dependent = call.problem.is_dependent}, params, call.stream);
}

template <Element T, Heads heads, bool is_long>
RunOutcome launch_heads(Device& device, const Call& call) {
  return call.problem.is_causal ? launch_config<T, config_of(heads, true, is_long)>(device, call)
                                : launch_config<T, config_of(heads, false, is_long)>(device, call);
}

template <Element T>
RunOutcome launch_type(Device& device, const Call& call) {
  const auto fits = [&](const Heads& heads) {
    return call.plan.q.dim <= heads.head_dim && call.plan.v.dim <= heads.value_dim;
  };
  if (fits(kHeads[0])) return launch_heads<T, kHeads[0], false>(device, call);
  if (fits(kHeads[1])) {
    return call.problem.keys >= kLongKeys ? launch_heads<T, kHeads[1], true>(device, call)
                                          : launch_heads<T, kHeads[1], false>(device, call);
  }
  if (fits(kHeads[2])) return launch_heads<T, kHeads[2], false>(device, call);
  return launch_heads<T, kHeads[3], false>(device, call);
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
        lse_(device, "lse", host.lse == nullptr ? 0 : plan.lse_bytes) {
    q_.upload(host.q);
    k_.upload(host.k);
    v_.upload(host.v);
    o_.upload(host.o);  // for what lies between its rows
  }

  AttentionTensors tensors() const {
    return {
        .q = q_.data(), .k = k_.data(), .v = v_.data(), .o = o_.data(), .lse = static_cast<float*>(lse_.data())};
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
