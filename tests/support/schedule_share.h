// SPDX-License-Identifier: Apache-2.0
//
// How many schedules, or cases drawn at random, a test runs. HEDDLE_SCHEDULES in the environment says how many of
// a thousand: builds that repeat what another has shown under all of them run a share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace heddle::test {

inline std::uint64_t share_of_a_thousand() {
  const char* share = std::getenv("HEDDLE_SCHEDULES");
  return share == nullptr ? 1000 : std::strtoull(share, nullptr, 10);
}

// Whether this run takes all: then what all of them have together can be asked for.
inline bool is_whole() { return share_of_a_thousand() >= 1000; }

// The share of `all` schedules that this run takes: all of them, or at least one.
inline std::uint64_t schedule_share(std::uint64_t all) {
  return std::max<std::uint64_t>(all * share_of_a_thousand() / 1000, std::min<std::uint64_t>(all, 1));
}

// Whether this run takes case `i` of those that are counted through: all of them, or every n-th.
inline bool is_in_share(std::uint64_t i) {
  return i % std::max<std::uint64_t>(1000 / std::max<std::uint64_t>(share_of_a_thousand(), 1), 1) == 0;
}

// Cases that a test lists, of which a run that repeats what another has shown takes one in `in`, from the first
// on.
//
//   CaseShare share(4);
//   for (const Case& one : cases) if (share.takes_next()) check(one);
class CaseShare {
 public:
  explicit CaseShare(std::uint64_t in) : in_(is_whole() ? 1 : in) {}
  bool takes_next() { return next_++ % in_ == 0; }

 private:
  std::uint64_t in_;
  std::uint64_t next_ = 0;
};

}  // namespace heddle::test
