// SPDX-License-Identifier: Apache-2.0
//
// A unit of an SM that serves one request after another. The machine lets one warp run far ahead of another, so
// requests do not come in the order of their times: each takes the first gap that is long enough for it.
#pragma once

#include "sim/trace/timeline.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace heddle::sim::trace {

class Unit {
 public:
  // When a request that comes at `earliest` and takes so long is over.
  Time serve(Time earliest, Time cycles) {
    if (cycles == 0) return earliest;
    auto next = busy_.upper_bound(earliest);
    Time begin = next == busy_.begin() ? earliest : std::max(earliest, std::prev(next)->second);
    while (next != busy_.end() && next->first < begin + cycles) {
      begin = std::max(begin, next->second);
      ++next;
    }
    const Time end = begin + cycles;
    // Neighbours that touch become one.
    const bool touches_next = next != busy_.end() && next->first == end;
    const Time until = touches_next ? next->second : end;
    if (touches_next) next = busy_.erase(next);
    if (next != busy_.begin() && std::prev(next)->second == begin) {
      std::prev(next)->second = until;
    } else {
      busy_.emplace_hint(next, begin, until);
    }
    return end;
  }

 private:
  std::map<Time, Time> busy_;  // from, until
};

}  // namespace heddle::sim::trace
