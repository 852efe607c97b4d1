// SPDX-License-Identifier: Apache-2.0
#include "sim/check/signals.h"

#include <algorithm>
#include <bit>

namespace heddle::sim::check {

Signal Signals::store(const ThreadOrder& thread) {
  return {thread.warp->cluster, thread.warp->component(thread.lane), thread.known, ++number_};
}

void Signals::observe(const ThreadOrder& thread, const Signal& signal, std::uint64_t address,
                      std::uint16_t bytes) {
  constexpr std::size_t kMost = 4096;  // of a cluster; what was read before others is then not known to be over
  constexpr std::size_t kRecent = 8;   // a thread that waits sees the same store again and again
  std::vector<Observation>& all = observations_[thread.warp->cluster];
  const Component by = thread.warp->component(thread.lane);
  for (std::size_t i = all.size(); i-- > 0 && all.size() - i <= kRecent;) {
    const Observation& old = all[i];
    if (old.by == by && old.signal.number == signal.number && old.address == address && old.bytes == bytes)
      return;
  }
  if (all.size() < kMost) all.push_back({by, thread.warp->now, signal, ++number_, address, bytes});
}

bool Signals::is_counted_on(const Signal& store, std::uint64_t address, std::uint16_t bytes,
                            const View& view) const {
  const auto found = observations_.find(view.cluster);
  if (found == observations_.end()) return false;
  bool has_seen_later = false;
  for (const Observation& one : found->second) {
    if (one.signal.cluster != store.cluster || one.signal.by != store.by || one.signal.number < store.number ||
        !view.knows(one.by, one.at))
      continue;
    // PTX: Coherence: one place never goes back.
    if (one.address == address && (one.bytes & bytes) != 0) return false;
    has_seen_later = true;
  }
  return has_seen_later;
}

bool Signals::is_over(const Read& read, const View& view, const Signal* last,
                      std::vector<const Observation*>& seen) const {
  const auto found = observations_.find(last == nullptr ? view.cluster : last->cluster);
  if (found == observations_.end()) return false;
  for (const Observation& one : found->second) {
    const bool is_known = last == nullptr      ? view.knows(one.by, one.at)
                          : one.by == last->by ? one.number < last->number
                                               : last->known[one.by] >= one.at;
    if (one.signal.cluster == found->first || !is_known ||
        std::find(seen.begin(), seen.end(), &one) != seen.end())
      continue;
    seen.push_back(&one);
    const Signal& signal = one.signal;
    // The thread itself may have stored while its own read was in flight, unless it has met others in between:
    // then what it knows of them names itself, too.
    const bool is_before = signal.known[read.component] >= read.epoch;
    if ((signal.cluster == read.cluster && is_before) || is_over(read, view, &signal, seen)) return true;
  }
  return false;
}

bool Signals::is_over(const Access& read, std::uint16_t bytes, const View& view) const {
  if (read.is_async() || read.cluster == view.cluster) return false;
  for (std::uint32_t left = read.lanes_at(bytes); left != 0; left &= left - 1) {
    const Component component = 32 * read.who + static_cast<Component>(std::countr_zero(left));
    if (view.knows(read.cluster, component, read.epoch)) continue;
    std::vector<const Observation*> seen;
    if (!is_over(Read{read.cluster, component, read.epoch}, view, nullptr, seen)) return false;
  }
  return true;
}

}  // namespace heddle::sim::check
