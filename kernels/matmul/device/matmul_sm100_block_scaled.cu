// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm100_block_scaled.h"

#include "matmul/host/matmul_families.h"
#include "matmul/host/matmul_on_device.h"
#include "matmul_sm100_scaled_launch.h"

#include <array>
#include <new>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

namespace {

// Blocks of 512 bytes, as 128 words.
isa::TensorMap scales_map(const void* address, std::int64_t rows, std::int64_t scales,
                          std::uint32_t box_row_blocks, std::uint32_t box_scale_blocks) {
  const std::uint64_t row_blocks = tiles_along(rows, 128);
  const std::uint64_t scale_blocks = tiles_along(scales, 4);
  return make_tensor_map({.type = TensorType::kU32,
                          .rank = 4,
                          .address = address,
                          .dims = {128, scale_blocks, row_blocks, 1},
                          .strides = {512, 512 * scale_blocks, 512 * scale_blocks * row_blocks},
                          .box = {128, box_scale_blocks, box_row_blocks, 1}});
}

template <std::uint32_t index, BlockScaledFormat format>
RunOutcome launch_config(Device& device, const MatmulScaledCall& call) {
  using Family = BlockScaledFamily<kBlockScaledConfigs[index].config, format>;
  using Kernel = MatmulSm100Frame<Family, Scale>;
  const MatmulScaledProblem& p = call.problem;
  typename Kernel::Params params = sm100::scaled_params<Kernel>(call);
  if (p.k > 0) {
    const std::uint32_t scales = tiles_along(p.k, format.scale_vector_elems);
    params.operands.sfa = scales_map(call.a_scales, p.m, scales, 1, Family::kScaleBlocks);
    params.operands.sfb = scales_map(call.b_scales, p.n, scales, Family::kColBlocks, Family::kScaleBlocks);
  }
  params.epilogue.factor = p.alpha;
  return launch_matmul<Kernel>(device, params);
}

template <BlockScaledFormat format>
RunOutcome launch_any(Device& device, const MatmulScaledCall& call) {
  using Launch = RunOutcome (*)(Device&, const MatmulScaledCall&);
  constexpr auto launches = []<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
    return std::array<Launch, sizeof...(i)>{launch_config<i, format>...};
  }
  (std::make_integer_sequence<std::uint32_t, kBlockScaledConfigCount>());
  return launches[call.plan.config](device, call);
}

RunOutcome run(const MatmulScaledProblem& problem, const MatmulScaledPlan& plan,
               const MatmulScaledTensors& tensors, const RunOptions& options) {
  std::vector<unsigned char> blocks[2];
  std::vector<float> a_floats;
  const void* a_scales_data = nullptr;
  const void* b_scales_data = tensors.b_scales.data;
  std::size_t a_scales_bytes = 0;
  std::size_t b_scales_bytes = 0;
  if (is_blockwise(problem.format)) {
    a_floats = transposed_scales(tensors.a_scales);
    a_scales_data = a_floats.data();
    a_scales_bytes = a_floats.size() * sizeof(float);
    b_scales_bytes = static_cast<std::size_t>(tensors.b_scales.rows * tensors.b_scales.cols) * sizeof(float);
  } else {
    blocks[0] = scale_blocks(tensors.a_scales);
    blocks[1] = scale_blocks(tensors.b_scales);
    a_scales_data = blocks[0].data();
    b_scales_data = blocks[1].data();
    a_scales_bytes = blocks[0].size();
    b_scales_bytes = blocks[1].size();
  }
  Device device(options);
  DeviceBuffer a(device, "a", plan.a_bytes);
  DeviceBuffer b(device, "b", plan.b_bytes);
  DeviceBuffer a_scales(device, "a_scales", a_scales_bytes);
  DeviceBuffer b_scales(device, "b_scales", b_scales_bytes);
  DeviceBuffer out(device, "out", plan.out_bytes);
  a.upload(tensors.a);
  b.upload(tensors.b);
  a_scales.upload(a_scales_data);
  b_scales.upload(b_scales_data);
  out.upload(tensors.out);
  const MatmulScaledCall call{.problem = problem,
                              .plan = plan,
                              .a = a.data(),
                              .b = b.data(),
                              .a_scales = a_scales.data(),
                              .b_scales = b_scales.data(),
                              .out = out.data()};
  const RunOutcome outcome = device.finish([&] {
    return is_blockwise(problem.format) ? launch_blockwise_fp8(device, call) : launch_block_scaled(device, call);
  });
  if (outcome.ok()) out.download(tensors.out);
  return outcome;
}

}  // namespace

RunOutcome launch_block_scaled(Device& device, const MatmulScaledCall& call) {
  switch (call.problem.format) {
    case ScaledFormat::kMxfp4: return launch_any<kMxfp4>(device, call);
    case ScaledFormat::kNvfp4: return launch_any<kNvfp4>(device, call);
    default: return launch_any<kMxfp8>(device, call);
  }
}

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome matmul_scaled_sm100<kTarget>(const MatmulScaledProblem& problem, const MatmulScaledTensors& tensors,
                                        const RunOptions& options) {
  const MatmulScaledPlan plan = plan_matmul_scaled(problem, tensors);
  if (plan.out_bytes == 0) return {};
  check_gpu(options.ordinal, 10);
  RunOptions on_sm100 = options;
  on_sm100.arch = Arch::kSm100;
  try {
    if (problem.rows != GroupRows::kAll) return run_grouped_scaled(problem, plan, tensors, on_sm100);
    return run(problem, plan, tensors, on_sm100);
  } catch (const std::bad_alloc&) {
    throw InputError("matmul: the tensors take more than " +
                     std::to_string(plan.a_bytes + plan.b_bytes + plan.out_bytes) +
                     " bytes on the device, which has no room for them");
  }
}

}  // namespace heddle
