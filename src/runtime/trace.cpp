// SPDX-License-Identifier: Apache-2.0
#include "runtime/trace.h"

#include "runtime/options.h"

#include <cstdio>
#include <exception>

namespace heddle::runtime {

sim::Trace* program_trace() {
  // Lives until the process ends, as the state does.
  static sim::Trace* const trace = options().trace.empty() ? nullptr : new sim::Trace(options().trace_events);
  return trace;
}

bool write_trace() {
  const sim::Trace* trace = program_trace();
  // A process without a launch, such as a helper of the program, leaves the file to the one that has some.
  if (trace == nullptr || trace->launches() == 0) return true;
  try {
    trace->write(options().trace);
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heddle exec: %s\n", error.what());
    return false;
  }
}

bool finish_trace() {
  const sim::Trace* trace = program_trace();
  if (trace == nullptr) return true;
  if (trace->launches() == 0) {
    std::fputs("heddle exec: no kernel was launched, so there is no trace\n", stderr);
    return true;
  }
  if (!write_trace()) return false;
  if (!trace->remark().empty()) std::fprintf(stderr, "heddle exec: %s\n", trace->remark().c_str());
  std::fprintf(stderr, "heddle exec: trace %s (launches %zu, spans %zu)\n", options().trace.c_str(),
               trace->launches(), trace->spans());
  return true;
}

}  // namespace heddle::runtime
