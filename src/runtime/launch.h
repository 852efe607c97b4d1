// SPDX-License-Identifier: Apache-2.0
//
// Launches. A launch runs to its end before the call returns: work in stream order, one piece at a time, is an
// execution that every program must allow. Its error is seen, as on hardware, by the calls that follow.
#pragma once

#include "runtime/state.h"

#include <heddle/isa/target.h>

namespace heddle::runtime {

struct LaunchRequest {
  isa::Dim3 grid = {};
  isa::Dim3 block = {};
  isa::Dim3 cluster = {0, 0, 0};  // 0: what the kernel asks for, or none
  std::size_t dynamic_shared = 0;
  bool is_cooperative = false;
  bool is_programmatic = false;  // it may begin before the launch before it in the stream is over
  const void* stream = nullptr;
  void** arguments = nullptr;    // a pointer to each
  const void* buffer = nullptr;  // or all of them, laid out as the kernel expects
  std::size_t buffer_bytes = 0;
};

Error launch(State& card, const Kernel& kernel, const LaunchRequest& request);

// The kernel's module loaded, and what it says about the kernel. Null and the error if it has none.
const sim::PtxEntry* load_entry(State& card, const Kernel& kernel, Error& error);

// The most dynamic shared memory that a launch of the kernel may ask for.
std::size_t max_dynamic_shared(const Kernel& kernel, const sim::PtxEntry& entry);

// CTAs of this shape that an SM has room for; 0 if it cannot run at all.
int resident_ctas(const sim::PtxEntry& entry, std::uint64_t threads, std::size_t dynamic_shared);

}  // namespace heddle::runtime
