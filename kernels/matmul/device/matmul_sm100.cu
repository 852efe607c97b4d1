// SPDX-License-Identifier: Apache-2.0
#include "matmul/host/matmul_families.h"
#include "matmul_sm100_launch.h"

namespace heddle::inline HEDDLE_TARGET {

RunOutcome launch_sm100_f16(Device& device, const MatmulCall& call) {
  return sm100::launch_any<MmaKind::kF16>(device, call);
}

namespace {

RunOutcome launch_of_type(Device& device, const MatmulCall& call) {
  const bool are_k_major = sm100::majors_of(call.problem) == OperandMajors{};
  switch (call.problem.a_type) {
    case MatmulElement::kBf16:
    case MatmulElement::kFp16:
      return are_k_major ? launch_sm100_f16(device, call) : launch_sm100_layouts(device, call);
    case MatmulElement::kE4m3:
    case MatmulElement::kE5m2:
      return are_k_major ? launch_sm100_fp8(device, call) : launch_sm100_fp8_layouts(device, call);
    default: return are_k_major ? launch_sm100_tf32(device, call) : launch_sm100_tf32_layouts(device, call);
  }
}

constexpr MatmulFamily kSm100{.arch = Arch::kSm100,
                              .major = 10,
                              .plan = plan_matmul_sm100,
                              .launch = launch_of_type,
                              .add_up = add_up_parts<Arch::kSm100>};

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome matmul_sm100<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors,
                                 const RunOptions& options) {
  return run_matmul(kSm100, problem, tensors, options);
}

template <>
void enqueue_matmul_sm100<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream) {
  enqueue_matmul(kSm100, problem, tensors, stream);
}

}  // namespace heddle
