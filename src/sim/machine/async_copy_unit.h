// SPDX-License-Identifier: Apache-2.0
//
// Copies of a few bytes that each thread makes for itself. The first of `lands_now` and the wait says when the
// bytes change.
// PTX: cp.async, cp.async.commit_group, cp.async.wait_group, cp.async.wait_all, cp.async.mbarrier.arrive.
#pragma once

#include "sim/machine/core.h"

namespace heddle::sim::machine {

class MbarrierUnit;
class MemoryUnit;

class AsyncCopyUnit {
 public:
  AsyncCopyUnit(Core& core, MbarrierUnit& mbarriers, MemoryUnit& memory)
      : core_(core), mbarriers_(mbarriers), memory_(memory) {}

  void copy(Thread& thread, const AsyncCopy& operands, bool lands_now, CallSite site);
  void commit_group(Thread& thread);
  void wait_group(Thread& thread, std::uint32_t pending, CallSite site);
  void mbarrier_arrive(Thread& thread, SharedAddress barrier, bool noinc, CallSite site);

  void thread_exit(Thread& thread);

 private:
  void land(Thread& thread, const AsyncCopy& copy);
  void land_until(Thread& thread, std::uint64_t number);

  Core& core_;
  MbarrierUnit& mbarriers_;
  MemoryUnit& memory_;
};

}  // namespace heddle::sim::machine
