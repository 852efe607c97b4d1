// SPDX-License-Identifier: Apache-2.0
//
// Meetings of the lanes of a warp, at whatever instruction asks for one.
// PTX: bar.warp.sync, elect.sync, shfl.sync, vote.sync.
#pragma once

#include "sim/machine/core.h"

namespace heddle::sim::machine {

class WarpUnit {
 public:
  explicit WarpUnit(Core& core) : core_(core) {}

  // Whether the lane is the last to come; the others are woken then, each with its result.
  bool meet(Thread& thread, WarpOp op, std::uint32_t mask, std::uint32_t value, std::uint32_t operand,
            CallSite site);
  // The thread has done something for its whole warp, which had met: it comes before what they do next.
  void did_for_warp(const Thread& thread, CallSite site);
  // Lanes come to a named barrier by a form that is for whole warps, the thread first: others of its warp must
  // not wait for the same barrier at another place.
  void check_aligned(const Thread& thread, std::uint32_t lanes, std::uint32_t id, const char* instruction,
                     CallSite site) const;
  // The warpgroup of a thread; faults if it has fewer than 128.
  Warpgroup& whole_warpgroup(const Thread& thread, CallSite site, const char* instruction) const;

  void thread_exit(const Thread& thread);

 private:
  void finish_meeting(const Thread& thread, const Rendezvous& meeting, CallSite site);

  Core& core_;
};

}  // namespace heddle::sim::machine
