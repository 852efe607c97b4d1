// SPDX-License-Identifier: Apache-2.0
//
// Says what happened when a kernel's thread has used more stack than it has, which would otherwise end the
// process without a word. It still ends: other threads of the kernel, and of the host, may hold what the overflow
// broke.
#pragma once

namespace heddle::sim::frontend {

// For this thread, from now on. What the program does about SIGSEGV itself comes after the message.
void watch_stacks();

}  // namespace heddle::sim::frontend
