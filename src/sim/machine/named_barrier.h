// SPDX-License-Identifier: Apache-2.0
//
// One of the 16 named barriers of a CTA.
// PTX: bar, barrier.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::sim::machine {

// What bar.red makes of the predicates of a round.
enum class NamedReduction : std::uint8_t { kNone, kPopc, kAnd, kOr };

struct NamedBarrier {
  // What it is for: barrier `number` of `count` under one name.
  struct Use {
    const char* name = "";
    std::uint32_t number = 0;
    std::uint32_t count = 1;
  };
  Use use;

  std::uint32_t threads = 0;  // how many the current round needs; 0 between rounds
  bool is_of_all = false;     // the round needs the whole CTA, and warps that exit are not waited for
  std::uint32_t arrived = 0;
  std::vector<std::uint32_t> lanes;  // by warp: which lanes have arrived in this round

  NamedReduction reduction = NamedReduction::kNone;
  std::uint32_t votes = 0;  // threads that have handed over a predicate in this round
  std::uint32_t yes = 0;    // of them, those whose predicate was true

  std::uint32_t result() const {
    switch (reduction) {
      case NamedReduction::kPopc: return yes;
      case NamedReduction::kAnd: return yes == votes ? 1 : 0;
      default: return yes != 0 ? 1 : 0;
    }
  }

  void reset() {
    threads = 0;
    reduction = NamedReduction::kNone;
    votes = 0;
    yes = 0;
    is_of_all = false;
    arrived = 0;
    for (std::uint32_t& mask : lanes) mask = 0;
  }
};

}  // namespace heddle::sim::machine
