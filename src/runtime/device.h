// SPDX-License-Identifier: Apache-2.0
//
// The simulated card: what it has, and how it answers questions about itself.
#pragma once

#include "runtime/error_code.h"

#include <cstddef>
#include <cstdint>

namespace heddle::runtime {

// The same on Hopper and Blackwell.
inline constexpr std::uint32_t kMaxThreads = 1024;  // of a CTA
inline constexpr std::uint32_t kMaxBlockXY = 1024;
inline constexpr std::uint32_t kMaxBlockZ = 64;
inline constexpr std::uint32_t kMaxGridX = 0x7FFF'FFFF;
inline constexpr std::uint32_t kMaxGridYZ = 65535;
inline constexpr std::uint32_t kMaxThreadsPerSm = 2048;
inline constexpr std::uint32_t kMaxCtasPerSm = 32;
inline constexpr std::size_t kDefaultShared = 48 * 1024;  // of a CTA, without asking for more
inline constexpr std::size_t kReservedShared = 1024;      // of each CTA
inline constexpr std::size_t kSharedPerSm = 228 * 1024;

// The number of a device attribute in CUDA's headers; false for a number that is none.
bool device_attribute(int attribute, int& value);

const char* device_name();

// How a card is to divide shared memory and cache, of which it knows four ways.
constexpr Error check_cache_config(int config) {
  return config < 0 || config > 3 ? Error::kInvalidValue : Error::kSuccess;
}

}  // namespace heddle::runtime
