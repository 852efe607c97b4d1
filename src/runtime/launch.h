// SPDX-License-Identifier: Apache-2.0
//
// Launches. A launch runs to its end before the call returns: work in stream order, one piece at a time, is an
// execution that every program must allow. Its error is seen, as on hardware, by the calls that follow.
#pragma once

#include "runtime/state.h"
#include "runtime/work.h"

#include <cstddef>

namespace heddle::runtime {

// What hardware refuses before anything runs is refused here.
Error prepare(State& card, const Kernel& kernel, const LaunchRequest& request, LaunchWork& work);
// In the stream, whatever the request says.
Error run(State& card, const LaunchWork& work, const void* stream);

// Runs, or becomes a node of the graph that the stream captures.
Error launch(State& card, const Kernel& kernel, const LaunchRequest& request);

// The kernel's module loaded, and what it says about the kernel. Null and the error if it has none.
const sim::PtxEntry* load_entry(State& card, const Kernel& kernel, Error& error);

// The most dynamic shared memory that a launch of the kernel may ask for.
std::size_t max_dynamic_shared(const Kernel& kernel, const sim::PtxEntry& entry);

// CTAs of this shape that an SM has room for; 0 if it cannot run at all.
int resident_ctas(const sim::PtxEntry& entry, std::uint64_t threads, std::size_t dynamic_shared);

}  // namespace heddle::runtime
