// SPDX-License-Identifier: Apache-2.0
#include "sim/check/shadow.h"

#include <algorithm>
#include <utility>

namespace heddle::sim::check {

namespace {

// Forgets what a newer read stands for: the older reads of these bytes that the reader knows, and its own.
void trim(Access& old, const Access& newer, const View& view) {
  if ((old.bytes & newer.bytes) == 0) return;
  // What one component counts completes in order.
  const bool completes_first = old.is_async() && newer.is_async() && old.cluster == newer.cluster &&
                               old.who == newer.who && old.epoch <= newer.epoch;
  if (completes_first || !old.unknown_to(view, newer.bytes)) {
    old.bytes = static_cast<std::uint16_t>(old.bytes & ~newer.bytes);
  } else if (old.width == 0 && !old.is_async() && !newer.is_async() && old.cluster == newer.cluster &&
             old.who == newer.who && (old.bytes & ~newer.bytes) == 0) {
    old.lanes &= ~newer.lanes;
  } else if (old.width != 0 && old.width == newer.width && old.first == newer.first && !old.is_async() &&
             !newer.is_async() && old.cluster == newer.cluster && old.who == newer.who) {
    old.bytes = static_cast<std::uint16_t>(old.bytes & ~newer.bytes);  // the same lanes have read them again
  }
}

}  // namespace

std::vector<Access>& Shadow::more_of(Granule& granule) {
  if (granule.more == 0) {
    if (free_.empty()) {
      more_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(more_.size()));
    }
    granule.more = free_.back();
    free_.pop_back();
  }
  return more_[granule.more - 1];
}

void Shadow::give_back(Granule& granule) {
  more_[granule.more - 1].clear();
  free_.push_back(granule.more);
  granule.more = 0;
}

bool Shadow::is_nothing_new(Granule& granule, const Access& access, const Clock& known, std::size_t most) const {
  if (granule.read.includes(access)) return true;
  if (granule.more == 0) return false;
  const bool knows_none = known.own.is_null();
  const auto may_be_forgotten = [&](const Access& old) {
    return old.cluster == access.cluster && (!knows_none || old.who == access.who);
  };
  bool may_be_left_out =
      known.world.is_null() && (granule.write.bytes & access.bytes) == 0 && !may_be_forgotten(granule.read);
  std::size_t readers = 0;
  for (const Access& old : more_[granule.more - 1]) {
    if (old.is_write) {
      may_be_left_out = false;
      continue;
    }
    if (old.includes(access)) return true;
    may_be_left_out = may_be_left_out && !may_be_forgotten(old);
    readers += (access.bytes & ~old.bytes) == 0 ? 1 : 0;
  }
  if (!may_be_left_out || readers < most) return false;
  if (granule.crowded == 0) {
    granule.crowd = static_cast<std::uint16_t>(1u << granule.read.cluster % 16);
    for (const Access& old : more_[granule.more - 1])
      granule.crowd |= static_cast<std::uint16_t>(1u << old.cluster % 16);
  }
  granule.crowded |= access.bytes;
  return true;
}

void Shadow::record_read(Granule& granule, const Access& access, const View& view, std::size_t most) {
  if (granule.read.bytes == 0 && granule.more == 0) {
    granule.read = access;
    return;
  }
  // The first lane of an instruction has forgotten what the others stand for, too.
  if (granule.read.bytes != 0 && granule.read.merge(access)) return;
  if (granule.more != 0) {
    for (Access& old : more_[granule.more - 1]) {
      if (!old.is_write && old.merge(access)) return;
    }
  }
  granule.crowded = 0;
  trim(granule.read, access, view);
  if (granule.more != 0) {
    std::vector<Access>& rest = more_[granule.more - 1];
    for (Access& old : rest) {
      if (!old.is_write) trim(old, access, view);
    }
    std::erase_if(rest, [](const Access& old) { return old.bytes == 0; });
    if (rest.empty()) give_back(granule);
  }
  if (granule.read.bytes == 0) {
    granule.read = access;
  } else {
    std::vector<Access>& rest = more_of(granule);
    const auto reads_as_much = [&](const Access& old) {
      return !old.is_write && (access.bytes & ~old.bytes) == 0;
    };
    if (rest.size() < most ||
        static_cast<std::size_t>(std::count_if(rest.begin(), rest.end(), reads_as_much)) < most) {
      rest.push_back(access);
    }
  }
}

void Shadow::record_write(Granule& granule, const Access& access) {
  granule.written |= access.bytes;
  granule.crowded = 0;
  granule.brought &= static_cast<std::uint16_t>(~access.bytes);
  const auto rest_of = [&](std::uint16_t bytes) { return static_cast<std::uint16_t>(bytes & ~access.bytes); };
  granule.read.bytes = rest_of(granule.read.bytes);
  if (granule.more != 0) {
    std::vector<Access>& rest = more_[granule.more - 1];
    for (Access& old : rest) old.bytes = rest_of(old.bytes);
    std::erase_if(rest, [](const Access& old) { return old.bytes == 0; });
    if (rest.empty()) give_back(granule);
  }
  if (granule.strong != 0) {
    StrongAccesses& strong = strong_[granule.strong - 1];
    for (std::vector<Access>* list : {&strong.accesses, &strong.hints}) {
      for (Access& old : *list) old.bytes = rest_of(old.bytes);
      std::erase_if(*list, [](const Access& old) { return old.bytes == 0; });
    }
    for (StrongAccesses::Place& place : strong.places) place.bytes = rest_of(place.bytes);
    std::erase_if(strong.places, [](const StrongAccesses::Place& place) { return place.bytes == 0; });
    if (strong.accesses.empty() && strong.places.empty()) {
      strong = {};
      free_strong_.push_back(std::exchange(granule.strong, 0));
    }
  }
  if (granule.write.bytes != 0 && granule.write.merge(access)) return;
  granule.write.bytes = rest_of(granule.write.bytes);
  if (granule.write.bytes != 0) more_of(granule).push_back(granule.write);
  granule.write = access;
}

void Shadow::record_write_beside(Granule& granule, const Access& access) {
  constexpr std::size_t kMost =
      64;  // of writers of one value; a reader that knows none of them conflicts with any
  granule.written |= access.bytes;
  granule.crowded = 0;
  granule.brought &= static_cast<std::uint16_t>(~access.bytes);
  if (granule.write.merge(access)) return;
  // Of reductions that one barrier counts in one phase the first stands for all.
  const auto stands_for = [&](const Access& old) {
    return access.by == By::kCopy && old.by == By::kCopy && old.who == access.who && old.epoch == access.epoch &&
           old.cluster == access.cluster && (access.bytes & ~old.bytes) == 0;
  };
  if (stands_for(granule.write)) return;
  std::vector<Access>& rest = more_of(granule);
  if (std::any_of(rest.begin(), rest.end(), stands_for)) return;
  for (Access& old : rest) {
    if (old.is_write && old.merge(access)) return;
  }
  if (rest.size() < kMost) rest.push_back(access);
}

bool StrongAccesses::all_include(const ThreadOrder& thread, MemoryScope scope) const {
  const CtaOrder& home = *thread.warp->cta;
  const MemoryScope least = std::min(scope, narrowest);
  if (accesses.empty() || least >= MemoryScope::kGpu) return true;
  if (has_several_clusters || cluster != home.cluster->number) return false;
  return least == MemoryScope::kCluster || (!has_several_ctas && cta == home.linear);
}

bool StrongAccesses::is_observed(std::size_t index, std::uint16_t bytes, const View& view) const {
  for (std::size_t later = accesses.size(); later-- > index + 1;) {
    const Access& access = accesses[later];
    if (access.returns && (bytes & ~access.bytes) == 0 && !access.unknown_to(view, bytes)) return true;
  }
  return false;
}

namespace {

void add_to(std::vector<Access>& accesses, std::size_t& trim_at, const Access& access, const View& view) {
  // The lanes of an instruction come one after the other.
  if (!accesses.empty() && accesses.back().merge(access)) return;
  if (accesses.size() >= trim_at) {
    // Whoever must be ordered after the newer one, because one of the two is weak, is then ordered after the
    // older.
    std::erase_if(accesses, [&](const Access& old) {
      const bool stands_for = access.is_write || !old.is_write;
      return stands_for && (old.bytes & ~access.bytes) == 0 && old.scope == access.scope &&
             !old.unknown_to(view, old.bytes);
    });
    trim_at = std::max<std::size_t>(16, 2 * accesses.size());
  }
  accesses.push_back(access);
}

}  // namespace

void StrongAccesses::add(const Access& access, const ThreadOrder& thread, const View& view) {
  const CtaOrder& home = *thread.warp->cta;
  if (accesses.empty()) {
    narrowest = access.scope;
    cta = home.linear;
    cluster = access.cluster;
    has_several_ctas = has_several_clusters = false;
    sizes = 0;
  } else {
    narrowest = std::min<MemoryScope>(narrowest, access.scope);
    has_several_ctas |= cta != home.linear;
    has_several_clusters |= cluster != access.cluster;
  }
  sizes |= access.size();
  add_to(accesses, trim_at, access, view);
  if (access.is_hint) add_to(hints, trim_hints_at, access, view);
}

StrongAccesses& Shadow::strong_of(Granule& granule) {
  if (granule.strong == 0) {
    if (free_strong_.empty()) {
      strong_.emplace_back();
      free_strong_.push_back(static_cast<std::uint32_t>(strong_.size()));
    }
    granule.strong = free_strong_.back();
    free_strong_.pop_back();
  }
  return strong_[granule.strong - 1];
}

std::uint16_t CopySpan::bytes_in(std::uint32_t offset) const {
  const std::uint32_t first = offset / kGranule * kGranule;
  const std::uint32_t from = std::max<std::uint32_t>(begin, first);
  const std::uint32_t to = std::min<std::uint32_t>(end, first + kGranule);
  return from >= to ? std::uint16_t{0} : static_cast<std::uint16_t>(((1u << (to - from)) - 1) << (from - first));
}

// A span that is known to whoever makes the newer one, or completes before it, needs no record of its own beside
// it. Where one was reported and accepted all goes on as if it had been ordered; reductions need no order.
void CopyLines::record(std::uint32_t offset, const CopySpan& span, const View& view) {
  constexpr std::ptrdiff_t kMostReaders = 6;  // who writes later conflicts with one of them, or knows them all
  constexpr std::size_t kMost = 64;           // likewise, of reductions
  std::vector<CopySpan>& line = lines_[offset / kLine];
  const Access& newer = span.access;
  const auto is_inside = [&](const CopySpan& old) { return span.begin <= old.begin && old.end <= span.end; };
  std::erase_if(line, [&](const CopySpan& old) {
    if (!is_inside(old) || (old.access.is_write && !newer.is_write)) return false;
    const bool is_known =
        old.is_known_to(view) ||
        (old.access.cluster == newer.cluster && old.access.who == newer.who && old.access.epoch <= newer.epoch);
    return is_known || (newer.is_write && !(old.is_reduction && span.is_reduction));
  });
  const auto reads_as_much = [&](const CopySpan& old) {
    return !old.access.is_write && old.begin <= span.begin && span.end <= old.end;
  };
  if (!newer.is_write && std::count_if(line.begin(), line.end(), reads_as_much) >= kMostReaders) return;
  if (line.size() < kMost || !span.is_reduction) line.push_back(span);
}

GlobalShadow::Page& GlobalShadow::page_of(std::uint64_t address) {
  const std::uint64_t number = address / (kPage * kPages);
  if (number != last_number_) {
    std::unique_ptr<Block>& block = blocks_[number];
    if (block == nullptr) block = std::make_unique<Block>();
    last_ = block.get();
    last_number_ = number;
  }
  return (*last_)[address / kPage % kPages];
}

}  // namespace heddle::sim::check
