// SPDX-License-Identifier: Apache-2.0
//
// The mbarriers of all CTAs: what threads do to them, and what copies and tensor cores tell them.
// PTX: Parallel Synchronization and Communication Instructions: mbarrier.
#pragma once

#include "sim/machine/core.h"

#include <deque>

namespace heddle::sim::machine {

class TmaEngine;

class MbarrierUnit {
 public:
  // `copies` is asked who still has to tell a barrier.
  MbarrierUnit(Core& core, const TmaEngine& copies) : core_(core), copies_(copies) {}

  void init(Thread& thread, SharedAddress address, std::uint32_t count, CallSite site);
  void inval(Thread& thread, SharedAddress address, CallSite site);
  std::uint64_t arrive(Thread& thread, SharedAddress address, std::uint32_t count, EventScope scope,
                       CallSite site);
  std::uint64_t arrive_no_complete(Thread& thread, SharedAddress address, std::uint32_t count, CallSite site);
  std::uint64_t drop_no_complete(Thread& thread, SharedAddress address, std::uint32_t count, CallSite site);
  std::uint64_t arrive_drop(Thread& thread, SharedAddress address, std::uint32_t count, EventScope scope,
                            CallSite site);
  void expect_tx(Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site);
  std::uint64_t arrive_expect_tx(Thread& thread, SharedAddress address, std::uint32_t bytes, EventScope scope,
                                 CallSite site);
  void complete_tx(Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site);
  bool test_wait_parity(Thread& thread, SharedAddress address, std::uint32_t parity, EventScope scope,
                        CallSite site);
  bool test_wait(Thread& thread, SharedAddress address, std::uint64_t state, EventScope scope, CallSite site);
  // The same where nobody goes by the answer, so that nothing comes after the phase: nothing is told.
  bool parity_is_over(Thread& thread, SharedAddress address, std::uint32_t parity, CallSite site);
  bool is_over(Thread& thread, SharedAddress address, std::uint64_t state, CallSite site);
  // After the test failed: the thread sleeps until the awaited phase is over.
  void suspend_parity(Thread& thread, SharedAddress address, std::uint32_t parity, CallSite site);
  void suspend(Thread& thread, SharedAddress address, std::uint64_t state, CallSite site);
  // Ends the sleep of threads that may give up, when nothing else can go on. False if all of them have tried
  // again and again for the same phase while nothing changed.
  bool end_tries();

  // What runs on its own: bytes of a copy have landed; a commit of tcgen05, the `left`-th from its last, arrives.
  void complete_tx(Cta& cta, std::uint32_t offset, std::uint32_t bytes, std::uint64_t copy, CallSite site);
  void arrive_by_commit(const Thread& issuer, const Cta& cta, std::uint32_t offset, std::uint64_t commit,
                        std::uint32_t left, CallSite site);

  // For other units and for checkers.
  const std::deque<Barrier>& all() const { return barriers_; }
  Barrier* find(const Cta& cta, std::uint32_t offset);
  // The barrier at an address; faults if there is none, or for own() if it is not of the thread's CTA.
  Barrier& live(const Thread& thread, SharedAddress address, CallSite site, const char* instruction);
  Barrier& own(const Thread& thread, SharedAddress address, CallSite site, const char* instruction);
  // PTX: mbarrier: only mbarrier operations may touch an object that is initialised.
  void check_none_in(const Thread& thread, const Cta& cta, std::uint32_t offset, std::uint32_t bytes,
                     CallSite site, const char* instruction, bool writes = true) const {
    if (bytes == 0) return;
    for (std::uint32_t word = offset / 8; word <= (offset + bytes - 1) / 8; ++word) {
      const std::uint32_t index = cta.barrier_at[word];
      if (index == 0 || !barriers_[index - 1].live) continue;
      refuse_touch(thread, barriers_[index - 1], offset, bytes, site, instruction, writes);
    }
  }
  void cta_exit(const Cta& cta);

 private:
  [[noreturn]] void refuse_touch(const Thread& thread, const Barrier& barrier, std::uint32_t offset,
                                 std::uint32_t bytes, CallSite site, const char* instruction, bool writes) const;
  void wake_waiters(Barrier& barrier);
  void settle(Barrier& barrier);
  void tell_arrival(const Thread& thread, const Barrier& barrier, std::uint64_t phase, std::uint32_t count,
                    EventScope scope, CallSite site);
  void tell_pass(const Thread& thread, const Barrier& barrier, std::uint64_t phase, EventScope scope,
                 bool is_by_parity, CallSite site);
  void refuse_completion(Thread& thread, SharedAddress address, std::uint32_t count, CallSite site,
                         const char* instruction);
  EventScope wide_enough(const Thread& thread, const Barrier& barrier, EventScope scope, CallSite site,
                         const char* instruction);
  void check(MbarrierFault mistake, const Thread& thread, const Barrier& barrier, std::uint64_t value,
             CallSite site, const char* instruction) const;

  Core& core_;
  const TmaEngine& copies_;
  std::deque<Barrier> barriers_;  // by id
};

}  // namespace heddle::sim::machine
