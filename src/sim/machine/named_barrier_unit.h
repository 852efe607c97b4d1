// SPDX-License-Identifier: Apache-2.0
//
// The named barriers of a CTA.
// PTX: bar, barrier.
#pragma once

#include "sim/machine/core.h"

namespace heddle::sim::machine {

class NamedBarrierUnit {
 public:
  explicit NamedBarrierUnit(Core& core) : core_(core) {}

  bool sync(Thread& thread, std::uint32_t id, std::uint32_t threads, CallSite site);
  bool sync_all(Thread& thread, std::uint32_t id, CallSite site);  // all threads that have not exited
  void arrive(Thread& thread, std::uint32_t id, std::uint32_t threads, CallSite site);
  // The same as sync, or with 0 threads as sync_all; once the round is over, the thread's result is the reduction
  // of what all of them have said.
  bool red(Thread& thread, std::uint32_t id, std::uint32_t threads, NamedReduction reduction, bool says_yes,
           CallSite site);

  void thread_exit(const Thread& thread);

 private:
  bool wait(Thread& thread, std::uint32_t id, std::uint32_t threads, bool is_of_all, CallSite site);
  void arrive_in_round(Thread& thread, std::uint32_t id, std::uint32_t threads, bool is_of_all, CallSite site);
  void finish_round(Cta& cta, std::uint32_t id, const Thread& last, CallSite site);
  void check_operands(const Thread& thread, std::uint32_t id, std::uint32_t threads, CallSite site) const;

  Core& core_;
};

}  // namespace heddle::sim::machine
