// SPDX-License-Identifier: Apache-2.0
#include "attention_fp8_sm90.h"

#include "attention_device.h"
#include "attention_fp8_plan.h"
#include "attention_fp8_sm90_host.h"

#include <heddle/host/device.h>
#include <heddle/host/error.h>

#include <algorithm>
#include <new>

namespace heddle::inline HEDDLE_TARGET {

namespace {

template <AttentionFp8Config config>
RunOutcome launch_config(Device& device, const AttentionProblem& problem, const AttentionFp8Tensors& tensors,
                         const AttentionPlan& plan, void* stream) {
  using K = AttentionFp8Sm90<config>;
  const std::uint32_t resident = device.resident_clusters<K>(1);
  if (resident == 0) {
    RunOutcome outcome;
    outcome.report = "attention_fp8: the GPU says that it can run no CTA of this kernel\n";
    return outcome;
  }
  const AttentionFp8Params params{
      .q = map_of<typename K::QTiles::Tile>(tensors.q, plan.q),
      .k = map_of<typename K::KTiles::Tile>(tensors.k, plan.k),
      .v = map_of<typename K::VTiles::Tile>(tensors.v, plan.v),
      .o = map_of<typename K::OTiles::Tile>(tensors.o, plan.o),
      .extents = extents_of(problem, {}, plan, config.queries(), resident, config.is_causal),
      .heads_per_key_head = static_cast<std::int32_t>(plan.q.heads / plan.k.heads),
      .lse = tensors.lse,
      .q_scales = tensors.q_scales,
      .k_scales = tensors.k_scales,
      .v_scales = tensors.v_scales,
      .factor = score_factor(problem, plan)};
  const std::uint32_t ctas = std::min(portions_of(params.extents), resident);
  return device.enqueue<K>({.grid = {ctas}, .is_dependent = problem.is_dependent}, params, stream);
}

// Heads of less than 128 are filled with zeros.
RunOutcome start(Device& device, const AttentionProblem& problem, const AttentionFp8Tensors& tensors,
                 const AttentionPlan& plan, void* stream) {
  if (problem.is_causal) {
    return launch_config<AttentionFp8Config{.is_causal = true}>(device, problem, tensors, plan, stream);
  }
  return launch_config<AttentionFp8Config{}>(device, problem, tensors, plan, stream);
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome attention_fp8_sm90<kTarget>(const AttentionProblem& problem, const AttentionFp8Tensors& tensors,
                                       const RunOptions& options) {
  const AttentionPlan plan = plan_attention_fp8(problem);
  check_attention_fp8_tensors(plan, tensors, true);
  check_gpu(options.ordinal);
  Device device(options);
  try {
    const auto scale_bytes = [](const float* scales, std::uint64_t heads) {
      return scales == nullptr ? 0 : static_cast<std::size_t>(heads) * sizeof(float);
    };
    DeviceBuffer q(device, "q", plan.q.bytes);
    DeviceBuffer k(device, "k", plan.k.bytes);
    DeviceBuffer v(device, "v", plan.v.bytes);
    DeviceBuffer o(device, "o", plan.o.bytes);
    DeviceBuffer lse(device, "lse", tensors.lse == nullptr ? 0 : plan.lse_bytes);
    DeviceBuffer q_scales(device, "q_scales", scale_bytes(tensors.q_scales, plan.q.heads));
    DeviceBuffer k_scales(device, "k_scales", scale_bytes(tensors.k_scales, plan.k.heads));
    DeviceBuffer v_scales(device, "v_scales", scale_bytes(tensors.v_scales, plan.k.heads));
    q.upload(tensors.q);
    k.upload(tensors.k);
    v.upload(tensors.v);
    q_scales.upload(tensors.q_scales);
    k_scales.upload(tensors.k_scales);
    v_scales.upload(tensors.v_scales);
    const AttentionFp8Tensors on_device{.q = q.data(),
                                        .k = k.data(),
                                        .v = v.data(),
                                        .o = o.data(),
                                        .lse = static_cast<float*>(lse.data()),
                                        .q_scales = static_cast<const float*>(q_scales.data()),
                                        .k_scales = static_cast<const float*>(k_scales.data()),
                                        .v_scales = static_cast<const float*>(v_scales.data())};
    const RunOutcome outcome = device.finish([&] { return start(device, problem, on_device, plan, nullptr); });
    if (outcome.ok()) {
      o.download(tensors.o);
      lse.download(tensors.lse);
    }
    return outcome;
  } catch (const std::bad_alloc&) {
    throw InputError("attention_fp8: the device has no room for the tensors, which take " +
                     std::to_string(plan.q.bytes + plan.k.bytes + plan.v.bytes + plan.o.bytes) + " bytes");
  }
}

template <>
void enqueue_attention_fp8_sm90<kTarget>(const AttentionProblem& problem, const AttentionFp8Tensors& tensors,
                                         void* stream) {
  if constexpr (kIsSimulated) {
    throw InputError("attention_fp8: the simulated SM has no stream; give host memory and a device");
  } else {
    const AttentionPlan plan = plan_attention_fp8(problem);
    check_attention_fp8_tensors(plan, tensors, false);
    Device device({.kernel = "attention", .ordinal = checked_gpu_of(stream)});
    const RunOutcome outcome = start(device, problem, tensors, plan, stream);
    if (!outcome.ok()) throw DriverError(outcome.report, 0);
  }
}

}  // namespace heddle
