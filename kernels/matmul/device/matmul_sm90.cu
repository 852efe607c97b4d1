// SPDX-License-Identifier: Apache-2.0
#include "matmul/host/matmul_families.h"
#include "matmul/host/matmul_on_device.h"
#include "matmul_sm90_launch.h"
#include "split_k_reduce.h"

#include <heddle/isa/gpu_list.h>

namespace heddle::inline HEDDLE_TARGET {

namespace {

using Reduce = SplitKReduce<Arch::kSm90>;

const MatmulSm90Launches& all_launches() {
  static const MatmulSm90Launches all = [] {
    MatmulSm90Launches launches;
    add_launches<MatmulGroup::kLarge>(launches);
    add_launches<MatmulGroup::kSmall>(launches);
    add_launches<MatmulGroup::kSwapped>(launches);
    add_launches<MatmulGroup::kFused>(launches);
    add_launches<MatmulGroup::kFusedKn>(launches);
    if constexpr (kIsSimulated) add_launches<MatmulGroup::kSimulated>(launches);
    return launches;
  }();
  return all;
}

RunOutcome add_up_parts(Device& device, const MatmulProblem& problem, const MatmulTensors& tensors,
                        const MatmulSm90Plan& plan, void* stream) {
  const Reduce::Params params{.partial = static_cast<const float*>(tensors.workspace),
                              .partial_pitch = plan.partial_pitch,
                              .partial_rows = plan.partial_rows,
                              .out = tensors.out,
                              .output = problem.out_type,
                              .out_pitch = plan.out_pitch,
                              .out_batch_stride = 0,
                              .residual_batch_stride = 0,
                              .m = static_cast<std::uint32_t>(problem.m),
                              .n = static_cast<std::uint32_t>(problem.n),
                              .batches = 1,
                              .splits = plan.stored_parts(),
                              .epilogue = matmul_epilogue(problem, tensors, plan)};
  return device.enqueue<Reduce>({.grid = {std::min(params.m, 4096u), 1, (params.n - 1) / Reduce::kCols + 1},
                                 .is_dependent = problem.is_dependent},
                                params, stream);
}

RunOutcome enqueue(Device& device, const MatmulProblem& problem, const MatmulTensors& tensors,
                   const MatmulSm90Plan& plan, void* stream) {
  const auto& launches = problem.a_type == MatmulElement::kBf16 ? all_launches().bf16 : all_launches().fp16;
  const RunOutcome outcome = launches[plan.choice.instance](
      device, {.problem = &problem, .tensors = &tensors, .plan = &plan, .stream = stream});
  if (!outcome.ok() || plan.stored_parts() == 1) return outcome;
  return add_up_parts(device, problem, tensors, plan, stream);
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
void enqueue_matmul_sm90<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream) {
  const MatmulSm90Plan plan =
      plan_matmul_sm90(problem, tensors, kIsSimulated, workspace_bytes_of(tensors), current_gpu_name());
  if (plan.out_bytes == 0) return;
  check_workspace(tensors, plan.stored_parts(), plan.partial_bytes);
  enqueue_on_current_gpu(problem, tensors, 9, stream,
                         [&](Device& device) { return enqueue(device, problem, tensors, plan, stream); });
}

template <>
RunOutcome matmul_sm90<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors,
                                const RunOptions& options) {
  const MatmulSm90Plan plan =
      plan_matmul_sm90(problem, tensors, kIsSimulated, kMatmulWorkspaceBytes, gpu_name(options.ordinal));
  if (plan.out_bytes == 0) return {};
  check_gpu(options.ordinal, 9);
  Device device(options);
  const MatmulOnDevice on_device(device, tensors, plan, plan.partial_bytes);
  const RunOutcome outcome =
      device.finish([&] { return enqueue(device, problem, on_device.tensors(), plan, nullptr); });
  if (outcome.ok()) on_device.download(tensors);
  return outcome;
}

template <>
GpuList matmul_gpus<kTarget>() {
  return find_gpus();
}

}  // namespace heddle
