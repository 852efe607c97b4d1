// SPDX-License-Identifier: Apache-2.0
//
// The instructions of isa/ on tensor memory and its tensor core, for the simulated SM.
#include "sim/frontend/executor.h"

#include <heddle/isa/tcgen05.h>
#include <heddle/isa/tmem.h>

#include <algorithm>

namespace heddle::inline HEDDLE_TARGET::isa {

using sim::FenceKind;
using sim::frontend::Executor;
using sim::frontend::instruct;
using sim::machine::Machine;
using sim::machine::Tcgen05Copy;
using sim::machine::Tcgen05Operands;
using sim::machine::Thread;
using sim::machine::TmemOperands;

// Tensor memory.

void detail::tcgen05_alloc(int cta_group, std::uint32_t* smem_address, std::uint32_t cols, CallSite site) {
  TmemOperands operands{.cta_group = cta_group, .cols = cols};
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    operands.slot = e.address_of(smem_address, site);
    if (!m.tmem.alloc(t, operands, site)) e.suspend();
    while (!m.tmem.request_wait(t, site)) e.suspend();
  });
}

void detail::tcgen05_dealloc(int cta_group, std::uint32_t taddr, std::uint32_t cols, CallSite site) {
  const TmemOperands operands{.cta_group = cta_group, .cols = cols, .taddr = taddr};
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.tmem.dealloc(t, operands, site)) e.suspend();
    while (!m.tmem.request_wait(t, site)) e.suspend();
  });
}

void detail::tcgen05_relinquish_alloc_permit(int cta_group, CallSite site) {
  const TmemOperands operands{.cta_group = cta_group};
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.tmem.relinquish_alloc_permit(t, operands, site)) e.suspend();
  });
}

void detail::tcgen05_ld(TmemShape shape, std::uint32_t* registers, std::uint32_t count, std::uint32_t taddr,
                        std::uint32_t offset, CallSite site) {
  const TmemOperands operands{
      .taddr = taddr, .shape = shape, .count = count, .offset = offset, .registers = registers};
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.tmem.ld(t, operands, site)) e.suspend();
  });
}

void detail::tcgen05_st(TmemShape shape, const std::uint32_t* registers, std::uint32_t count, std::uint32_t taddr,
                        std::uint32_t offset, CallSite site) {
  std::uint32_t values[128];
  std::copy_n(registers, count, values);
  const TmemOperands operands{
      .taddr = taddr, .shape = shape, .count = count, .offset = offset, .registers = values};
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.tmem.st(t, operands, site)) e.suspend();
  });
}

namespace {

void wait_tmem(bool for_stores, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.tmem.wait_arrive(t, for_stores, site)) e.suspend();
    while (!m.tmem.wait(t, for_stores, site)) e.suspend();
  });
}

}  // namespace

void tcgen05_wait_ld(CallSite site) { wait_tmem(false, site); }
void tcgen05_wait_st(CallSite site) { wait_tmem(true, site); }

// tcgen05.

void tcgen05_fence_before_thread_sync(CallSite site) {
  instruct(false, site,
           [&](Executor&, Machine& m, Thread& t) { m.tcgen05.fence(t, FenceKind::kTcgen05Before, site); });
}

void tcgen05_fence_after_thread_sync(CallSite site) {
  instruct(false, site,
           [&](Executor&, Machine& m, Thread& t) { m.tcgen05.fence(t, FenceKind::kTcgen05After, site); });
}

void detail::tcgen05_commit(int cta_group, MbarPtr bar, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.tcgen05.commit(t, cta_group, e.address_of(bar, site), site);
  });
}

void detail::tcgen05_commit_multicast(int cta_group, MbarPtr bar, std::uint16_t mask, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.tcgen05.commit_multicast(t, cta_group, e.address_of(bar, site), mask, site);
  });
}

void detail::tcgen05_mma(const Tcgen05Mma& mma, CallSite site) {
  const Tcgen05Operands operands{.kind = mma.kind,
                                 .cta_group = mma.cta_group,
                                 .d = mma.d_taddr,
                                 .a_in_tmem = mma.a_in_tmem,
                                 .a = mma.a_taddr,
                                 .a_descriptor = mma.a_descriptor,
                                 .b_descriptor = mma.b_descriptor,
                                 .instruction_descriptor = mma.instruction_descriptor,
                                 .accumulate = mma.accumulate,
                                 .scale_vec = mma.scale_vec,
                                 .sfa = mma.sfa_taddr,
                                 .sfb = mma.sfb_taddr};
  instruct(true, site, [&](Executor&, Machine& m, Thread& t) { m.tcgen05.mma(t, operands, site); });
}

void detail::tcgen05_cp(TmemCopyShape shape, int cta_group, std::uint32_t taddr, std::uint64_t descriptor,
                        CallSite site) {
  const Tcgen05Copy copy{.shape = shape, .cta_group = cta_group, .taddr = taddr, .descriptor = descriptor};
  instruct(true, site, [&](Executor&, Machine& m, Thread& t) { m.tcgen05.cp(t, copy, site); });
}

}  // namespace heddle::inline HEDDLE_TARGET::isa
