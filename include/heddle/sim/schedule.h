// SPDX-License-Identifier: Apache-2.0
//
// The order in which threads and copies take their turns. A schedule and the kernel's input determine a run
// completely, so every run can be seen again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::sim {

// Who takes turns, beside copies and other work in flight.
enum class Actors : std::uint8_t {
  kThreads,  // each goes on its own: kernels in C++
  kWarps,    // the front end lets lanes of a warp go together: PTX
  kLockstep  // kernels in C++ whose warps go on together: each lane has its turn in the turn of its warp
};

// After so many decisions, in which nobody is named, the one with this number among those that can go has its
// turn.
struct Turn {
  std::uint64_t after;
  std::uint32_t actor;

  friend bool operator==(const Turn&, const Turn&) = default;
};

struct Schedule {
  enum class Kind : std::uint8_t { kRoundRobin, kRandom, kPct, kTurns };

  Kind kind = Kind::kRoundRobin;
  std::uint64_t seed = 0;
  std::uint32_t depth = 0;  // kPct only, as are the steps
  std::uint64_t steps = 0;
  Actors actors = Actors::kThreads;  // kTurns only, as are the turns
  std::vector<Turn> turns = {};

  static Schedule round_robin() { return {}; }
  static Schedule random(std::uint64_t seed) { return {Kind::kRandom, seed}; }

  // Probabilistic concurrency testing (Burckhardt et al., 2010): every warp has a random priority, the highest
  // that can go goes, and at depth - 1 random places of a run of so many steps the running one falls behind all
  // others. A mistake that needs `depth` things in one order is met with a probability of at least pct_bound().
  static Schedule pct(std::uint32_t depth, std::uint64_t steps, std::uint64_t seed) {
    return {Kind::kPct, seed, depth, steps};
  }
  static constexpr std::uint32_t kMaxDepth = 64;

  // Whoever went last goes on as long as it can, then the first that can; but for these turns. A search names its
  // executions so.
  static Schedule by_turns(Actors actors, std::vector<Turn> turns) {
    return {Kind::kTurns, 0, 0, 0, actors, std::move(turns)};
  }

  // "rr", the seed in hexadecimal, "pct3.1000.7f": depth, steps and seed, or "w12.3-5.0": turns of warps ("t": of
  // threads, "l": of lanes in lockstep), number 3 after 12 decisions and number 0 after 5 more. Throws InputError
  // for anything else.
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
