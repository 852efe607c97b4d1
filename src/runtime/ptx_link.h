// SPDX-License-Identifier: Apache-2.0
//
// Relocatable device code: the PTX of several translation units as one module. Names that a unit keeps to itself
// get the number of the unit where another has them too, of weak definitions the first is taken, and source files
// are counted on. A name that two units define for all is found, as ever, where the module is read.
#pragma once

#include <span>
#include <string>

namespace heddle::runtime {

std::string link_ptx(std::span<const std::string> units);

}  // namespace heddle::runtime
