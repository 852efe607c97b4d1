// SPDX-License-Identifier: Apache-2.0
//
// What a step of an execution touches that others can touch, too, and which steps do not commute.
#pragma once

#include <heddle/sim/event.h>

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::sim::explore {

enum class TouchKind : std::uint8_t {
  kRead,
  kWrite,
  kSignal,  // commutes with others of its phase
  kWait,    // for signals: taken when they have all come
  kTest     // whether they have
};

struct Touch {
  std::uint64_t object;
  TouchKind kind;
  std::uint64_t phase = 0;

  friend bool operator==(const Touch&, const Touch&) = default;
};

using Footprint = std::vector<Touch>;

// Whether the order of the two steps can matter.
bool are_dependent(const Footprint& first, const Footprint& second);

// Whether the first has let the second happen: it ends a wait.
bool does_enable(const Footprint& first, const Footprint& second);

// Collects the footprint of the step that goes on.
class FootprintRecorder final : public Watcher<FootprintRecorder> {
 public:
  // `has_data`: weak accesses are part of it.
  explicit FootprintRecorder(bool has_data) : has_data_(has_data) {}

  EventMask wants() const override;
  void on(const event::BarrierInit& event);
  void on(const event::BarrierInval& event);
  void on(const event::BarrierArrive& event);
  void on(const event::BarrierExpect& event);
  void on(const event::BarrierComplete& event);
  void on(const event::BarrierBlock& event);
  void on(const event::BarrierPass& event);
  void on(const event::NamedArrive& event);
  void on(const event::NamedPass& event);
  void on(const event::ClusterArrive& event);
  void on(const event::ClusterPass& event);
  void on(const event::SharedRead& event);
  void on(const event::SharedWrite& event);
  void on(const event::GlobalRead& event);
  void on(const event::GlobalWrite& event);
  void on(const event::SharedStrong& event);
  void on(const event::GlobalStrong& event);
  void on(const event::CopyIssue& event);
  void on(const event::CopyReadShared& event);
  void on(const event::CopyWriteShared& event);
  void on(const event::CopyReadGlobal& event);
  void on(const event::CopyWriteGlobal& event);
  void on(const event::CopyDone& event);
  void on(const event::GroupPass& event);

  Footprint take() { return std::exchange(touched_, {}); }
  std::vector<std::uint64_t> take_issued() { return std::exchange(issued_, {}); }  // copies
  void forget_all();

 private:
  void touch(std::uint64_t object, TouchKind kind, std::uint64_t phase = 0) {
    touched_.push_back({object, kind, phase});
  }
  void touch_bytes(std::uint64_t space, std::uint64_t first, std::uint64_t bytes, bool writes);

  bool has_data_;
  Footprint touched_;
  std::vector<std::uint64_t> issued_;
  std::unordered_map<std::uint64_t, std::uint64_t> issuers_;  // the thread that waits for each copy
};

}  // namespace heddle::sim::explore
