// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel in the simulated SM.
//
//   sim::GlobalMemory memory;
//   memory.add("source", source.data(), source.size());
//   sim::Report report = sim::launch<Copy>({.memory = &memory}, {.grid = {4}}, params);
//   if (!report.ok()) std::cerr << report.text();
#pragma once

#include <heddle/isa/arch.h>
#include <heddle/isa/entry.h>
#include <heddle/sim/entry.h>
#include <heddle/sim/global_memory.h>
#include <heddle/sim/report.h>
#include <heddle/sim/schedule.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

namespace explore {
class Strategy;
}

class History;
class Observer;

using ::heddle::Arch;

class Trace;

struct LaunchOptions {
  const GlobalMemory* memory = nullptr;  // none: the kernel touches no global memory
  Schedule schedule = {};
  Arch arch = Arch::kSm90;
  std::uint32_t sms = 4;          // CTAs resident at once, one to an SM; at least one cluster fits
  std::string kernel = "kernel";  // what reports call it
  std::string again = {};         // the command that shows the run again, {} in it for the schedule; may be empty
  std::uint64_t max_steps = std::uint64_t{1} << 40;  // instructions before the run is stopped with a report
  bool check_races = true;  // judge accesses by what happens before what, not by luck of the schedule
  bool strict = false;      // formal findings end the run, too
  // Mistakes that are told, but do not end the run: "race", "race@copy.cu", "race@copy.cu:87", as AcceptRule has
  // it.
  std::vector<std::string> accepted = {};
  std::vector<Observer*> observers = {};
  History* history = nullptr;             // work that may still run; with check_races, this launch joins it
  explore::Strategy* strategy = nullptr;  // who goes next, in place of the schedule
  Trace* trace = nullptr;                 // where what happens is recorded, if anywhere
  // Of each thread of a C++ kernel, for its local variables; 0: 128 KiB. One that needs more is told so when it
  // ends the process: a stack that has overflowed cannot be given back.
  std::size_t stack_bytes = 0;
};

// Throws InputError for a launch that no GPU of that architecture would take; nothing is written then.
Report launch_entry(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry,
                    const void* params);

template <Kernel K>
Report launch(const LaunchOptions& options, const LaunchShape& shape, const typename K::Params& params) {
  return launch_entry(options, shape, entry_of<K>(shape), &params);
}

}  // namespace heddle::sim
