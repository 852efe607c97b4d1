// SPDX-License-Identifier: Apache-2.0
//
// Shared addresses, as the hardware has them: the rank of a CTA in its cluster above bit 24, a byte offset below.
#pragma once

#include <cstdint>

namespace heddle::sim::machine {

using SharedAddress = std::uint32_t;

inline constexpr std::uint32_t kRankShift = 24;
inline constexpr std::uint32_t kOffsetMask = (1u << kRankShift) - 1;

// A kernel's dynamic shared memory starts behind the kilobyte that the system keeps for itself.
inline constexpr std::uint32_t kSharedBase = 1024;

}  // namespace heddle::sim::machine
