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

// Whether the first and the last of some bytes can be read, or written: not, where pages are kept from everyone.
// It writes what is there, so that it is for bytes that are about to be written. True where the system does not
// tell.
bool ends_are_readable(const void* begin, std::size_t bytes);
bool ends_are_writable(void* begin, std::size_t bytes);

// cudaHostRegister: pages that the card may reach.
Error register_host(State& card, void* begin, std::size_t bytes, unsigned flags);
Error unregister_host(State& card, const void* begin);

}  // namespace heddle::runtime
