// SPDX-License-Identifier: Apache-2.0
//
// What threads look at that run and change nothing. Listens only once that has gone on for a while.
#pragma once

#include "sim/check/barrier_history.h"

#include <heddle/sim/event.h>

#include <cstdint>
#include <map>

namespace heddle::sim::check {

class PollWatch final : public Observer {
 public:
  // The last word that a thread has read.
  struct Poll {
    bool is_global;
    std::uint64_t address;  // in shared memory as in Event
    CallSite site;
  };

  EventMask wants() const override {
    return mask_of(
        {EventKind::kSharedRead, EventKind::kSharedStrong, EventKind::kGlobalRead, EventKind::kGlobalStrong});
  }
  void on_event(const Event& event) override {
    const bool is_global = event.kind == EventKind::kGlobalRead || event.kind == EventKind::kGlobalStrong;
    polls_[{event.cta, event.thread}] = {is_global, is_global ? event.global : event.address, event.site};
  }

  const Poll* of(std::uint32_t cta, std::uint32_t thread) const {
    const auto found = polls_.find({cta, thread});
    return found == polls_.end() ? nullptr : &found->second;
  }

 private:
  std::map<Actor, Poll> polls_;
};

}  // namespace heddle::sim::check
