// SPDX-License-Identifier: Apache-2.0
//
// Compiled with HEDDLE_TRACE=1, in a namespace of its own beside the kernels of the library.
#include "matmul_traced.h"

#include "matmul/device/matmul_sm90_launch.h"
#include "matmul/host/matmul_sm90_plan.h"

#include <heddle/host/device_trace.h>

namespace heddle::tool {

namespace {

// One of each form: every build adds machine code.
constexpr const char* kTraced = "128x256x64_4_2x1_coop, 128x128x64_6_1x1_pingpong and 64x64x64_13_1x1_single";

template <std::uint32_t... instance>
MatmulLaunch find(std::uint32_t wanted) {
  MatmulLaunch found = nullptr;
  ((wanted == instance ? (void)(found = HEDDLE_TARGET::detail::launch_instance<instance, bf16>) : (void)0), ...);
  return found;
}

constexpr std::uint32_t index_of(const MatmulSm90Config& config) {
  std::uint32_t i = 0;
  while (!(kMatmulSm90Instances[i].config == config)) ++i;
  return i;
}

constexpr std::uint32_t kCoop = index_of({.tile_m = 128, .tile_n = 256, .stages = 4, .cluster_m = 2});
constexpr std::uint32_t kPingpong =
    index_of({.tile_m = 128, .tile_n = 128, .stages = 6, .form = MatmulForm::kPingpong});
constexpr std::uint32_t kSingle =
    index_of({.tile_m = 64, .tile_n = 64, .stages = 13, .form = MatmulForm::kSingle, .store_tiles = 1});

}  // namespace

RunOutcome traced_matmul(const MatmulProblem& problem, const MatmulTensors& tensors, int ordinal,
                         std::vector<TracedLaunch>& launches) {
  const MatmulPlan plan = plan_matmul_sm90(problem, tensors, false, 0, "");
  const MatmulLaunch launch = find<kCoop, kPingpong, kSingle>(plan.choice.instance);
  if (launch == nullptr || plan.choice.splits != 1 || problem.a_type != MatmulElement::kBf16) {
    throw InputError("trace: there is no build of " + name_of(plan.choice) +
                     " that records on a GPU; in bf16 and with K whole there are " + kTraced);
  }
  check_gpu(ordinal, 9);
  Device device({.kernel = "matmul", .ordinal = ordinal});
  const MatmulOnDevice on_device(device, tensors, plan, plan.partial_bytes);
  const MatmulTensors there = on_device.tensors();
  const auto run = [&] { return launch(device, {.problem = problem, .tensors = there, .plan = plan}); };
  // The first one loads the kernel.
  if (RunOutcome first = device.finish(run); !first.ok()) return first;
  DeviceTrace trace(name_of(plan.choice));
  RunOutcome outcome = device.finish(run);
  for (TracedLaunch& one : trace.take()) launches.push_back(std::move(one));
  if (outcome.ok()) on_device.download(tensors);
  outcome.kernel_ms = 0;  // with the memory for the records in it, it is the time of nothing
  return outcome;
}

}  // namespace heddle::tool
