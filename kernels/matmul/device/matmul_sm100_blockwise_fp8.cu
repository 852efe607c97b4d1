// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm100_blockwise_fp8.h"

#include "matmul_sm100_scaled_launch.h"

#include <array>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

namespace {

template <std::uint32_t index>
RunOutcome launch_config(Device& device, const MatmulScaledCall& call) {
  using Kernel = MatmulSm100BlockwiseFp8<kBlockwiseConfigs[index].config>;
  const MatmulScaledProblem& p = call.problem;
  typename Kernel::Params params = sm100::scaled_params<Kernel>(call);
  if (p.k > 0) {
    params.operands.a_scales = tensor_map_2d({.type = TensorType::kF32,
                                              .address = call.a_scales,
                                              .rows = params.k_blocks.all,
                                              .cols = static_cast<std::uint64_t>(p.m),
                                              .row_bytes = static_cast<std::uint64_t>(p.m + 3) / 4 * 16,
                                              .box_rows = 1,
                                              .box_cols = kSm100TileM});
    params.operands.b_scales = static_cast<const float*>(call.b_scales);
    params.operands.b_scales_pitch = params.k_blocks.all;
  }
  return launch_matmul<Kernel>(device, params);
}

}  // namespace

RunOutcome launch_blockwise_fp8(Device& device, const MatmulScaledCall& call) {
  using Launch = RunOutcome (*)(Device&, const MatmulScaledCall&);
  constexpr auto launches = []<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
    return std::array<Launch, sizeof...(i)>{launch_config<i>...};
  }
  (std::make_integer_sequence<std::uint32_t, kBlockwiseConfigCount>());
  return launches[call.plan.config](device, call);
}

}  // namespace heddle::inline HEDDLE_TARGET
