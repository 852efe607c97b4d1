// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm100_grouped_scaled.h"

#include "matmul_sm100_grouped_launch.h"
#include "matmul_sm100_scaled_launch.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle::inline HEDDLE_TARGET {

namespace {

// A call in bytes, and the scales in rows of whole words.
struct Call {
  const MatmulScaledProblem& problem;
  MatmulGroupedCall bytes;
  const void* a_scales;
  const void* b_scales;
  std::uint32_t words;  // of a row of scales
};

template <BlockScaledFormat format, std::uint32_t index>
RunOutcome launch_config(Device& device, const Call& call) {
  using Kernel = MatmulSm100GroupedBlockScaled<kGroupedBlockScaledConfigs[index].config, format>;
  auto params = sm100_grouped_params<Kernel>(call.bytes);
  const sm100::ScaledOperandTypes types = sm100::operand_types_of(call.problem.format);
  params.operands.instruction = Kernel::FamilyType::instruction(types.a, types.b);
  params.operands.scales.alpha = call.problem.alpha;
  params.operands.rows = {.a = static_cast<const std::uint32_t*>(call.a_scales),
                          .b = static_cast<const std::uint32_t*>(call.b_scales),
                          .words = call.words};
  return launch_grouped<Kernel>(device, params, false, nullptr);
}

using Launch = RunOutcome (*)(Device& device, const Call& call);

template <BlockScaledFormat format>
RunOutcome launch_any(Device& device, const Call& call) {
  constexpr auto launches = []<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
    return std::array<Launch, sizeof...(i)>{launch_config<format, i>...};
  }
  (std::make_integer_sequence<std::uint32_t, kGroupedBlockScaledConfigCount>());
  return launches[call.bytes.plan.instance](device, call);
}

RunOutcome launch(Device& device, const Call& call) {
  switch (call.problem.format) {
    case ScaledFormat::kMxfp4: return launch_any<kMxfp4>(device, call);
    case ScaledFormat::kNvfp4: return launch_any<kNvfp4>(device, call);
    default: return launch_any<kMxfp8>(device, call);
  }
}

}  // namespace

RunOutcome run_grouped_scaled(const MatmulScaledProblem& problem, const MatmulScaledPlan& plan,
                              const MatmulScaledTensors& tensors, const RunOptions& options) {
  // Stages are whole: 128 bytes of numbers, and their scales in one, two or four words.
  const std::int64_t numbers = 1024 / bits_of_element(problem.format);
  const std::int64_t stages = (problem.k + numbers - 1) / numbers;
  const std::int64_t pitch = stages * numbers / scale_vector_of(problem.format);
  const std::vector<unsigned char> a_rows = padded_scales(tensors.a_scales, pitch);
  const std::vector<unsigned char> b_rows = padded_scales(tensors.b_scales, pitch);
  Device device(options);
  DeviceBuffer a(device, "a", plan.a_bytes);
  DeviceBuffer b(device, "b", plan.b_bytes);
  DeviceBuffer a_scales(device, "a_scales", a_rows.size());
  DeviceBuffer b_scales(device, "b_scales", b_rows.size());
  DeviceBuffer group_rows(device, "group_rows", plan.group_rows_bytes);
  DeviceBuffer out(device, "out", plan.out_bytes);
  a.upload(tensors.a);
  b.upload(tensors.b);
  a_scales.upload(a_rows.data());
  b_scales.upload(b_rows.data());
  group_rows.upload(tensors.group_rows);
  out.upload(tensors.out);
  const MatmulGroupedProblem as_bytes{.groups = problem.groups,
                                      .m = problem.m,
                                      .n = problem.n,
                                      .k = static_cast<std::int64_t>(plan.row_bytes),
                                      .rows = problem.rows,
                                      .out_type = problem.out_type};
  const MatmulGroupedTensors there{.a = a.data(),
                                   .b = b.data(),
                                   .group_rows = static_cast<const std::int32_t*>(group_rows.data()),
                                   .out = out.data()};
  const MatmulGroupedPlan in_bytes{.arch = Arch::kSm100,
                                   .instance = plan.config,
                                   .a_pitch = plan.a_pitch_bytes,
                                   .b_pitch = plan.b_pitch_bytes,
                                   .out_pitch = plan.out_pitch,
                                   .b_group_stride = plan.b_group_bytes};
  const Call call{.problem = problem,
                  .bytes = {as_bytes, there, in_bytes, nullptr},
                  .a_scales = a_scales.data(),
                  .b_scales = b_scales.data(),
                  .words = static_cast<std::uint32_t>(pitch / 4)};
  const RunOutcome outcome = device.finish([&] { return launch(device, call); });
  if (outcome.ok()) out.download(tensors.out);
  return outcome;
}

}  // namespace heddle::inline HEDDLE_TARGET
