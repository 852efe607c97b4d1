// SPDX-License-Identifier: Apache-2.0
//
// Multiplications, copies and commits of tcgen05, each issued by one thread.
// PTX: tcgen05.mma, tcgen05.cp, tcgen05.commit, tcgen05.fence.
#pragma once

#include "sim/machine/core.h"

#include <vector>

namespace heddle::sim::machine {

class MbarrierUnit;
class MemoryUnit;
class TmemUnit;
struct Scale;

class Tcgen05Unit {
 public:
  Tcgen05Unit(Core& core, MbarrierUnit& mbarriers, MemoryUnit& memory, TmemUnit& tmem)
      : core_(core), mbarriers_(mbarriers), memory_(memory), tmem_(tmem) {}

  void mma(Thread& thread, const Tcgen05Operands& operands, CallSite site);
  void cp(Thread& thread, const Tcgen05Copy& copy, CallSite site);
  void commit(Thread& thread, int cta_group, SharedAddress barrier, CallSite site);
  void commit_multicast(Thread& thread, int cta_group, SharedAddress barrier, std::uint16_t mask, CallSite site);
  void fence(Thread& thread, FenceKind kind, CallSite site);

  // Queues that are not empty.
  std::size_t in_flight() const { return ready_.size(); }
  void step(std::size_t index);
  // What was issued on these columns of a CTA, and what was issued before it, happens now: before they go away.
  void run_on(const Cta& cta, std::uint32_t column, std::uint32_t cols);

 private:
  void check_operand(const Thread& thread, char operand, std::uint64_t descriptor, Major major, OperandType type,
                     std::uint32_t rows, std::uint32_t row_bytes, CallSite site) const;
  void refuse(const Thread& thread, Tcgen05Fault wrong, CallSite site) const;
  void tell_issue(const Thread& thread, std::uint64_t id, const char* name, CallSite site);
  void enqueue(Thread& thread, Tcgen05Operation operation);
  void commit_to(Thread& thread, int cta_group, SharedAddress barrier, std::vector<std::uint32_t> ranks,
                 CallSite site);
  void run_mma(const Tcgen05Queue& queue, const Tcgen05Operation& operation);
  void run_cp(const Tcgen05Queue& queue, const Tcgen05Operation& operation);
  void run_commit(const Tcgen05Queue& queue, const Tcgen05Operation& operation);
  void tell_operand(const Cta& cta, const Tcgen05Operation& operation, const std::vector<SharedRange>& ranges);
  void touch_tmem(const Tcgen05Queue& queue, const Cta& cta, const Tcgen05Operation& operation,
                  std::uint32_t taddr, std::uint32_t cols, std::uint64_t how, const char* operand);
  void touch_scales(const Tcgen05Queue& queue, const Cta& cta, const Tcgen05Operation& operation, char side,
                    std::uint32_t rows);
  std::vector<Scale> read_scales(const Tcgen05Queue& queue, Cta& cta, const Tcgen05Operation& operation,
                                 char side, std::uint32_t rows);

  Core& core_;
  MbarrierUnit& mbarriers_;
  MemoryUnit& memory_;
  TmemUnit& tmem_;
  std::vector<Tcgen05Queue*> ready_;
  std::uint64_t next_id_ = 1;
  std::uint64_t next_commit_id_ = 1;
};

}  // namespace heddle::sim::machine
