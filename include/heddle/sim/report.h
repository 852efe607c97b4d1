// SPDX-License-Identifier: Apache-2.0
//
// What a run in the simulated SM found, and what it did.
#pragma once

#include <heddle/sim/fault_code.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim {

// One mistake. `code` is stable and has a section in docs/diagnostics.md; `text` is the whole message, its
// first line beginning with the code in brackets.
struct Diagnosis {
  FaultCode code;
  std::string text;
  Verdict verdict = Verdict::kWrong;
  std::vector<std::string> places = {};  // "copy.cu:87": the one or two that it is told for
  std::uint64_t times = 1;               // found there
  std::string accepted_by = {};          // the rule of LaunchOptions::accepted that lets it pass
};

struct Stats {
  std::uint64_t thread_switches = 0;
  std::uint64_t instructions = 0;  // that went through the machine
  std::uint64_t copies = 0;
  std::uint64_t copy_bytes = 0;
  std::uint64_t mmas = 0;
  std::uint64_t ctas = 0;
  std::uint64_t cancelled_clusters = 0;  // by cluster launch control
  std::uint64_t threads = 0;
  std::uint64_t steps = 0;  // places where a schedule may let another go first
};

struct Report {
  std::vector<Diagnosis> diagnoses;  // what stopped the launch
  std::vector<Diagnosis> formal;     // what did not, because the hardware grants it; once for each pair of places
  std::vector<Diagnosis> accepted;   // or because the launch accepts it; likewise
  Stats stats;
  std::string schedule;

  bool ok() const { return diagnoses.empty(); }
  bool has(std::string_view code) const;  // among what stopped the launch
  std::string text() const;               // of what stopped the launch
  std::string remarks() const;            // of what did not
};

}  // namespace heddle::sim
