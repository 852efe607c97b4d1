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
  enum class Kind : std::uint8_t { kRoundRobin, kRandom, kPct };

  Kind kind = Kind::kRoundRobin;
  std::uint64_t seed = 0;
  std::uint32_t depth = 0;  // kPct only, as are the steps
  std::uint64_t steps = 0;

  static Schedule round_robin() { return {}; }
  static Schedule random(std::uint64_t seed) { return {Kind::kRandom, seed}; }

  // Probabilistic concurrency testing (Burckhardt et al., 2010): every warp has a random priority, the highest
  // that can go goes, and at depth - 1 random places of a run of so many steps the running one falls behind all
  // others. A mistake that needs `depth` things in one order is met with a probability of at least pct_bound().
  static Schedule pct(std::uint32_t depth, std::uint64_t steps, std::uint64_t seed) {
    return {Kind::kPct, seed, depth, steps};
  }
  static constexpr std::uint32_t kMaxDepth = 64;

  // "rr", the seed in hexadecimal, or "pct3.1000.7f": depth, steps and seed. Throws InputError for anything else.
  static Schedule parse(std::string_view text);
  std::string name() const;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// 1 / (actors * steps^(depth - 1)).
double pct_bound(std::uint64_t actors, std::uint64_t steps, std::uint32_t depth);

// What a report is seen again by: "7f3a@mistakes#3" is schedule 7f3a of the program `mistakes`, for its third
// launch alone; without the number it is for all of them, and without the program for any.
struct ReplayToken {
  Schedule schedule = {};
  std::string program = {};
  std::uint64_t launch = 0;

  // Throws InputError for text that is none.
  static ReplayToken parse(std::string_view text);
  // The same, of this program: throws InputError for a token of another one.
  static ReplayToken parse(std::string_view text, std::string_view program);
  std::string text() const;

  friend bool operator==(const ReplayToken&, const ReplayToken&) = default;
};

}  // namespace heddle::sim
