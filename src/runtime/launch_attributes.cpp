// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch_attributes.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

namespace heddle::runtime {

namespace {

// As CUDA's headers number them.
enum Attribute : std::int32_t {
  kIgnore = 0,
  kAccessPolicyWindow = 1,
  kCooperative = 2,
  kSynchronizationPolicy = 3,
  kClusterDimension = 4,
  kClusterSchedulingPolicy = 5,
  kProgrammaticStreamSerialization = 6,
  kProgrammaticEvent = 7,
  kPriority = 8,
  kMemSyncDomainMap = 9,
  kMemSyncDomain = 10,
  kPreferredClusterDimension = 11,
  kLaunchCompletionEvent = 12,
  kDeviceUpdatableKernelNode = 13,
  kPreferredSharedCarveout = 14,
  kNvlinkUtilCentricScheduling = 16,
};

}  // namespace

LaunchRequest request_of(const LaunchConfig& config) {
  LaunchRequest request{
      .grid = config.grid, .block = config.block, .dynamic_shared = config.shared, .stream = config.stream};
  for (std::uint32_t a = 0; a < config.count; ++a) {
    const LaunchAttribute& attribute = config.attributes[a];
    switch (attribute.id) {
      case kCooperative: request.is_cooperative = attribute.number != 0; break;
      case kClusterDimension: request.cluster = {attribute.dims[0], attribute.dims[1], attribute.dims[2]}; break;
      case kProgrammaticStreamSerialization: request.is_programmatic = attribute.number != 0; break;
      // What they allow need not happen: the smaller cluster is always right.
      case kPreferredClusterDimension:
      case kProgrammaticEvent:
      case kLaunchCompletionEvent:
      case kIgnore:
      case kAccessPolicyWindow:
      case kSynchronizationPolicy:
      case kClusterSchedulingPolicy:
      case kPriority:
      case kMemSyncDomainMap:
      case kMemSyncDomain:
      case kPreferredSharedCarveout:
      case kNvlinkUtilCentricScheduling: break;
      case kDeviceUpdatableKernelNode:
      default: throw InputError(fmt::format("launch attribute {} is not there; see docs/exec.md", attribute.id));
    }
  }
  return request;
}

}  // namespace heddle::runtime
