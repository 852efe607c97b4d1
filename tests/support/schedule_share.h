// SPDX-License-Identifier: Apache-2.0
//
// How many schedules a test runs. HEDDLE_SCHEDULES in the environment says how many of a thousand: builds that
// repeat what another has shown under all of them run a share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace heddle::test {

// The share of `all` schedules that this run takes: all of them, or at least two.
inline std::uint64_t schedule_share(std::uint64_t all) {
  const char* of_a_thousand = std::getenv("HEDDLE_SCHEDULES");
  if (of_a_thousand == nullptr) return all;
  return std::max<std::uint64_t>(all * std::strtoull(of_a_thousand, nullptr, 10) / 1000,
                                 std::min<std::uint64_t>(all, 2));
}

}  // namespace heddle::test
