// SPDX-License-Identifier: Apache-2.0
//
// What launches and other work of streams have found: printed, or kept for a program that asked for that.
#pragma once

#include "runtime/state.h"

#include <heddle/sim/report.h>

#include <cstdint>
#include <string>

namespace heddle::runtime {

// `name` is the kernel's, or the call's; `launch` counts from 1, 0 if it is none. What did not stop the work is
// told once for each pair of places in the life of the program. False if something did: the card is broken then.
bool take_report(State& card, const std::string& name, const sim::Report& report, std::uint64_t launch = 0);

}  // namespace heddle::runtime
