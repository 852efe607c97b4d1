// SPDX-License-Identifier: Apache-2.0
#include "sim/check/shadow.h"

#include <algorithm>

namespace heddle::sim::check {

namespace {

// Forgets what a newer read stands for: the older reads of these bytes that the reader knows, and its own.
void trim(Access& old, const Access& newer, const View& view) {
  if ((old.bytes & newer.bytes) == 0) return;
  // What one component counts completes in order.
  const bool completes_first = old.is_async() && newer.is_async() && old.who == newer.who && old.epoch <= newer.epoch;
  if (completes_first || !old.unknown_to(view, newer.bytes)) {
    old.bytes = static_cast<std::uint16_t>(old.bytes & ~newer.bytes);
  } else if (old.width == 0 && !old.is_async() && !newer.is_async() && old.who == newer.who &&
             (old.bytes & ~newer.bytes) == 0) {
    old.lanes &= ~newer.lanes;
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

void Shadow::record_read(Granule& granule, const Access& access, const View& view) {
  if (granule.more == 0) {
    if (granule.read.bytes == 0) {
      granule.read = access;
      return;
    }
    if (granule.read.merge(access)) return;
  }
  trim(granule.read, access, view);
  if (granule.more != 0) {
    std::vector<Access>& rest = more_[granule.more - 1];
    for (Access& old : rest) {
      if (old.is_write) continue;
      if (old.merge(access)) return;
      trim(old, access, view);
    }
    std::erase_if(rest, [](const Access& old) { return old.bytes == 0; });
    if (rest.empty()) give_back(granule);
  }
  if (granule.read.bytes == 0) {
    granule.read = access;
  } else if (!granule.read.merge(access)) {
    more_of(granule).push_back(access);
  }
}

void Shadow::record_write(Granule& granule, const Access& access) {
  granule.written |= access.bytes;
  const auto rest_of = [&](std::uint16_t bytes) { return static_cast<std::uint16_t>(bytes & ~access.bytes); };
  granule.read.bytes = rest_of(granule.read.bytes);
  if (granule.more != 0) {
    std::vector<Access>& rest = more_[granule.more - 1];
    for (Access& old : rest) old.bytes = rest_of(old.bytes);
    std::erase_if(rest, [](const Access& old) { return old.bytes == 0; });
    if (rest.empty()) give_back(granule);
  }
  if (granule.write.bytes != 0 && granule.write.merge(access)) return;
  granule.write.bytes = rest_of(granule.write.bytes);
  if (granule.write.bytes != 0) more_of(granule).push_back(granule.write);
  granule.write = access;
}

GlobalShadow::Records& GlobalShadow::at(std::uint64_t address) {
  const std::uint64_t number = address / kPage;
  if (number != last_number_) {
    Page& page = pages_[number];
    if (page.empty()) page.resize(kPage / kGranule);
    last_number_ = number;
    last_ = &page;
  }
  return (*last_)[address % kPage / kGranule];
}

void GlobalShadow::record(Records& records, const Record& fresh, const View& view) {
  const Access& access = fresh.access;
  std::uint64_t others[2] = {};
  std::size_t other_count = 0;
  for (Record& old : records) {
    const bool is_same = old.cluster == fresh.cluster;
    if (access.is_write) {
      old.access.bytes = static_cast<std::uint16_t>(old.access.bytes & ~access.bytes);
    } else if (is_same && !old.access.is_write) {
      if (old.access.merge(access)) return;
      trim(old.access, access, view);
    } else if (!is_same && (access.bytes & ~old.access.bytes) == 0 && other_count < 2 &&
               (other_count == 0 || others[0] != old.cluster)) {
      others[other_count++] = old.cluster;
    }
  }
  // Whoever writes here later conflicts with one of the two other clusters.
  if (other_count == 2) return;
  std::erase_if(records, [](const Record& old) { return old.access.bytes == 0; });
  if (access.is_write) {
    for (Record& old : records) {
      if (old.cluster == fresh.cluster && old.access.merge(access)) return;
    }
  }
  records.push_back(fresh);
}

}  // namespace heddle::sim::check
