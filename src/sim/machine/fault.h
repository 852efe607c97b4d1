// SPDX-License-Identifier: Apache-2.0
//
// A mistake that the machine found while executing an instruction or a step of a copy. Thrown by the
// machine, caught by whoever drives it, before it could pass through kernel code.
#pragma once

#include <string>
#include <vector>

namespace heddle::sim::machine {

struct Fault {
  std::string code;
  std::string headline;              // what happened, with both numbers
  std::vector<std::string> details;  // who and where, and one likely cause
};

}  // namespace heddle::sim::machine
