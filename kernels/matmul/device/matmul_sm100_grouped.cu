// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm100_grouped_launch.h"

#include <array>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

namespace {

using Launch = RunOutcome (*)(Device& device, const MatmulGroupedCall& call);

OperandType operand_type_of(MatmulElement type) {
  return type == MatmulElement::kBf16   ? OperandType::kBf16
         : type == MatmulElement::kE4m3 ? OperandType::kE4m3
                                        : OperandType::kE5m2;
}

template <class Kernel>
typename Kernel::Params params_of(const MatmulGroupedCall& call) {
  auto params = sm100_grouped_params<Kernel>(call);
  params.operands.instruction =
      Kernel::FamilyType::instruction(operand_type_of(call.problem.a_type), operand_type_of(call.problem.b_type));
  return params;
}

template <MmaKind kind, std::uint32_t index>
RunOutcome launch_sums(Device& device, const MatmulGroupedCall& call) {
  using Kernel = MatmulSm100Grouped<kGroupedConfigs[index].config, kind>;
  auto params = params_of<Kernel>(call);
  params.operands.scales = {.a = call.tensors.a_scales,
                            .b = call.tensors.b_scales,
                            .are_of_rows = call.problem.scaling == GroupScaling::kRows};
  return launch_grouped<Kernel>(device, params, call.problem.is_dependent, call.stream);
}

template <std::uint32_t index>
RunOutcome launch_blockwise(Device& device, const MatmulGroupedCall& call) {
  using Kernel = MatmulSm100GroupedBlockwise<kGroupedBlockwiseConfigs[index].config>;
  auto params = params_of<Kernel>(call);
  params.operands.a_scales = grouped_map_of_a_scales(call, params.k_blocks.all, kSm100TileM);
  params.operands.b_scales = call.tensors.b_scales;
  return launch_grouped<Kernel>(device, params, call.problem.is_dependent, call.stream);
}

template <MmaKind kind, std::uint32_t... i>
constexpr std::array<Launch, sizeof...(i)> sums_of(std::integer_sequence<std::uint32_t, i...>) {
  return {launch_sums<kind, i>...};
}
template <std::uint32_t... i>
constexpr std::array<Launch, sizeof...(i)> blockwise_of(std::integer_sequence<std::uint32_t, i...>) {
  return {launch_blockwise<i>...};
}

RunOutcome launch(Device& device, const MatmulGroupedCall& call) {
  using Configs = std::make_integer_sequence<std::uint32_t, kGroupedConfigCount>;
  static constexpr auto of_bf16 = sums_of<MmaKind::kF16>(Configs());
  static constexpr auto of_fp8 = sums_of<MmaKind::kF8f6f4>(Configs());
  static constexpr auto of_blocks =
      blockwise_of(std::make_integer_sequence<std::uint32_t, kGroupedBlockwiseConfigCount>());
  const std::uint32_t instance = call.plan.instance;
  if (call.problem.scaling == GroupScaling::kBlocks) return of_blocks[instance](device, call);
  return (call.problem.scaling == GroupScaling::kNone ? of_bf16 : of_fp8)[instance](device, call);
}

constexpr MatmulGroupedArch kSm100{.arch = Arch::kSm100, .major = 10, .launch = launch};

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome matmul_grouped_sm100<kTarget>(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors,
                                         const RunOptions& options) {
  return run_grouped(kSm100, problem, tensors, options);
}

template <>
void enqueue_matmul_grouped_sm100<kTarget>(const MatmulGroupedProblem& problem,
                                           const MatmulGroupedTensors& tensors, void* stream) {
  enqueue_grouped(kSm100, problem, tensors, stream);
}

}  // namespace heddle
