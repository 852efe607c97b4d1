// SPDX-License-Identifier: Apache-2.0
//
// What becomes of what a load gets, as the text of the program has it: the same for every path through it.
#pragma once

#include "sim/check/spare_loads.h"

#include <cstddef>

namespace heddle::sim::ptx {

struct Function;

// Of the loads at this place, all of them.
check::LoadUses uses_of_loads(const Function& function, CallSite site);

// Whether what the plain load at this place gives only decides whether, and with what, an atom.cas of the same
// word is tried, which compares it: a value that is old does no harm then.
bool is_only_compared(const Function& function, std::size_t load_at);

}  // namespace heddle::sim::ptx
