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

// Behind `extra`, until the end: a buffer of parameters, and where its length is.
void* const kEnd = nullptr;
void* const kBufferPointer = reinterpret_cast<void*>(1);
void* const kBufferSize = reinterpret_cast<void*>(2);

// Of those that are numbered from 0 on.
constexpr std::int32_t kLastPolicy = 2;
constexpr std::int32_t kLastDomain = 1;

void check_range(const LaunchAttribute& attribute, std::int32_t last) {
  if (attribute.number >= 0 && attribute.number <= last) return;
  throw InputError(fmt::format("launch attribute {} is {}; 0 to {}", attribute.id, attribute.number, last));
}

}  // namespace

Error add_arguments(LaunchRequest& request, void** arguments, void** extra) {
  request.arguments = arguments;
  if (extra == nullptr) return Error::kSuccess;
  if (arguments != nullptr) return Error::kInvalidValue;
  for (; *extra != kEnd; extra += 2) {
    if (extra[1] == nullptr) return Error::kInvalidValue;
    if (extra[0] == kBufferPointer) {
      request.buffer = extra[1];
    } else if (extra[0] == kBufferSize) {
      request.buffer_bytes = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return Error::kInvalidValue;
    }
  }
  return Error::kSuccess;
}

void set_attribute(LaunchRequest& request, const LaunchAttribute& attribute) {
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
    case kPriority:
    case kMemSyncDomainMap:
    case kPreferredSharedCarveout:
    case kNvlinkUtilCentricScheduling: break;
    case kClusterSchedulingPolicy: check_range(attribute, kLastPolicy); break;
    case kMemSyncDomain: check_range(attribute, kLastDomain); break;
    case kDeviceUpdatableKernelNode:
    default: throw InputError(fmt::format("launch attribute {} is not there; see docs/exec.md", attribute.id));
  }
}

LaunchAttribute attribute_of(const LaunchRequest& request, int id) {
  LaunchAttribute attribute = {};
  attribute.id = id;
  if (id == kCooperative) attribute.number = request.is_cooperative;
  if (id == kProgrammaticStreamSerialization) attribute.number = request.is_programmatic;
  if (id == kClusterDimension) {
    attribute.dims[0] = request.cluster.x;
    attribute.dims[1] = request.cluster.y;
    attribute.dims[2] = request.cluster.z;
  }
  return attribute;
}

LaunchRequest request_of(const LaunchConfig& config) {
  LaunchRequest request{
      .grid = config.grid, .block = config.block, .dynamic_shared = config.shared, .stream = config.stream};
  if (config.count != 0 && config.attributes == nullptr) {
    throw InputError(fmt::format("a launch with {} attributes, at a null pointer", config.count));
  }
  for (std::uint32_t a = 0; a < config.count; ++a) set_attribute(request, config.attributes[a]);
  return request;
}

}  // namespace heddle::runtime
