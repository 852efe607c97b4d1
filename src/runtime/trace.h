// SPDX-License-Identifier: Apache-2.0
//
// The timeline of the program's launches, which `heddle exec --trace` asks for.
#pragma once

#include <heddle/sim/trace.h>

namespace heddle::runtime {

// Null if nobody asked for it.
sim::Trace* program_trace();

// What was recorded so far, to the file that was asked for. False, and the reason is told, if that is not
// possible.
bool write_trace();
// The same at the end of the program, with a line that says so.
bool finish_trace();

}  // namespace heddle::runtime
