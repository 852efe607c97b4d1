// SPDX-License-Identifier: Apache-2.0
//
// PTX that a compiler inside the program has shown before it made machine code of it, for compilers that cannot
// be told to hand out PTX: it stands for the machine code when that is loaded.
#pragma once

#include <span>
#include <string>

namespace heddle::runtime {

void keep_ptx(std::string text);

// The newest that has all of these kernels; empty if there is none.
std::string kept_ptx(std::span<const std::string> kernels);

}  // namespace heddle::runtime
