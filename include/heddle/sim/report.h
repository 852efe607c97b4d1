// SPDX-License-Identifier: Apache-2.0
//
// What a run in the simulated SM found, and what it did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

// One mistake. `code` is stable and has a section in docs/diagnostics.md; `text` is the whole message, its
// first line beginning with the code in brackets.
struct Diagnosis {
  std::string code;
  std::string text;
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
};

struct Report {
  std::vector<Diagnosis> diagnoses;
  std::vector<Diagnosis> accepted;  // what the launch accepts, the first of each code
  Stats stats;
  std::string schedule;

  bool ok() const { return diagnoses.empty(); }
  bool has(const std::string& code) const;
  std::string text() const;
};

}  // namespace heddle::sim
