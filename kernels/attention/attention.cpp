// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

#include "../gpus.h"
#include "attention_decode.h"
#include "attention_decode_plan.h"
#include "attention_decode_sm100_host.h"
#include "attention_decode_sm90_host.h"
#include "attention_fp8_plan.h"
#include "attention_fp8_sm90_host.h"
#include "attention_plan.h"
#include "attention_sm100_host.h"
#include "attention_sm90_host.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

namespace heddle {

namespace {

constexpr bool kHasSm90 = HEDDLE_WITH_SM90 != 0;
constexpr bool kHasSm100 = HEDDLE_WITH_SM100 != 0;

RunOptions options_for(const DeviceId& device, const RunOptions& options) {
  RunOptions run = options;
  run.arch = device.arch;
  run.ordinal = device.ordinal;
  return run;
}

void require_sm90(const DeviceId& device) {
  if (device.arch == Arch::kSm90) return;
  throw InputError(
      fmt::format("attention: device '{}': its kernel is for sm90, and sim:sm90 would pass", device.name()));
}

[[noreturn]] void refuse_gpu(const DeviceId& device) {
  throw InputError(
      fmt::format("attention: device '{}': this program was built without device code for {}; sim:{} would pass",
                  device.name(), limits_of(device.arch).name, limits_of(device.arch).name));
}

[[noreturn]] void refuse_stream() {
  throw InputError(
      "attention: this program was built without device code for a GPU, so there is no stream; give host memory "
      "and a device");
}

// Whether a stream is taken for one of Blackwell. A launch refuses GPUs that its kernels are not for.
[[maybe_unused]] bool is_on_sm100() {
  if constexpr (!kHasSm100) return false;
  if constexpr (!kHasSm90) return true;
  if constexpr (kHasSm90 && kHasSm100) {
    static const GpuList list = gpus();
    const int ordinal = current_gpu<Target::kCuda>();
    for (const GpuDescription& gpu : list.gpus) {
      if (gpu.ordinal == ordinal) return gpu.major == 10;
    }
  }
  return false;
}

}  // namespace

RunOutcome attention(const AttentionProblem& problem, const AttentionTensors& tensors, const DeviceId& device,
                     const RunOptions& options) {
  const RunOptions run = options_for(device, options);
  check_attention_tensors(problem, plan_attention(problem), tensors, true);
  if (device.arch == Arch::kSm100) {
    if (!device.is_gpu()) return attention_sm100<Target::kSim>(problem, tensors, run);
    if constexpr (kHasSm100) return attention_sm100<Target::kCuda>(problem, tensors, run);
    refuse_gpu(device);
  }
  require_sm90(device);
  if (!device.is_gpu()) return attention_sm90<Target::kSim>(problem, tensors, run);
  if constexpr (kHasSm90) return attention_sm90<Target::kCuda>(problem, tensors, run);
  refuse_gpu(device);
}

void attention([[maybe_unused]] const AttentionProblem& problem, [[maybe_unused]] const AttentionTensors& tensors,
               [[maybe_unused]] void* stream) {
  if constexpr (kHasSm100) {
    if (is_on_sm100()) return enqueue_attention_sm100<Target::kCuda>(problem, tensors, stream);
  }
  if constexpr (kHasSm90) {
    enqueue_attention_sm90<Target::kCuda>(problem, tensors, stream);
  } else {
    refuse_stream();
  }
}

RunOutcome attention_decode(const AttentionDecodeProblem& problem, const AttentionDecodeTensors& tensors,
                            const DeviceId& device, const RunOptions& options) {
  const RunOptions run = options_for(device, options);
  check_attention_decode_tensors(problem, plan_attention_decode(problem), tensors, true);
  if (device.arch == Arch::kSm100) {
    if (!device.is_gpu()) return attention_decode_sm100<Target::kSim>(problem, tensors, run);
    if constexpr (kHasSm100) return attention_decode_sm100<Target::kCuda>(problem, tensors, run);
    refuse_gpu(device);
  }
  require_sm90(device);
  if (!device.is_gpu()) return attention_decode_sm90<Target::kSim>(problem, tensors, run);
  if constexpr (kHasSm90) return attention_decode_sm90<Target::kCuda>(problem, tensors, run);
  refuse_gpu(device);
}

void attention_decode([[maybe_unused]] const AttentionDecodeProblem& problem,
                      [[maybe_unused]] const AttentionDecodeTensors& tensors, [[maybe_unused]] void* stream) {
  if constexpr (kHasSm100) {
    if (is_on_sm100()) return enqueue_attention_decode_sm100<Target::kCuda>(problem, tensors, stream);
  }
  if constexpr (kHasSm90) {
    enqueue_attention_decode_sm90<Target::kCuda>(problem, tensors, stream);
  } else {
    refuse_stream();
  }
}

RunOutcome attention_fp8(const AttentionProblem& problem, const AttentionFp8Tensors& tensors,
                         const DeviceId& device, const RunOptions& options) {
  const RunOptions run = options_for(device, options);
  check_attention_fp8_tensors(plan_attention_fp8(problem), tensors, true);
  require_sm90(device);
  if (!device.is_gpu()) return attention_fp8_sm90<Target::kSim>(problem, tensors, run);
  if constexpr (kHasSm90) return attention_fp8_sm90<Target::kCuda>(problem, tensors, run);
  refuse_gpu(device);
}

void attention_fp8([[maybe_unused]] const AttentionProblem& problem,
                   [[maybe_unused]] const AttentionFp8Tensors& tensors, [[maybe_unused]] void* stream) {
  if constexpr (kHasSm90) {
    enqueue_attention_fp8_sm90<Target::kCuda>(problem, tensors, stream);
  } else {
    refuse_stream();
  }
}

}  // namespace heddle
