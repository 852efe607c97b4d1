// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

#include "attention_plan.h"
#include "attention_sm90_host.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

namespace heddle {

namespace {

constexpr bool kHasSm90 = HEDDLE_WITH_SM90 != 0;

}  // namespace

RunOutcome attention(const AttentionProblem& problem, const AttentionTensors& tensors, const DeviceId& device,
                     const RunOptions& options) {
  RunOptions run = options;
  run.arch = device.arch;
  run.ordinal = device.ordinal;
  check_attention_tensors(problem, plan_attention(problem), tensors, true);
  if (device.arch != Arch::kSm90) {
    throw InputError(
        fmt::format("attention: device '{}': its kernel is for sm90, and sim:sm90 would pass", device.name()));
  }
  if (!device.is_gpu()) return attention_sm90<Target::kSim>(problem, tensors, run);
  if constexpr (kHasSm90) return attention_sm90<Target::kCuda>(problem, tensors, run);
  throw InputError(fmt::format(
      "attention: device '{}': this program was built without device code for sm90; sim:sm90 would pass",
      device.name()));
}

void attention(const AttentionProblem& problem, const AttentionTensors& tensors, void* stream) {
  if constexpr (kHasSm90) {
    enqueue_attention_sm90<Target::kCuda>(problem, tensors, stream);
  } else {
    static_cast<void>(problem);
    static_cast<void>(tensors);
    static_cast<void>(stream);
    throw InputError(
        "attention: this program was built without device code for sm90, so there is no stream; give host memory "
        "and a "
        "device");
  }
}

}  // namespace heddle
