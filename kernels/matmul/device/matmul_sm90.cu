// SPDX-License-Identifier: Apache-2.0
#include "matmul/host/matmul_families.h"
#include "matmul/host/matmul_sm90_plan.h"
#include "matmul_sm90_launch.h"

#include <heddle/isa/gpu_list.h>

namespace heddle::inline HEDDLE_TARGET {

namespace {

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

RunOutcome launch(Device& device, const MatmulCall& call) {
  const auto& launches = call.problem.a_type == MatmulElement::kBf16 ? all_launches().bf16 : all_launches().fp16;
  return launches[call.plan.choice.instance](device, call);
}

constexpr MatmulFamily kSm90{.arch = Arch::kSm90,
                             .major = 9,
                             .plan = plan_matmul_sm90,
                             .launch = launch,
                             .add_up = add_up_parts<Arch::kSm90>};

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
void enqueue_matmul_sm90<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream) {
  enqueue_matmul(kSm90, problem, tensors, stream);
}

template <>
RunOutcome matmul_sm90<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors,
                                const RunOptions& options) {
  return run_matmul(kSm90, problem, tensors, options);
}

template <>
GpuList matmul_gpus<kTarget>() {
  return find_gpus();
}

}  // namespace heddle
