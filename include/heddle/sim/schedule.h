// SPDX-License-Identifier: Apache-2.0
//
// The order in which threads and copies take their turns. A schedule and the kernel's input determine a run
// completely, so every run can be seen again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::sim {

struct Schedule {
  enum class Kind : std::uint8_t { kRoundRobin, kRandom };

  Kind kind = Kind::kRoundRobin;
  std::uint64_t seed = 0;

  static Schedule round_robin() { return {}; }
  static Schedule random(std::uint64_t seed) { return {Kind::kRandom, seed}; }

  // "rr", or the seed in hexadecimal. Throws InputError for anything else.
  static Schedule parse(std::string_view text);
  std::string name() const;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace heddle::sim
