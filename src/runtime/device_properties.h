// SPDX-License-Identifier: Apache-2.0
//
// The structure in which a program asks for all properties of the card at once. Its layout changed from CUDA 12
// to 13.
#pragma once

#include <cstddef>

namespace heddle::runtime {

inline constexpr std::size_t kPropertyBytes12 = 1032;
inline constexpr std::size_t kPropertyBytes13 = 1008;

// Fills the structure of CUDA `version`, 12 or 13.
void write_properties(void* properties, int version, std::size_t memory_bytes);

}  // namespace heddle::runtime
