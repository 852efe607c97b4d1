// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm90_launch.h"

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

// Throws where the kernels cannot run at all.
void check_gpu(int ordinal) {
  if constexpr (!kIsSimulated) {
    static const GpuList list = find_gpus();
    if (list.gpus.empty()) throw DriverError(std::string("matmul: there is no GPU: ") + list.why, 0);
    for (const GpuDescription& gpu : list.gpus) {
      if (gpu.ordinal == ordinal && gpu.major != 9) {
        throw InputError(std::string("matmul: GPU ") + std::to_string(ordinal) + " (" + gpu.name + ") has compute capability " +
                         std::to_string(gpu.major) + "." + std::to_string(gpu.minor) + "; these kernels are for 9.0");
      }
    }
  }
}

RunOutcome enqueue(Device& device, const MatmulProblem& problem, const MatmulTensors& tensors, void* stream) {
  const MatmulSm90Plan plan = plan_matmul_sm90(problem, tensors, kIsSimulated);
  const auto& launches = problem.input == MatmulType::kBf16 ? all_launches().bf16 : all_launches().fp16;
  return launches[plan.instance](device, {.problem = &problem, .tensors = &tensors, .plan = &plan, .stream = stream});
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
  const MatmulTensors tensors{
      .a = a->data(), .b = b->data(), .out = out->data(), .bias = bias->data(), .residual = residual->data()};
  check_matmul_data(problem, plan_matmul_sm90(problem, tensors, kIsSimulated), data);
  RunOutcome outcome = enqueue(device, problem, tensors, nullptr);
  if (outcome.ok()) out->download(data.out.data());
  return outcome;
}

template <>
GpuList matmul_gpus<kTarget>() {
  return find_gpus();
}

}  // namespace heddle
