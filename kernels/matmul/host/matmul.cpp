// SPDX-License-Identifier: Apache-2.0
#include "matmul.h"

#include "gpus.h"
#include "matmul_checks.h"
#include "matmul_families.h"
#include "matmul_grouped_plan.h"
#include "matmul_sm100_host.h"
#include "matmul_sm100_scaled_host.h"
#include "matmul_sm90_plan.h"
#include "quantise_plan.h"

#include <fmt/format.h>

namespace heddle {

using matmul_checks::require;

namespace {

// Which parts for a GPU this library holds.
constexpr bool kHasCuda = HEDDLE_WITH_CUDA != 0;
constexpr bool kHasSm90 = HEDDLE_WITH_SM90 != 0;
constexpr bool kHasSm100 = HEDDLE_WITH_SM100 != 0;

RunOptions on(const DeviceId& device, RunOptions options) {
  options.arch = device.arch;
  options.ordinal = device.ordinal;
  return options;
}

[[noreturn]] void refuse(const std::string& device, Arch arch) {
  throw InputError(
      fmt::format("matmul: device '{}': this program was built without device code for {}; sim:{} "
                  "would pass",
                  device, limits_of(arch).name, limits_of(arch).name));
}

// What a tune file calls the device; empty for a simulated one.
std::string gpu_name(const DeviceId& device) {
  if (!device.is_gpu()) return {};
  for (const GpuDescription& gpu : gpus().gpus) {
    if (gpu.ordinal == device.ordinal) return gpu.name;
  }
  return {};
}

// Addresses so far apart that no tensors overlap, to check problems whose tensors are nowhere yet.
void* place(std::uintptr_t number) {
  return reinterpret_cast<void*>(number * 4 * matmul_checks::kMaxTensorBytes);
}

// Everything that does not depend on where the tensors are.
void check(const MatmulProblem& problem, const MatmulTensors& tensors, const DeviceId& device) {
  const MatmulTensors apart{.a = place(1),
                            .b = place(2),
                            .out = place(3),
                            .bias = tensors.bias != nullptr ? place(4) : nullptr,
                            .residual = tensors.residual != nullptr ? place(5) : nullptr};
  if (device.arch == Arch::kSm90) {
    plan_matmul_sm90(problem, apart, !device.is_gpu());
  } else {
    plan_matmul_sm100(problem, apart);
  }
}

void check_scaled(const MatmulScaledProblem& problem, const DeviceId& device) {
  matmul_checks::check_enumerator("format", problem.format, ScaledFormat::kBlockwiseE5m2);
  require(device.arch == Arch::kSm100,
          fmt::format(
              "the format is {} and the device {}; kernels with scales are for sm100, and sim:sm100 would pass",
              name_of(problem.format), device.name()));
}

}  // namespace

RunOutcome matmul(const MatmulProblem& problem, const MatmulTensors& tensors, const DeviceId& device,
                  const RunOptions& options) {
  const RunOptions run = on(device, options);
  if (device.arch == Arch::kSm90) {
    if (!device.is_gpu()) return matmul_sm90<Target::kSim>(problem, tensors, run);
    if constexpr (kHasSm90) return matmul_sm90<Target::kCuda>(problem, tensors, run);
  } else {
    if (!device.is_gpu()) return matmul_sm100<Target::kSim>(problem, tensors, run);
    if constexpr (kHasSm100) return matmul_sm100<Target::kCuda>(problem, tensors, run);
  }
  refuse(device.name(), device.arch);
}

RunOutcome matmul_scaled(const MatmulScaledProblem& problem, const MatmulScaledTensors& tensors,
                         const DeviceId& device, const RunOptions& options) {
  check_scaled(problem, device);
  const RunOptions run = on(device, options);
  if (!device.is_gpu()) return matmul_scaled_sm100<Target::kSim>(problem, tensors, run);
  if constexpr (kHasSm100) return matmul_scaled_sm100<Target::kCuda>(problem, tensors, run);
  refuse(device.name(), device.arch);
}

RunOutcome matmul_grouped(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors,
                          const DeviceId& device, const RunOptions& options) {
  const RunOptions run = on(device, options);
  if (device.arch == Arch::kSm90) {
    if (!device.is_gpu()) return matmul_grouped_sm90<Target::kSim>(problem, tensors, run);
    if constexpr (kHasSm90) return matmul_grouped_sm90<Target::kCuda>(problem, tensors, run);
  } else {
    if (!device.is_gpu()) return matmul_grouped_sm100<Target::kSim>(problem, tensors, run);
    if constexpr (kHasSm100) return matmul_grouped_sm100<Target::kCuda>(problem, tensors, run);
  }
  refuse(device.name(), device.arch);
}

void matmul_grouped(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors, void* stream) {
  if constexpr (kHasCuda) {
    static const GpuList list = gpus();
    const DeviceId device = parse_device(fmt::format("cuda:{}", current_gpu<Target::kCuda>()), list);
    if (device.arch == Arch::kSm90) {
      if constexpr (kHasSm90) return enqueue_matmul_grouped_sm90<Target::kCuda>(problem, tensors, stream);
    } else {
      if constexpr (kHasSm100) return enqueue_matmul_grouped_sm100<Target::kCuda>(problem, tensors, stream);
    }
    refuse(device.name(), device.arch);
  } else {
    enqueue_matmul_grouped_sm90<Target::kSim>(problem, tensors, stream);  // which refuses
  }
}

RunOutcome quantise(const QuantiseProblem& problem, const QuantiseTensors& tensors, const DeviceId& device,
                    const RunOptions& options) {
  require(device.arch == Arch::kSm90,
          fmt::format("the device is {}; quantising is for sm90, and sim:sm90 would pass", device.name()));
  const RunOptions run = on(device, options);
  if (!device.is_gpu()) return quantise_sm90<Target::kSim>(problem, tensors, run);
  if constexpr (kHasSm90) return quantise_sm90<Target::kCuda>(problem, tensors, run);
  refuse(device.name(), device.arch);
}

void quantise(const QuantiseProblem& problem, const QuantiseTensors& tensors, void* stream) {
  if constexpr (kHasSm90) {
    enqueue_quantise_sm90<Target::kCuda>(problem, tensors, stream);
  } else {
    enqueue_quantise_sm90<Target::kSim>(problem, tensors, stream);  // which refuses
  }
}

std::vector<std::string> matmul_grouped_configs(const MatmulGroupedProblem& problem, const DeviceId& device) {
  if (device.arch == Arch::kSm100) return matmul_grouped_sm100_configs(problem);
  return matmul_grouped_sm90_configs(problem, !device.is_gpu());
}

std::string matmul_grouped_choice(const MatmulGroupedProblem& problem, const DeviceId& device) {
  const MatmulGroupedTensors apart{.a = place(1),
                                   .b = place(2),
                                   .group_rows = static_cast<const std::int32_t*>(place(3)),
                                   .out = place(4),
                                   .a_scales = static_cast<const float*>(place(5)),
                                   .b_scales = static_cast<const float*>(place(6))};
  return config_of(plan_matmul_grouped(problem, apart, !device.is_gpu(), device.arch));
}

void matmul(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream) {
  if constexpr (kHasCuda) {
    static const GpuList list = gpus();
    const DeviceId device = parse_device(fmt::format("cuda:{}", current_gpu<Target::kCuda>()), list);
    if (device.arch == Arch::kSm90) {
      if constexpr (kHasSm90) return enqueue_matmul_sm90<Target::kCuda>(problem, tensors, stream);
    } else {
      if constexpr (kHasSm100) return enqueue_matmul_sm100<Target::kCuda>(problem, tensors, stream);
    }
    refuse(device.name(), device.arch);
  } else {
    // Which rules the problem would have to keep, a GPU would tell.
    static_cast<void>(problem);
    static_cast<void>(tensors);
    static_cast<void>(stream);
    throw InputError(
        "matmul: this program was built without CUDA, so there is no stream; give host memory and a device");
  }
}

std::vector<std::string> matmul_configs(const MatmulProblem& problem, const MatmulTensors& tensors,
                                        const DeviceId& device) {
  MatmulProblem any = problem;
  any.config.clear();
  check(any, tensors, device);
  if (device.arch == Arch::kSm90) {
    return matmul_sm90_configs(problem, matmul_checks::is_fused(problem, tensors), !device.is_gpu());
  }
  std::vector<std::string> names;
  for (const std::string& name : matmul_sm100_configs()) {
    any.config = name;
    try {
      check(any, tensors, device);
      names.push_back(name);
    } catch (const InputError&) {
      continue;  // another kind of problem has it
    }
  }
  return names;
}

std::string matmul_choice(const MatmulProblem& problem, const MatmulTensors& tensors, const DeviceId& device) {
  check(problem, tensors, device);
  if (!problem.config.empty()) return problem.config;
  const bool is_fused = matmul_checks::is_fused(problem, tensors);
  if (device.arch == Arch::kSm90) {
    return matmul_sm90_choice(problem, is_fused, !device.is_gpu(), kMatmulWorkspaceBytes, gpu_name(device));
  }
  return matmul_sm100_choice(problem, is_fused);
}

std::vector<std::string> matmul_scaled_configs(const MatmulScaledProblem& problem, const DeviceId& device) {
  check_scaled(problem, device);
  return matmul_scaled_sm100_configs(problem.format, problem.rows);
}

std::string matmul_scaled_choice(const MatmulScaledProblem& problem, const DeviceId& device) {
  check_scaled(problem, device);
  const ScaleShapes shapes = scale_shapes_of(problem);
  const MatmulScaledTensors apart{.a = place(1),
                                  .b = place(2),
                                  .a_scales = {place(3), shapes.a_rows, shapes.cols},
                                  .b_scales = {place(4), shapes.b_rows, shapes.cols},
                                  .out = place(5),
                                  .group_rows = static_cast<const std::int32_t*>(place(6))};
  return matmul_scaled_sm100_configs(problem.format, problem.rows)[plan_matmul_scaled(problem, apart).config];
}

}  // namespace heddle
