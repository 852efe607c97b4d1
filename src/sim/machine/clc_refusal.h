// SPDX-License-Identifier: Apache-2.0
//
// A request for a cluster that was refused names none. Some front ends know whether the answer is used; others
// take the question for its use.
#pragma once

#include <heddle/isa/target.h>

#include <string>
#include <vector>

namespace heddle::sim::machine {

class Core;
struct Thread;

[[noreturn]] void refuse_ctaid(const Core& core, const Thread& thread, CallSite site,
                               std::vector<std::string> details);

}  // namespace heddle::sim::machine
