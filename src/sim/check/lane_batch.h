// SPDX-License-Identifier: Apache-2.0
//
// Weak accesses of the lanes of one instruction to global memory. They come one after the other, and those that
// go to the same 16 bytes are gathered, so that they can be compared with what was there as one.
#pragma once

#include "sim/check/shadow.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace heddle::sim::check {

struct LaneAccess {
  const ThreadOrder* thread = nullptr;
  std::uint64_t global = 0;
  std::uint32_t bytes = 0;
  std::uint16_t site = 0;
  bool is_write = false;
  bool keeps_value = false;

  Access access() const {
    Access made = Access::of(*thread, static_cast<std::uint32_t>(global % kGranule), bytes, is_write, site);
    made.keeps_value = keeps_value;
    return made;
  }
};

class LaneBatch {
 public:
  static constexpr std::size_t kLanes = 32;

  // Those of one granule.
  struct Group {
    std::uint64_t granule = 0;  // its address over kGranule
    Access access = {};         // of all of them, if it can be said
    std::uint32_t lanes = 0;    // which of the batch
    bool is_one = true;         // `access` stands for all of them

    bool is_single() const { return check::is_one(lanes); }
  };

  bool is_empty() const { return count_ == 0; }

  // Whether it is of the same instruction as those before it, by a lane that knows the same. Asked of what all
  // have in common, which is not written with every lane.
  bool takes(const ThreadOrder& thread, std::uint16_t site, bool is_write) const {
    return thread.warp == warp_ && thread.lane > last_lane_ && site == site_ && is_write == is_write_ &&
           thread.known.is_same(*known_);
  }

  void add(const ThreadOrder& thread, std::uint64_t global, std::uint32_t bytes, std::uint16_t site,
           bool is_write, bool keeps_value) {
    if (count_ == 0) {
      warp_ = thread.warp;
      known_ = &thread.known;
      site_ = site;
      is_write_ = is_write;
      bytes_ = bytes;
      keeps_value_ = keeps_value;
      is_alike_ = is_run_ = true;
      is_broadcast_ = !is_write;  // two writes of one byte are in conflict with one another
    } else {
      is_alike_ = is_alike_ && bytes == bytes_ && keeps_value == keeps_value_;
      is_run_ = is_run_ && global == last_global_ + bytes_ && thread.lane == last_lane_ + 1;
      is_broadcast_ = is_broadcast_ && global == last_global_;
    }
    last_global_ = global;
    last_lane_ = thread.lane;
    LaneAccess& next = lanes_[count_++];
    next.thread = &thread;
    next.global = global;
    next.bytes = bytes;
    next.site = site;
    next.is_write = is_write;
    next.keeps_value = keeps_value;
  }

  // Once all have been added. Lanes next to one another mostly read what is next to one another, or all the same.
  void group() {
    if (is_alike_ && is_broadcast_) return group_broadcast();
    if (is_alike_ && is_run_) return group_run();
    for (std::size_t i = 0; i < count_; ++i) group_one(i);
    places_ = {};
  }

  const LaneAccess& lane(std::size_t index) const { return lanes_[index]; }
  std::size_t groups() const { return used_; }
  const Group& group(std::size_t index) const { return groups_[index]; }
  void clear() {
    count_ = 0;
    used_ = 0;
  }

 private:
  void group_broadcast() {
    Group& group = groups_[used_++];
    group = {.granule = lanes_[0].global / kGranule, .access = lanes_[0].access(), .lanes = 1};
    if (count_ == 1) return;
    group.access.width = 0;
    for (std::size_t i = 1; i < count_; ++i) {
      group.access.lanes |= 1u << lanes_[i].thread->lane;
      group.lanes |= 1u << i;
    }
  }

  void group_run() {
    const std::uint32_t bytes = lanes_[0].bytes;
    for (std::size_t i = 0; i < count_;) {
      const auto at = static_cast<std::uint32_t>(lanes_[i].global % kGranule);
      const std::size_t here = std::min<std::size_t>((kGranule - at) / bytes, count_ - i);
      const std::uint32_t mask = (1u << here) - 1;
      Group& group = groups_[used_++];
      group = {.granule = lanes_[i].global / kGranule, .access = lanes_[i].access(), .lanes = mask << i};
      group.access.bytes = static_cast<std::uint16_t>(((1u << here * bytes) - 1) << at);
      group.access.lanes = mask << lanes_[i].thread->lane;
      i += here;
    }
  }

  void group_one(std::size_t index) {
    const LaneAccess& next = lanes_[index];
    Group& group = group_of(next.global / kGranule);
    if (group.lanes == 0) {
      group.access = next.access();
    } else if (!(is_alike_ && !next.is_write && reads_the_same(group, next))) {
      const Access access = next.access();
      // Two writes of one byte are in conflict with one another.
      const bool can_join = !next.is_write || ((group.access.bytes & access.bytes) == 0 &&
                                               group.access.keeps_value == access.keeps_value);
      group.is_one = group.is_one && can_join && group.access.merge(access);
    }
    group.lanes |= 1u << index;
  }

  // The most frequent case of Access::merge(): another lane reads what all of the group have read.
  static bool reads_the_same(Group& group, const LaneAccess& next) {
    const auto bytes = static_cast<std::uint16_t>(((1u << next.bytes) - 1) << next.global % kGranule);
    Access& all = group.access;
    if (bytes != all.bytes || (all.width != 0 && !check::is_one(all.lanes))) return false;
    all.width = 0;
    all.lanes |= 1u << next.thread->lane;
    return true;
  }

  Group& group_of(std::uint64_t granule) {
    if (used_ != 0 && groups_[used_ - 1].granule == granule) return groups_[used_ - 1];
    for (std::size_t at = granule;; ++at) {
      std::uint8_t& place = places_[at % places_.size()];
      if (place == 0) {
        place = static_cast<std::uint8_t>(++used_);
        groups_[used_ - 1] = {.granule = granule};
      }
      if (groups_[place - 1].granule == granule) return groups_[place - 1];
    }
  }

  std::array<LaneAccess, kLanes> lanes_;
  std::size_t count_ = 0;
  // Of the first, and of the last.
  const WarpOrder* warp_ = nullptr;
  const Clock* known_ = nullptr;
  std::uint32_t bytes_ = 0;
  std::uint16_t site_ = 0;
  bool is_write_ = false;
  bool keeps_value_ = false;
  std::uint32_t last_lane_ = 0;
  std::uint64_t last_global_ = 0;
  bool is_alike_ = false;             // all have as many bytes, and keep what was there or none does
  bool is_run_ = false;               // each begins where the one before it ends
  bool is_broadcast_ = false;         // all read the same
  std::array<Group, kLanes> groups_;  // in the order in which they came
  std::size_t used_ = 0;
  std::array<std::uint8_t, 2 * kLanes> places_ = {};  // by granule: 1 + the group; with open addressing
};

}  // namespace heddle::sim::check
