// SPDX-License-Identifier: Apache-2.0
//
// Multiplications of warpgroups. The operands, and the registers that they point to, stay in place: the operands
// until the warp has met, the accumulators until they were waited for.
// PTX: wgmma.fence, wgmma.mma_async, wgmma.commit_group, wgmma.wait_group.
#pragma once

#include "sim/machine/core.h"

namespace heddle::sim::machine {

class WarpUnit;

class WgmmaUnit {
 public:
  WgmmaUnit(Core& core, WarpUnit& warps) : core_(core), warps_(warps) {}

  bool fence(Thread& thread, CallSite site);
  bool mma_async(Thread& thread, const WgmmaOperands& operands, CallSite site);
  bool commit_group(Thread& thread, CallSite site);
  // The warp meets, then each of its threads waits, again if it was blocked.
  bool wait_arrive(Thread& thread, std::uint32_t pending, CallSite site);
  bool wait_group(Thread& thread, std::uint32_t pending, CallSite site);

  // Warpgroups whose oldest operation all four warps have issued.
  std::size_t in_flight() const { return ready_.size(); }
  void step(std::size_t index);

  void thread_exit(const Thread& thread);

 private:
  void issue(Warpgroup& group, const Thread& thread, const WgmmaOperands& operands, CallSite site);
  WgmmaAccumulator& use_accumulator(WgmmaWarp& warp, const Thread& thread, const WgmmaOperands& operands,
                                    CallSite site);

  Core& core_;
  WarpUnit& warps_;
  std::vector<Warpgroup*> ready_;
  std::uint64_t next_id_ = 1;
};

}  // namespace heddle::sim::machine
