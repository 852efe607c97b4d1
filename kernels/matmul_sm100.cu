// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm100_launch.h"
#include "split_k_reduce.h"

#include <algorithm>
#include <new>

namespace heddle::inline HEDDLE_TARGET {

template <>
RunOutcome launch_matmul_sm100<bf16>(Device& device, const MatmulSm100Call& call) {
  return sm100::launch_any<bf16>(device, call);
}

namespace {

RunOutcome launch_of_type(Device& device, const MatmulSm100Call& call) {
  switch (call.problem.input) {
    case MatmulElement::kBf16:
      return launch_matmul_sm100<bf16>(device, call);
    case MatmulElement::kFp16:
      return launch_matmul_sm100<fp16>(device, call);
    case MatmulElement::kE4m3:
      return launch_matmul_sm100<e4m3>(device, call);
    case MatmulElement::kE5m2:
      return launch_matmul_sm100<e5m2>(device, call);
    default:
      return launch_matmul_sm100<tf32>(device, call);
  }
}

RunOutcome add_up_splits(Device& device, const MatmulSm100Call& call, const void* partial) {
  const MatmulSm100Problem& p = call.problem;
  const MatmulSm100Plan& plan = call.plan;
  const SplitKReduce::Params params{.partial = static_cast<const float*>(partial),
                                    .partial_pitch = plan.partial_pitch,
                                    .partial_rows = static_cast<std::uint32_t>(p.m),
                                    .out = call.out,
                                    .output = p.output,
                                    .out_pitch = plan.out_pitch,
                                    .out_batch_stride = plan.out_batch_stride,
                                    .residual_batch_stride = plan.residual_batch_stride,
                                    .m = static_cast<std::uint32_t>(p.m),
                                    .n = static_cast<std::uint32_t>(p.n),
                                    .batches = static_cast<std::uint32_t>(p.batches),
                                    .splits = static_cast<std::uint32_t>(p.splits),
                                    .epilogue = {.alpha = p.alpha,
                                                 .bias = call.bias,
                                                 .residual = call.residual,
                                                 .residual_pitch = plan.residual_pitch,
                                                 .activation = p.activation}};
  return device.launch<SplitKReduce>(
      {.grid = {std::min<std::uint32_t>(params.m, 1024), std::min<std::uint32_t>(params.batches, 64)}}, params);
}

RunOutcome run(const MatmulSm100Problem& problem, const MatmulSm100Plan& plan, const MatmulTensors& tensors,
               const RunOptions& options) {
  Device device(options);
  DeviceBuffer a(device, "a", plan.a_bytes);
  DeviceBuffer b(device, "b", plan.b_bytes);
  DeviceBuffer out(device, "out", plan.out_bytes);
  DeviceBuffer bias(device, "bias", plan.bias_bytes);
  DeviceBuffer residual(device, "residual", plan.residual_bytes);
  DeviceBuffer partial(device, "partial sums", plan.partial_bytes);
  a.upload(tensors.a);
  b.upload(tensors.b);
  out.upload(tensors.out);
  bias.upload(tensors.bias);
  residual.upload(tensors.residual);
  const bool is_split = plan.partial_bytes != 0;
  MatmulSm100Call call{.problem = problem,
                       .plan = plan,
                       .a = a.data(),
                       .b = b.data(),
                       .out = is_split ? partial.data() : out.data(),
                       .bias = bias.data(),
                       .residual = residual.data()};
  RunOutcome outcome = launch_of_type(device, call);
  if (outcome.ok() && is_split) {
    call.out = out.data();
    outcome = add_up_splits(device, call, partial.data());
  }
  if (outcome.ok()) out.download(tensors.out);
  return outcome;
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome matmul_sm100<kTarget>(const MatmulSm100Problem& problem, const MatmulTensors& tensors,
                                 const RunOptions& options) {
  const MatmulSm100Plan plan = plan_matmul_sm100(problem, tensors);
  if (plan.out_bytes == 0) return {};
  RunOptions on_sm100 = options;
  on_sm100.arch = Arch::kSm100;
  try {
    return run(problem, plan, tensors, on_sm100);
  } catch (const std::bad_alloc&) {
    throw InputError(
        "matmul: the tensors take " +
        std::to_string(plan.a_bytes + plan.b_bytes + plan.out_bytes + plan.residual_bytes + plan.partial_bytes) +
        " bytes on the device, which has no room for them");
  }
}

}  // namespace heddle
