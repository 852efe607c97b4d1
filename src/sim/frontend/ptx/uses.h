// SPDX-License-Identifier: Apache-2.0
//
// What becomes of what a load gets, as the text of the program has it: the same for every path through it.
#pragma once

#include "sim/check/spare_loads.h"

namespace heddle::sim::ptx {

struct Function;

// Of the loads at this place, all of them.
check::LoadUses uses_of_loads(const Function& function, CallSite site);

}  // namespace heddle::sim::ptx
