// SPDX-License-Identifier: Apache-2.0
//
// A mistake that was found while an instruction or a step of a copy was executed. What the run cannot go on after
// is thrown by the machine, and caught by whoever drives it, before it could pass through kernel code; Findings
// says whether it can go on after the rest.
#pragma once

#include <heddle/isa/target.h>
#include <heddle/sim/fault_code.h>

#include <optional>
#include <string>
#include <vector>

namespace heddle::sim::machine {

// The two accesses, or the one instruction, that a mistake is told for. Found again there, it is only counted.
struct Places {
  CallSite first = {};
  CallSite second = {};
};

struct Fault {
  FaultCode code = {};
  std::string headline = {};              // what happened, with both numbers
  std::vector<std::string> details = {};  // who and where, and the cause where the state proves one
  Places places = {};
  std::optional<Verdict> verdict = {};  // where it is not the code's own

  Verdict level() const { return verdict.value_or(rule_of(code).verdict); }
};

}  // namespace heddle::sim::machine
