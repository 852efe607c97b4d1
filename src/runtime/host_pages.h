// SPDX-License-Identifier: Apache-2.0
//
// What the program's own memory holds, so that an address it gives is not followed further than there are bytes.
#pragma once

#include "runtime/state.h"

#include <cstddef>

namespace heddle::runtime {

// How many bytes from `begin` on can be read: up to the end of the mappings that follow one another. 0 if none
// can.
std::size_t readable_bytes(const void* begin);

// cudaHostRegister: pages that the card may reach.
Error register_host(State& card, void* begin, std::size_t bytes, unsigned flags);

}  // namespace heddle::runtime
