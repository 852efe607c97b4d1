// SPDX-License-Identifier: Apache-2.0
#include "matmul/host/matmul_operands.h"
#include "matmul_grouped_launch.h"
#include "matmul_sm90_grouped_instances.h"
#include "matmul_sm90_params.h"

#include <array>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

namespace {

TiledMatrix operand_of(const MatmulGroupedCall& call, const void* address, std::int64_t rows,
                       std::uint64_t pitch) {
  return {.address = address,
          .rows = static_cast<std::uint64_t>(rows),
          .cols = static_cast<std::uint64_t>(call.problem.k),
          .pitch = pitch,
          .l2_promotion = L2Promotion::k256B};
}
TiledMatrix a_of(const MatmulGroupedCall& call) {
  return operand_of(call, call.tensors.a, call.problem.m, call.plan.a_pitch);
}
TiledMatrix b_of(const MatmulGroupedCall& call) {
  return operand_of(call, call.tensors.b, call.problem.n, call.plan.b_pitch);
}

template <std::uint32_t instance>
RunOutcome launch_instance(Device& device, const MatmulGroupedCall& call) {
  constexpr MatmulGroupedConfig config = kMatmulGroupedInstances[instance].config;
  using A = GroupedElement<kMatmulGroupedInstances[instance].a_type>;
  using B = GroupedElement<kMatmulGroupedInstances[instance].b_type>;
  using Kernel = MatmulSm90Grouped<config, A, B>;
  const MatmulGroupedProblem& p = call.problem;
  const std::uint32_t panel = p.out_type == MatmulElement::kFp32 ? 32 : 64;
  MatmulGroupedParams params{};
  params.a = grouped_map_of_a<A>(call, Kernel::kRowsOfA);
  params.b = grouped_map_of_b<B>(call, Kernel::kRowsOfB);
  params.c = grouped_map_of_out(call, 16, panel);
  params.c_tail = config.tile_n % panel == 0 ? params.c : grouped_map_of_out(call, 16, config.tile_n % panel);
  params.tiles = grouped_tiles_of(call, config.tile_n * config.cluster_n);
  params.k_blocks = (static_cast<std::uint32_t>(p.k) + config.tile_k - 1) / config.tile_k;
  if constexpr (Kernel::kIsBlockwise) {
    params.a_scales = grouped_map_of_a_scales(call, params.k_blocks, config.tile_m);
    params.b_scales = call.tensors.b_scales;
  } else {
    params.scales = {
        .a = call.tensors.a_scales, .b = call.tensors.b_scales, .are_of_rows = p.scaling == GroupScaling::kRows};
  }
  params.n = static_cast<std::uint32_t>(p.n);
  params.out = call.tensors.out;
  params.out_pitch = call.plan.out_pitch;
  params.output = p.out_type;
  return launch_grouped<Kernel>(device, params, p.is_dependent, call.stream);
}

// One group of all rows, as an ordinary matmul whose sums are multiplied by one scale.
template <std::uint32_t instance>
RunOutcome launch_in_turns(Device& device, const MatmulGroupedCall& call) {
  constexpr MatmulGroupedConfig config = kMatmulGroupedInstances[instance].config;
  using In = GroupedElement<kMatmulGroupedInstances[instance].a_type>;
  using Kernel = MatmulSm90<MatmulSm90Config{.tile_m = config.tile_m,
                                             .tile_n = config.tile_n,
                                             .tile_k = config.tile_k,
                                             .stages = config.stages,
                                             .cluster_m = config.cluster_m,
                                             .cluster_n = config.cluster_n,
                                             .form = MatmulForm::kPingpong,
                                             .store_tiles = config.store_tiles},
                            In, ScaledByTensors>;
  const MatmulGroupedProblem& p = call.problem;
  auto params = matmul_sm90_params<Kernel>({.m = static_cast<std::uint32_t>(p.m),
                                            .n = static_cast<std::uint32_t>(p.n),
                                            .k = static_cast<std::uint32_t>(p.k),
                                            .a = a_of(call),
                                            .b = b_of(call),
                                            .out = {.type = p.out_type,
                                                    .address = call.tensors.out,
                                                    .rows = static_cast<std::uint64_t>(p.m),
                                                    .cols = static_cast<std::uint64_t>(p.n),
                                                    .pitch = call.plan.out_pitch},
                                            .is_dependent = p.is_dependent});
  params.epilogue = {.a = call.tensors.a_scales, .b = call.tensors.b_scales};
  return launch_matmul<Kernel>(device, params, p.is_dependent, call.stream);
}

using Launch = RunOutcome (*)(Device& device, const MatmulGroupedCall& call);

template <std::uint32_t instance>
constexpr Launch launch_of() {
  if constexpr (is_compiled(kMatmulGroupedInstances[instance], kIsSimulated)) {
    if constexpr (kMatmulGroupedInstances[instance].takes_turns) {
      return launch_in_turns<instance>;
    } else {
      return launch_instance<instance>;
    }
  } else {
    return nullptr;
  }
}

template <std::uint32_t... i>
constexpr std::array<Launch, sizeof...(i)> launches(std::integer_sequence<std::uint32_t, i...>) {
  return {launch_of<i>()...};
}

RunOutcome launch(Device& device, const MatmulGroupedCall& call) {
  static constexpr auto all = launches(std::make_integer_sequence<std::uint32_t, kMatmulGroupedInstanceCount>());
  return all[call.plan.instance](device, call);
}

constexpr MatmulGroupedArch kSm90{.arch = Arch::kSm90, .major = 9, .launch = launch};

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome matmul_grouped_sm90<kTarget>(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors,
                                        const RunOptions& options) {
  return run_grouped(kSm90, problem, tensors, options);
}

template <>
void enqueue_matmul_grouped_sm90<kTarget>(const MatmulGroupedProblem& problem,
                                          const MatmulGroupedTensors& tensors, void* stream) {
  enqueue_grouped(kSm90, problem, tensors, stream);
}

}  // namespace heddle
