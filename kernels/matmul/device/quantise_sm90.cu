// SPDX-License-Identifier: Apache-2.0
#include "quantise_sm90.h"

#include "matmul/host/matmul_on_device.h"
#include "matmul/host/quantise_plan.h"

#include <heddle/host/device.h>

namespace heddle::inline HEDDLE_TARGET {

namespace {

template <QuantiseBlocks blocks>
RunOutcome start_with(Device& device, const QuantiseProblem& problem, const QuantiseTensors& tensors,
                      const QuantisePlan& plan, void* stream) {
  using Kernel = QuantiseSm90<blocks>;
  const auto rows = static_cast<std::uint32_t>(problem.rows);
  const typename Kernel::Params params{.in = static_cast<const bf16*>(tensors.in),
                                       .out = static_cast<e4m3*>(tensors.out),
                                       .scales = tensors.scales,
                                       .in_pitch = plan.in_pitch,
                                       .out_pitch = plan.out_pitch,
                                       .scales_pitch = plan.scales_pitch,
                                       .rows = rows,
                                       .cols = static_cast<std::uint32_t>(problem.cols),
                                       .has_powers_of_two = problem.has_powers_of_two};
  return device.enqueue<Kernel>({.grid = {(rows + Kernel::kRowsOfBlock - 1) / Kernel::kRowsOfBlock,
                                          static_cast<std::uint32_t>(plan.col_blocks), 1},
                                 .is_dependent = problem.is_dependent},
                                params, stream);
}

RunOutcome start(Device& device, const QuantiseProblem& problem, const QuantiseTensors& tensors,
                 const QuantisePlan& plan, void* stream) {
  return problem.blocks == QuantiseBlocks::kRows
             ? start_with<QuantiseBlocks::kRows>(device, problem, tensors, plan, stream)
             : start_with<QuantiseBlocks::kSquares>(device, problem, tensors, plan, stream);
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome quantise_sm90<kTarget>(const QuantiseProblem& problem, const QuantiseTensors& tensors,
                                  const RunOptions& options) {
  const QuantisePlan plan = plan_quantise(problem, tensors);
  if (plan.in_bytes == 0) return {};
  check_gpu(options.ordinal, 9);
  Device device(options);
  DeviceBuffer in(device, "in", plan.in_bytes);
  DeviceBuffer out(device, "out", plan.out_bytes);
  DeviceBuffer scales(device, "scales", plan.scales_bytes);
  in.upload(tensors.in);
  out.upload(tensors.out);  // for what pads its rows
  scales.upload(tensors.scales);
  const QuantiseTensors on_device{in.data(), out.data(), static_cast<float*>(scales.data())};
  const RunOutcome outcome = device.finish([&] { return start(device, problem, on_device, plan, nullptr); });
  if (outcome.ok()) {
    out.download(tensors.out);
    scales.download(tensors.scales);
  }
  return outcome;
}

template <>
void enqueue_quantise_sm90<kTarget>(const QuantiseProblem& problem, const QuantiseTensors& tensors,
                                    void* stream) {
  if constexpr (kIsSimulated) {
    throw InputError("matmul: the simulated SM has no stream; give host memory and a device");
  } else {
    const QuantisePlan plan = plan_quantise(problem, tensors);
    if (plan.in_bytes == 0) return;
    const int ordinal = current_device();
    check_gpu(ordinal, 9);
    check_stream(stream);
    Device device({.kernel = "quantise", .ordinal = ordinal});
    const RunOutcome outcome = start(device, problem, tensors, plan, stream);
    if (!outcome.ok()) throw DriverError(outcome.report, 0);
  }
}

}  // namespace heddle
