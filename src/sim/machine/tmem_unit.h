// SPDX-License-Identifier: Apache-2.0
//
// Tensor memory: who has which columns, and the loads and stores of warps. The registers that operands point to
// stay in place until a load was waited for. Where there are two entries, the warp meets at the first, and each
// of its threads waits at the second, again if it was blocked. PTX: Tensor Memory Allocation and Management
// Instructions; tcgen05.ld, tcgen05.st, tcgen05.wait.
#pragma once

#include "sim/machine/core.h"

#include <string>

namespace heddle::sim::machine {

class MbarrierUnit;
class Tcgen05Unit;
class WarpUnit;

class TmemUnit {
 public:
  // `tcgen05` is asked to run what was issued on columns before they go away.
  TmemUnit(Core& core, WarpUnit& warps, const MbarrierUnit& mbarriers, Tcgen05Unit& tcgen05)
      : core_(core), warps_(warps), mbarriers_(mbarriers), tcgen05_(tcgen05) {}

  bool alloc(Thread& thread, const TmemOperands& operands, CallSite site);
  bool dealloc(Thread& thread, const TmemOperands& operands, CallSite site);
  bool request_wait(Thread& thread, CallSite site);  // for either
  bool relinquish_alloc_permit(Thread& thread, const TmemOperands& operands, CallSite site);
  bool ld(Thread& thread, const TmemOperands& operands, CallSite site);
  bool st(Thread& thread, const TmemOperands& operands, CallSite site);
  // An instruction of the warp needs registers that a load fills, which begin here for lane 0: they are filled
  // now.
  void deliver(const Thread& thread, const std::uint32_t* registers);
  bool wait_arrive(Thread& thread, bool for_stores, CallSite site);
  bool wait(Thread& thread, bool for_stores, CallSite site);

  // Loads and stores that have not happened.
  std::size_t in_flight() const { return ready_.size(); }
  void step(std::size_t index);

  // For other units. The other CTA, if the group is a pair; checks that there is one, and that the CTA uses no
  // other group.
  Cta* join_cta_group(Thread& thread, int cta_group, CallSite site, const char* instruction);
  void require_sm100(const Thread& thread, CallSite site, const char* instruction) const;
  void check_cols(const Thread& thread, const Cta& cta, std::uint32_t column, std::uint32_t cols,
                  const std::string& what, CallSite site) const;
  void check_not_freed(const Thread& by, bool was_awaited, const Cta& cta, std::uint32_t column,
                       std::uint32_t cols, const std::string& what, CallSite site);
  void check_stored_value(const Thread& thread, const void* registers, std::uint32_t bytes, CallSite site);

  void thread_exit(const Thread& thread);
  void cta_exit(const Cta& cta);
  void finish_transfers(const Cta& cta);  // that an accepted mistake has left behind

 private:
  bool meet(Thread& thread, WarpOp op, const TmemOperands& operands, CallSite site);
  void serve_requests(Cta& cta);
  bool serve(Cta& cta, const TmemRequest& request);
  void store_allocation(Thread& thread, SharedAddress slot, std::uint32_t column, CallSite site);
  bool transfer(Thread& thread, bool is_store, const TmemOperands& operands, CallSite site);
  std::uint32_t own_lanes(const Thread& thread, TmemShape shape, std::uint32_t taddr, CallSite site,
                          const char* instruction) const;
  void wake_warp(const Cta& cta, std::uint32_t warp);

  Core& core_;
  WarpUnit& warps_;
  const MbarrierUnit& mbarriers_;
  Tcgen05Unit& tcgen05_;
  std::vector<TmemTransfer*> ready_;
  std::uint64_t next_id_ = 1;
};

}  // namespace heddle::sim::machine
