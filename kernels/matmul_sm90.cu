// SPDX-License-Identifier: Apache-2.0
#include "matmul_families.h"
#include "matmul_on_device.h"
#include "matmul_sm90_launch.h"

#include <heddle/isa/gpu_list.h>

namespace heddle::inline HEDDLE_TARGET {

namespace {

const MatmulSm90Launches& all_launches() {
  static const MatmulSm90Launches all = [] {
    MatmulSm90Launches launches;
    add_launches<MatmulGroup::kLarge>(launches);
    add_launches<MatmulGroup::kSmall>(launches);
    add_launches<MatmulGroup::kFused>(launches);
    add_launches<MatmulGroup::kFusedKn>(launches);
    if constexpr (kIsSimulated) add_launches<MatmulGroup::kSimulated>(launches);
    return launches;
  }();
  return all;
}

RunOutcome enqueue(Device& device, const MatmulProblem& problem, const MatmulTensors& tensors, void* stream) {
  const MatmulSm90Plan plan = plan_matmul_sm90(problem, tensors, kIsSimulated);
  if (plan.out_bytes == 0) return {};
  const auto& launches = problem.a_type == MatmulElement::kBf16 ? all_launches().bf16 : all_launches().fp16;
  return launches[plan.instance](device, {.problem = &problem, .tensors = &tensors, .plan = &plan, .stream = stream});
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
void enqueue_matmul_sm90<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream) {
  enqueue_on_current_gpu(problem, tensors, 9,
                         [&](Device& device) { return enqueue(device, problem, tensors, stream); });
}

template <>
RunOutcome matmul_sm90<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors,
                                const RunOptions& options) {
  const MatmulSm90Plan plan = plan_matmul_sm90(problem, tensors, kIsSimulated);
  if (plan.out_bytes == 0) return {};
  check_gpu(options.ordinal, 9);
  Device device(options);
  const MatmulOnDevice on_device(device, tensors, plan);
  const RunOutcome outcome =
      device.finish([&] { return enqueue(device, problem, on_device.tensors(), nullptr); });
  if (outcome.ok()) on_device.download(tensors);
  return outcome;
}

template <>
GpuList matmul_gpus<kTarget>() {
  return find_gpus();
}

}  // namespace heddle
