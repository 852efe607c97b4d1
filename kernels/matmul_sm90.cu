// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm90_launch.h"
#include "split_k_reduce.h"

#include <heddle/host/error.h>
#include <heddle/isa/gpu_list.h>

#include <memory>
#include <string>

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

const GpuList& all_gpus() {
  static const GpuList list = find_gpus();
  return list;
}

// Of the current device.
std::string_view gpu_name() {
  if constexpr (!kIsSimulated) {
    const int ordinal = current_device();
    for (const GpuDescription& gpu : all_gpus().gpus) {
      if (gpu.ordinal == ordinal) return gpu.name;
    }
  }
  return {};
}

void check_gpu(int ordinal) {
  if constexpr (!kIsSimulated) check_matmul_sm90_gpu(all_gpus(), ordinal);
}

// Where a device's launches run: the GPU's name decides which choices of a tune file are for it.
MatmulSm90Place place_of(const Device&) { return {.is_simulated = kIsSimulated, .gpu = gpu_name()}; }

RunOutcome add_up_parts(Device& device, const MatmulProblem& problem, const MatmulTensors& tensors,
                        const MatmulSm90Plan& plan, void* stream) {
  const SplitKReduce::Params params{.partial = static_cast<const float*>(tensors.workspace),
                                    .partial_pitch = plan.partial_pitch,
                                    .partial_rows = plan.partial_rows,
                                    .out = tensors.out,
                                    .output = static_cast<MatmulElement>(problem.output),
                                    .out_pitch = plan.out_pitch,
                                    .out_batch_stride = 0,
                                    .residual_batch_stride = 0,
                                    .m = problem.m,
                                    .n = problem.n,
                                    .batches = 1,
                                    .splits = plan.choice.splits,
                                    .epilogue = matmul_epilogue(problem, tensors, plan)};
  return device.enqueue<SplitKReduce>({.grid = {std::min(problem.m, 4096u), 1, (problem.n - 1) / SplitKReduce::kCols + 1},
                                       .is_dependent = problem.is_dependent},
                                      params, stream);
}

RunOutcome enqueue(Device& device, const MatmulProblem& problem, const MatmulTensors& tensors, void* stream) {
  const MatmulSm90Plan plan = plan_matmul_sm90(problem, tensors, place_of(device));
  const auto& launches = problem.input == MatmulType::kBf16 ? all_launches().bf16 : all_launches().fp16;
  RunOutcome outcome =
      launches[plan.choice.instance](device, {.problem = &problem, .tensors = &tensors, .plan = &plan, .stream = stream});
  if (!outcome.ok() || plan.choice.splits == 1) return outcome;
  return add_up_parts(device, problem, tensors, plan, stream);
}

std::unique_ptr<DeviceBuffer> upload(Device& device, const char* name, const std::vector<unsigned char>& host) {
  auto buffer = std::make_unique<DeviceBuffer>(device, name, host.size());
  buffer->upload(host.data());
  return buffer;
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
void matmul<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream) {
  if constexpr (kIsSimulated) {
    throw InputError("matmul: the simulated SM reads host memory; give the data as MatmulData");
  } else {
    const int ordinal = current_device();
    check_gpu(ordinal);
    check_matmul_stream(device_of_stream(stream), ordinal);
    Device device({.kernel = "matmul", .ordinal = ordinal});
    const RunOutcome outcome = enqueue(device, problem, tensors, stream);
    if (!outcome.ok()) throw DriverError(outcome.report, 0);
  }
}

template <>
RunOutcome matmul<kTarget>(const MatmulProblem& problem, MatmulData& data, const RunOptions& options) {
  check_gpu(options.ordinal);
  Device device(options);
  const auto a = upload(device, "a", data.a);
  const auto b = upload(device, "b", data.b);
  const auto out = upload(device, "out", data.out);
  const auto bias = upload(device, "bias", data.bias);
  const auto residual = upload(device, "residual", data.residual);
  DeviceBuffer workspace(device, "workspace", kMatmulWorkspaceBytes);
  const MatmulTensors tensors{.a = a->data(),
                              .b = b->data(),
                              .out = out->data(),
                              .bias = bias->data(),
                              .residual = residual->data(),
                              .workspace = workspace.data(),
                              .workspace_bytes = workspace.bytes()};
  check_matmul_data(problem, plan_matmul_sm90(problem, tensors, place_of(device)), data);
  RunOutcome outcome = enqueue(device, problem, tensors, nullptr);
  if (outcome.ok()) out->download(data.out.data());
  return outcome;
}

template <>
GpuList matmul_gpus<kTarget>() {
  return find_gpus();
}

}  // namespace heddle
