// SPDX-License-Identifier: Apache-2.0
//
// The architectures, and what each gives to a CTA. The same types for both targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle {

enum class Arch : std::uint8_t { kSm90, kSm100 };

// What an architecture gives to one CTA.
struct ArchLimits {
  std::string_view name;
  std::size_t max_shared_bytes;
};

// Both parts have 228 KiB per SM, of which 1 KiB per CTA is reserved.
constexpr ArchLimits limits_of(Arch arch) {
  switch (arch) {
    case Arch::kSm90: return {"sm90", 232'448};
    case Arch::kSm100: return {"sm100", 232'448};
  }
  return {"unknown", 0};
}

constexpr std::size_t max_shared_bytes(Arch arch) { return limits_of(arch).max_shared_bytes; }

}  // namespace heddle
