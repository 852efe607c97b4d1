// SPDX-License-Identifier: Apache-2.0
//
// What a program asks about a kernel, and what it sets.
#pragma once

#include "runtime/launch.h"

#include <cstddef>

namespace heddle::runtime {

// As CUDA's headers lay it out.
struct FunctionAttributes {
  std::size_t static_shared;
  std::size_t constant_bytes;
  std::size_t local_bytes;
  int max_threads;
  int registers;
  int ptx_version;
  int binary_version;
  int cache_mode;
  int max_dynamic_shared;
  int carveout;
  int must_set_cluster;
  int cluster[3];
  int scheduling_policy;
  int allows_nonportable_cluster;
  int reserved[16];
};
static_assert(sizeof(FunctionAttributes) == 144);

Error get_attributes(State& card, const Kernel& kernel, FunctionAttributes& attributes);

// The runtime's and the driver's numbers from 8 on are the same.
Error set_attribute(State& card, Kernel& kernel, int attribute, int value);

}  // namespace heddle::runtime
