// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_advice.h"

#include <iterator>

namespace heddle::runtime {

Advice AdviceMap::at(std::uintptr_t address) const {
  const auto after = steps_.upper_bound(address);
  return after == steps_.begin() ? Advice{} : std::prev(after)->second;
}

AdviceMap::Steps::iterator AdviceMap::split(std::uintptr_t address) {
  return steps_.try_emplace(address, at(address)).first;
}

void AdviceMap::change(std::uintptr_t begin, std::uintptr_t end, const std::function<void(Advice&)>& by) {
  const auto last = split(end);
  for (auto step = split(begin); step != last; ++step) by(step->second);
}

// Allocations are given back when there is no memory, so that none is taken here. Another may begin at `end`, or
// have ended at `begin`.
void AdviceMap::forget(std::uintptr_t begin, std::uintptr_t end) noexcept {
  if (begin == end) return;
  auto inside = steps_.lower_bound(begin);
  if (inside != steps_.end() && inside->first == begin) (inside++)->second = {};
  steps_.erase(inside, steps_.lower_bound(end));
  for (const std::uintptr_t edge : {begin, end}) {
    const auto step = steps_.find(edge);
    if (step == steps_.end()) continue;
    const bool is_same =
        step == steps_.begin() ? step->second == Advice{} : step->second == std::prev(step)->second;
    if (is_same) steps_.erase(step);
  }
}

Advice AdviceMap::common(std::uintptr_t begin, std::uintptr_t end) const {
  Advice result = at(begin);
  for (auto step = steps_.upper_bound(begin); step != steps_.end() && step->first < end; ++step) {
    const Advice& other = step->second;
    result.is_read_mostly &= other.is_read_mostly;
    result.is_accessed_by_card &= other.is_accessed_by_card;
    if (result.preferred != other.preferred) result.preferred = {};
    if (result.prefetched != other.prefetched) result.prefetched = {};
  }
  return result;
}

}  // namespace heddle::runtime
