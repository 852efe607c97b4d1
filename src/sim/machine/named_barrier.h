// SPDX-License-Identifier: Apache-2.0
//
// One of the 16 named barriers of a CTA.
// PTX: bar, barrier.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::sim::machine {

struct NamedBarrier {
  std::uint32_t threads = 0;  // how many the current round needs; 0 between rounds
  bool is_of_all = false;     // the round needs the whole CTA, and warps that exit are not waited for
  std::uint32_t arrived = 0;
  std::vector<std::uint32_t> lanes;  // by warp: which lanes have arrived in this round

  std::uint64_t round = 0;           // how many are over

  void reset() {
    ++round;
    threads = 0;
    is_of_all = false;
    arrived = 0;
    for (std::uint32_t& mask : lanes) mask = 0;
  }
};

}  // namespace heddle::sim::machine
