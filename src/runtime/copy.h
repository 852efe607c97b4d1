// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills between host and card. Each runs when it is asked for. The side that is the card's must lie in
// an allocation, whole.
#pragma once

#include "runtime/state.h"

#include <cstddef>

namespace heddle::runtime {

// As CUDA's headers number them.
enum CopyKind : int { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault };

Error copy(State& card, void* to, const void* from, std::size_t bytes, int kind);

// Rows of `width` bytes, `pitch` from one to the next.
struct Rows {
  std::byte* begin;
  std::size_t pitch;
};
Error copy_rows(State& card, const Rows& to, const Rows& from, std::size_t width, std::size_t height, int kind);

Error fill(State& card, void* to, std::size_t pitch, int value, std::size_t width, std::size_t height);

// Whether all of [begin, begin + bytes) is the card's; says what is wrong if not.
bool is_on_card(const State& card, const void* begin, std::size_t bytes);

}  // namespace heddle::runtime
