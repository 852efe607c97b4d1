// SPDX-License-Identifier: Apache-2.0
//
// A report as the C interface hands it out. The runtime of `heddle exec` has it, too.
#pragma once

#include <heddle/c_api.h>
#include <heddle/sim/report.h>

#include <string>
#include <vector>

struct heddle_report {
  heddle_report(std::string kernel_name, heddle::sim::Report what);
  // It holds pointers into itself.
  heddle_report(const heddle_report&) = delete;
  heddle_report& operator=(const heddle_report&) = delete;

  struct Finding {
    const heddle::sim::Diagnosis* diagnosis;
    std::vector<const char*> places;
    bool has_stopped;
  };

  std::string kernel;
  heddle::sim::Report report;
  std::vector<Finding> findings;
};
