// SPDX-License-Identifier: Apache-2.0
#include "devices.h"

#include "gpus.h"

namespace heddle {

namespace {

constexpr bool kHasCuda = HEDDLE_WITH_CUDA != 0;

}  // namespace

DeviceId find_device(std::string_view name, Arch fallback) { return parse_device(name, gpus(), fallback); }

GpuList gpus() {
  if constexpr (kHasCuda) return gpus_of<Target::kCuda>();
  return gpus_of<Target::kSim>();
}

bool is_built_with_cuda() { return kHasCuda; }

}  // namespace heddle
