// SPDX-License-Identifier: Apache-2.0
//
// How a host program wants a kernel run, on either target. Plain data, the same type for both.
#pragma once

#include <heddle/isa/arch.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

struct RunOptions {
  std::string kernel = "kernel";  // what reports call it
  std::string schedule = "rr";    // simulated SM: as sim::Schedule::parse() takes it
  std::string again = {};         // simulated SM: the command that shows a run again
  std::uint32_t sms = 4;          // simulated SM: how many
  Arch arch = Arch::kSm90;        // simulated SM: of which architecture
  int ordinal = 0;                // GPU: which
  // Simulated SM: as in sim::LaunchOptions.
  bool check_races = true;
  bool strict = false;
  std::vector<std::string> accepted = {};
};

// What came of a run. `report` is empty when all went well.
struct RunOutcome {
  std::string report;
  std::string remarks;                // simulated SM only: what was found and did not end the run
  std::uint64_t thread_switches = 0;  // simulated SM only
  std::uint64_t instructions = 0;
  std::uint64_t copies = 0;
  std::uint64_t copy_bytes = 0;
  std::uint64_t steps = 0;  // places where a schedule may let another go first
  std::uint64_t warps = 0;
  double kernel_ms = 0;  // GPU only

  bool ok() const { return report.empty(); }
};

}  // namespace heddle
