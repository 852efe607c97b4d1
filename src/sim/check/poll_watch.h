// SPDX-License-Identifier: Apache-2.0
//
// What threads look at that run and change nothing. Listens only once that has gone on for a while.
#pragma once

#include "sim/check/barrier_history.h"

#include <heddle/sim/event.h>

#include <cstdint>
#include <map>

namespace heddle::sim::check {

class PollWatch final : public Watcher<PollWatch> {
 public:
  // The last word that a thread has read.
  struct Poll {
    bool is_global;
    std::uint64_t address;  // in shared memory as in events
    CallSite site;
  };

  void on(const event::SharedRead& event) { poll(event, false, event.address); }
  void on(const event::SharedStrong& event) { poll(event, false, event.address); }
  void on(const event::GlobalRead& event) { poll(event, true, event.global); }
  void on(const event::GlobalStrong& event) { poll(event, true, event.global); }

  const Poll* of(std::uint32_t cta, std::uint32_t thread) const {
    const auto found = polls_.find({cta, thread});
    return found == polls_.end() ? nullptr : &found->second;
  }

 private:
  template <class Kind>
  void poll(const Kind& event, bool is_global, std::uint64_t address) {
    polls_[{event.cta, event.thread}] = {is_global, address, event.site};
  }

  std::map<Actor, Poll> polls_;
};

}  // namespace heddle::sim::check
