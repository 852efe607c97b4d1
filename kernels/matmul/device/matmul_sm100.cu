// SPDX-License-Identifier: Apache-2.0
#include "matmul/host/matmul_families.h"
#include "matmul/host/matmul_on_device.h"
#include "matmul_sm100_launch.h"
#include "split_k_reduce.h"

#include <algorithm>

namespace heddle::inline HEDDLE_TARGET {

RunOutcome launch_sm100_f16(Device& device, const MatmulSm100Call& call) {
  return sm100::launch_any<MmaKind::kF16>(device, call);
}

namespace {

using Reduce = SplitKReduce<Arch::kSm100>;

RunOutcome launch_of_type(Device& device, const MatmulSm100Call& call) {
  const bool are_k_major = sm100::majors_of(call.problem) == OperandMajors{};
  switch (call.problem.a_type) {
    case MatmulElement::kBf16:
    case MatmulElement::kFp16:
      return are_k_major ? launch_sm100_f16(device, call) : launch_sm100_f16_layouts(device, call);
    case MatmulElement::kE4m3:
    case MatmulElement::kE5m2:
      return are_k_major ? launch_sm100_fp8(device, call) : launch_sm100_fp8_layouts(device, call);
    default: return are_k_major ? launch_sm100_tf32(device, call) : launch_sm100_tf32_layouts(device, call);
  }
}

RunOutcome add_up_splits(Device& device, const MatmulSm100Call& call, const void* partial) {
  const MatmulProblem& p = call.problem;
  const MatmulSm100Plan& plan = call.plan;
  const Reduce::Params params{.partial = static_cast<const float*>(partial),
                              .partial_pitch = plan.partial_pitch,
                              .partial_rows = static_cast<std::uint32_t>(p.m),
                              .out = call.out,
                              .output = p.out_type,
                              .out_pitch = plan.out_pitch,
                              .out_batch_stride = plan.out_batch_stride,
                              .residual_batch_stride = plan.residual_batch_stride,
                              .m = static_cast<std::uint32_t>(p.m),
                              .n = static_cast<std::uint32_t>(p.n),
                              .batches = static_cast<std::uint32_t>(p.batches),
                              .splits = static_cast<std::uint32_t>(p.splits),
                              .epilogue = {.alpha = p.alpha,
                                           .beta = p.beta,
                                           .c = p.beta != 0 ? call.out : nullptr,
                                           .bias = call.bias,
                                           .residual = call.residual,
                                           .c_pitch = plan.out_pitch,
                                           .residual_pitch = plan.residual_pitch,
                                           .activation = p.activation}};
  return device.enqueue<Reduce>(
      {.grid = {std::min<std::uint32_t>(params.m, 1024), std::min<std::uint32_t>(params.batches, 64)},
       .is_dependent = p.is_dependent},
      params, call.stream);
}

// Tensors on the device, with a workspace where K is split.
RunOutcome enqueue(Device& device, const MatmulProblem& problem, const MatmulSm100Plan& plan,
                   const MatmulTensors& tensors, void* stream) {
  const bool is_split = plan.partial_bytes != 0;
  MatmulSm100Call call{.problem = problem,
                       .plan = plan,
                       .a = tensors.a,
                       .b = tensors.b,
                       .out = is_split ? tensors.workspace : tensors.out,
                       .bias = tensors.bias,
                       .residual = tensors.residual,
                       .stream = stream};
  const RunOutcome outcome = launch_of_type(device, call);
  if (!outcome.ok() || !is_split) return outcome;
  call.out = tensors.out;
  return add_up_splits(device, call, tensors.workspace);
}

RunOutcome run(const MatmulProblem& problem, const MatmulSm100Plan& plan, const MatmulTensors& tensors,
               const RunOptions& options) {
  Device device(options);
  const MatmulOnDevice on_device(device, tensors, plan, plan.partial_bytes);
  const RunOutcome outcome =
      device.finish([&] { return enqueue(device, problem, plan, on_device.tensors(), nullptr); });
  if (outcome.ok()) on_device.download(tensors);
  return outcome;
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome matmul_sm100<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors,
                                 const RunOptions& options) {
  const MatmulSm100Plan plan = plan_matmul_sm100(problem, tensors);
  if (plan.out_bytes == 0) return {};
  check_gpu(options.ordinal, 10);
  RunOptions on_sm100 = options;
  on_sm100.arch = Arch::kSm100;
  return run(problem, plan, tensors, on_sm100);
}

template <>
void enqueue_matmul_sm100<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream) {
  const MatmulSm100Plan plan = plan_matmul_sm100(problem, tensors);
  if (plan.out_bytes == 0) return;
  check_workspace(tensors, problem.splits, plan.partial_bytes);
  enqueue_on_current_gpu(problem, tensors, 10, stream,
                         [&](Device& device) { return enqueue(device, problem, plan, tensors, stream); });
}

}  // namespace heddle
