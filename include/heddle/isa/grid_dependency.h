// SPDX-License-Identifier: Apache-2.0
//
// griddepcontrol: programmatic dependent launch. A kernel that was launched with LaunchShape::is_dependent may
// start while the one before it in the stream still runs; it sets itself up, and then waits.
//
//   if (is_first_thread) init_barriers();
//   griddepcontrol_launch_dependents();   // the next kernel may set itself up from here on
//   griddepcontrol_wait();                // from here on, what earlier kernels wrote can be read
#pragma once

#include <heddle/isa/target.h>
#include <heddle/isa/trace.h>

namespace heddle::inline HEDDLE_TARGET::isa {

#if HEDDLE_ON_CUDA

// Lets the next kernel start once every CTA of this one has executed it or exited. Orders nothing.
HEDDLE_DEVICE void griddepcontrol_launch_dependents(CallSite = CallSite::here()) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Waits until the kernels that this one depends on have ended.
// Orders: all their writes, before this thread's accesses after.
HEDDLE_DEVICE void griddepcontrol_wait(CallSite = CallSite::here()) {
  const TracedWait traced(WaitedFor::kKernelAhead);
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

#else

// Model: kernels run one after the other, so there is never one to wait for.
inline void griddepcontrol_launch_dependents(CallSite = CallSite::here()) {}
inline void griddepcontrol_wait(CallSite = CallSite::here()) {}

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
