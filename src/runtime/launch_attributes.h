// SPDX-License-Identifier: Apache-2.0
//
// Launches with attributes, as CUDA's headers lay them out; the runtime and the driver share the layout.
#pragma once

#include "runtime/launch.h"

#include <cstddef>
#include <cstdint>

namespace heddle::runtime {

struct LaunchAttribute {
  std::int32_t id;
  std::int32_t padding;
  union {
    std::byte bytes[64];
    std::int32_t number;
    std::uint32_t dims[3];
  };
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  isa::Dim3 grid;
  isa::Dim3 block;
  std::size_t shared;
  void* stream;
  const LaunchAttribute* attributes;
  std::uint32_t count;
};
static_assert(sizeof(LaunchConfig) == 56);

// The arguments one by one, or all in the buffer that `extra` names.
Error add_arguments(LaunchRequest& request, void** arguments, void** extra);

void set_attribute(LaunchRequest& request, const LaunchAttribute& attribute);
LaunchAttribute attribute_of(const LaunchRequest& request, int id);

// The request without its arguments. Attributes that only make a launch faster, or let it begin earlier, have no
// effect. Throws InputError for one that is not known.
LaunchRequest request_of(const LaunchConfig& config);

}  // namespace heddle::runtime
