// SPDX-License-Identifier: Apache-2.0
//
// Strong stores that others have observed, and what was over then. Without a release and an acquire they order no
// memory: what is written before one may be read as it was before. But a read that a barrier stands after is
// over, and what is stored by whoever has seen a store after that barrier comes too late for it.
//
// And stores that come one after the other, of one thread, whose reader has seen the second: of the first it may
// still see what was there before.
#pragma once

#include "sim/check/order.h"
#include "sim/check/shadow.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::sim::check {

class Signals {
 public:
  Signal store(const ThreadOrder& thread);
  void observe(const ThreadOrder& thread, const Signal& signal, std::uint64_t address, std::uint16_t bytes);

  // Whether a load of these bytes, in the 16 at the address, should see the store, since whoever has this view
  // has seen a later one of its thread, or another part of it: though nothing orders the two.
  bool is_counted_on(const Signal& store, std::uint64_t address, std::uint16_t bytes, const View& view) const;

  // Whether a read of these bytes was over for whoever has this view: by a chain of such stores, each seen by one
  // who made the next, or by somebody whom that one has met.
  bool is_over(const Access& read, std::uint16_t bytes, const View& view) const;

 private:
  struct Observation {
    Component by;
    Epoch at;
    Signal signal;
    std::uint64_t number;
    std::uint64_t address;
    std::uint16_t bytes;
  };

  struct Read {
    std::uint64_t cluster;
    Component component;
    Epoch epoch;
  };
  // Whether an observation by others than `seen` says so that `last`, or if it is null who has the view, knew of.
  bool is_over(const Read& read, const View& view, const Signal* last,
               std::vector<const Observation*>& seen) const;

  std::uint64_t number_ = 0;  // epochs do not tell a thread's relaxed stores and loads apart
  std::unordered_map<std::uint64_t, std::vector<Observation>> observations_;  // by the cluster of who observed
};

}  // namespace heddle::sim::check
