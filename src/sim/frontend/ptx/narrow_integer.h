// SPDX-License-Identifier: Apache-2.0
//
// Integers narrower than the word that holds them.
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::sim::ptx {

// The number of `bits` bits that begins at bit `from`.
constexpr std::int64_t field(std::uint64_t word, std::uint32_t from, std::uint32_t bits, bool is_signed) {
  const auto value = static_cast<std::int64_t>(word >> from & ((std::uint64_t{1} << bits) - 1));
  return is_signed && value >> (bits - 1) != 0 ? value - (std::int64_t{1} << bits) : value;
}

constexpr std::int64_t least(std::uint32_t bits, bool is_signed) {
  return is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
}

constexpr std::int64_t most(std::uint32_t bits, bool is_signed) {
  return (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
}

inline bool is_signed(std::string_view type) { return type[1] == 's'; }

}  // namespace heddle::sim::ptx
