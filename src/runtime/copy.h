// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills between host and card. Each runs when it is asked for. The side that is the card's must lie in
// an allocation, whole; so must the host's side where it is in fact an allocation. Sizes that no memory could
// have are refused before anything is touched.
#pragma once

#include "runtime/state.h"
#include "runtime/work.h"

#include <cstddef>
#include <span>

namespace heddle::runtime {

// As CUDA's headers number them.
enum CopyKind : int { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault };

Error copy(State& card, void* to, const void* from, std::size_t bytes, int kind);
Error copy_box(State& card, const Box& to, const Box& from, const Extent& extent, int kind);

// Fills with a value of 1, 2 or 4 bytes, over and over; width is in bytes.
Error fill_box(State& card, const Box& to, std::span<const std::byte> value, const Extent& extent);
Error fill(State& card, void* to, int value, std::size_t bytes);

// Whether a node of a graph can do this as memory is now. Unlike a call it does not copy, or fill, nothing.
Error check_copy(const State& card, const CopyWork& work);
Error check_fill(const State& card, const FillWork& work);

// Products and sums of sizes. False when the result is more than an address can be.
bool multiply(std::size_t a, std::size_t b, std::size_t& result);
bool add(std::size_t a, std::size_t b, std::size_t& result);

}  // namespace heddle::runtime
