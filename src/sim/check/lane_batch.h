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

    bool is_single() const { return std::has_single_bit(lanes); }
  };

  bool is_empty() const { return count_ == 0; }

  // Whether it is of the same instruction as those before it, by a lane that knows the same.
  bool takes(const LaneAccess& next) const {
    const LaneAccess& last = lanes_[count_ - 1];
    return last.thread->warp == next.thread->warp && last.thread->lane < next.thread->lane &&
           last.site == next.site && last.is_write == next.is_write &&
           last.thread->known.is_same(next.thread->known);
  }

  void add(const LaneAccess& next) {
    if (count_ == 0) {
      is_run_ = is_broadcast_ = true;
    } else {
      const LaneAccess& last = lanes_[count_ - 1];
      const bool is_alike = next.bytes == last.bytes && next.keeps_value == last.keeps_value;
      is_run_ = is_run_ && is_alike && next.global == last.global + last.bytes &&
                next.thread->lane == last.thread->lane + 1;
      // Two writes of one byte are in conflict with one another.
      is_broadcast_ = is_broadcast_ && is_alike && next.global == last.global && !next.is_write;
    }
    lanes_[count_++] = next;
  }

  // Once all have been added. Lanes next to one another mostly read what is next to one another, or all the same.
  void group() {
    if (is_broadcast_) return group_broadcast();
    if (is_run_) return group_run();
    for (std::size_t i = 0; i < count_; ++i) group_one(i);
  }

  const LaneAccess& lane(std::size_t index) const { return lanes_[index]; }
  std::size_t groups() const { return used_; }
  const Group& group(std::size_t index) const { return groups_[index]; }
  void clear() {
    count_ = 0;
    used_ = 0;
    if (!is_run_ && !is_broadcast_) places_ = {};
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
    const Access access = next.access();
    Group& group = group_of(next.global / kGranule);
    if (group.lanes == 0) {
      group.access = access;
    } else {
      // Two writes of one byte are in conflict with one another.
      const bool can_join = !next.is_write || ((group.access.bytes & access.bytes) == 0 &&
                                               group.access.keeps_value == access.keeps_value);
      group.is_one = group.is_one && can_join && group.access.merge(access);
    }
    group.lanes |= 1u << index;
  }

  Group& group_of(std::uint64_t granule) {
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
  bool is_run_ = false;               // each begins where the one before it ends
  bool is_broadcast_ = false;         // all read the same
  std::array<Group, kLanes> groups_;  // in the order in which they came
  std::size_t used_ = 0;
  std::array<std::uint8_t, 2 * kLanes> places_ = {};  // by granule: 1 + the group; with open addressing
};

}  // namespace heddle::sim::check
