// SPDX-License-Identifier: Apache-2.0
//
// PTX: Parallel Synchronization and Communication Instructions: mbarrier.
#include "sim/machine/machine.h"

#include <fmt/format.h>

namespace heddle::sim::machine {

namespace {

// The token that an arrival returns: the phase it arrived in, and what was pending before it.
std::uint64_t token(const Mbarrier& state) { return state.phase << 20 | state.pending; }

}  // namespace

Barrier* Machine::find_barrier(const Cta& cta, std::uint32_t offset) {
  if (offset % 8 != 0 || offset / 8 >= cta.barrier_at.size()) return nullptr;
  const std::uint32_t index = cta.barrier_at[offset / 8];
  return index == 0 ? nullptr : &barriers_[index - 1];
}

Barrier& Machine::live_barrier(const Thread& thread, SharedAddress address, CallSite site,
                               const char* instruction) {
  Cta& cta = cta_of(thread, address, site, instruction);
  const std::uint32_t offset = address & kOffsetMask;
  if (offset % 8 != 0) {
    fault(&thread, site, FaultCode::kMisaligned,
          fmt::format("{} at shared address {:#x}; an mbarrier is aligned to 8 bytes", instruction, offset));
  }
  Barrier* barrier = find_barrier(cta, offset);
  if (barrier == nullptr || !barrier->live) {
    fault(&thread, site, FaultCode::kUninitialisedBarrier,
          fmt::format("{} on {}, which is not initialised", instruction, describe_shared(cta, offset)),
          {"likely: the roles start before the thread that initialises the barriers is done; init, "
           "fence_mbarrier_init, then a barrier of all threads"});
  }
  return *barrier;
}

Barrier& Machine::own_barrier(const Thread& thread, SharedAddress address, CallSite site,
                              const char* instruction) {
  if (address >> kRankShift != thread.cta->rank) {
    fault(&thread, site, FaultCode::kRemoteWait,
          fmt::format("{} on a barrier of rank {}; a thread can use it on its own CTA's barriers only (rank {})",
                      instruction, address >> kRankShift, thread.cta->rank));
  }
  return live_barrier(thread, address, site, instruction);
}

void Machine::check(MbarrierFault mistake, const Thread& thread, const Barrier& barrier, std::uint64_t value,
                    CallSite site, const char* instruction) const {
  const Mbarrier& state = barrier.state;
  switch (mistake) {
    case MbarrierFault::kNone: return;
    case MbarrierFault::kCountRange:
      fault(&thread, site, FaultCode::kBarrierCount,
            fmt::format("{} with a count of {} on {}; a count is 1 to {}", instruction, value, describe(barrier),
                        Mbarrier::kMaxCount));
    case MbarrierFault::kOverArrival:
      fault(&thread, site, FaultCode::kOverArrival,
            fmt::format("{} of {} on {}, but only {} of {} arrivals are missing in phase {}", instruction, value,
                        describe(barrier), state.pending, state.expected, state.phase & 1),
            {fmt::format("likely: a stage is released twice, or the barrier's count of {} is too small",
                         state.expected)});
    case MbarrierFault::kTxRange:
      fault(&thread, site, FaultCode::kTransactionRange,
            fmt::format("{} of {} bytes on {} takes its transaction count of {} out of range; at most {} bytes "
                        "may be outstanding",
                        instruction, value, describe(barrier), state.tx, Mbarrier::kMaxCount));
  }
}

void Machine::tell(EventKind kind, const Thread& thread, const Barrier& barrier, std::uint64_t phase,
                   std::uint64_t value, EventScope scope, CallSite site) {
  if (!wants(kind)) return;
  emit({.kind = kind,
        .scope = scope,
        .cta = thread.cta->linear,
        .thread = thread.tid,
        .barrier = barrier.id,
        .address = barrier.offset | barrier.cta->rank << kRankShift,
        .phase = phase,
        .value = value,
        .site = site});
}

void Machine::settle(Barrier& barrier) {
  if (!barrier.state.settle()) return;
  if (wants(EventKind::kBarrierPhase)) {
    emit({.kind = EventKind::kBarrierPhase,
          .cta = barrier.cta->linear,
          .barrier = barrier.id,
          .phase = barrier.state.phase - 1});
  }
  wake_waiters(barrier);
}

void Machine::wake_waiters(Barrier& barrier) {
  Thread* waiter = barrier.first_waiter;
  barrier.first_waiter = nullptr;
  while (waiter != nullptr) {
    Thread* next = waiter->next_waiter;
    waiter->next_waiter = nullptr;
    make_ready(*waiter);
    waiter = next;
  }
}

void Machine::mbarrier_init(Thread& thread, SharedAddress address, std::uint32_t count, CallSite site) {
  constexpr const char* kInstruction = "mbarrier.init";
  Cta& cta = cta_of(thread, address, site, kInstruction);
  const std::uint32_t offset = address & kOffsetMask;
  if (&cta != thread.cta) {
    fault(&thread, site, FaultCode::kRemoteWait,
          fmt::format("mbarrier.init of a barrier of rank {}; a CTA initialises its own barriers (rank {})",
                      cta.rank, thread.cta->rank));
  }
  if (offset % 8 != 0) {
    fault(&thread, site, FaultCode::kMisaligned,
          fmt::format("mbarrier.init at shared address {:#x}; an mbarrier is aligned to 8 bytes", offset));
  }
  if (offset < kSharedBase || offset + 8 > cta.shared_end) {
    fault(&thread, site, FaultCode::kSharedOutOfBounds,
          fmt::format("mbarrier.init at shared address {:#x}, outside of the CTA's shared memory [{:#x}, {:#x})",
                      offset, kSharedBase, cta.shared_end));
  }
  Barrier* barrier = find_barrier(cta, offset);
  if (barrier != nullptr && barrier->live) {
    fault(&thread, site, FaultCode::kBarrierReinitialised,
          fmt::format("mbarrier.init of {}, which is already initialised", describe(*barrier)),
          {"likely: more than one thread initialises; or invalidate it first (mbarrier_inval)"});
  }
  if (barrier == nullptr) {
    barrier = &barriers_.emplace_back();
    barrier->id = static_cast<std::uint32_t>(barriers_.size() - 1);
    barrier->cta = &cta;
    barrier->offset = offset;
    cta.barrier_at[offset / 8] = barrier->id + 1;
    cta.barrier_ids.push_back(barrier->id);
  }
  check(barrier->state.init(count), thread, *barrier, count, site, kInstruction);
  barrier->live = true;
  changed();
  tell(EventKind::kBarrierInit, thread, *barrier, 0, count, EventScope::kCta, site);
}

void Machine::mbarrier_inval(Thread& thread, SharedAddress address, CallSite site) {
  Barrier& barrier = own_barrier(thread, address, site, "mbarrier.inval");
  if (barrier.first_waiter != nullptr) {
    fault(&thread, site, FaultCode::kBarrierInUse,
          fmt::format("mbarrier.inval of {} while {} waits on it", describe(barrier),
                      describe(*barrier.first_waiter)));
  }
  if (const Copy* copy = tma_.completing_on(*barrier.cta, barrier.offset); copy != nullptr) {
    fault(&thread, site, FaultCode::kBarrierInUse,
          fmt::format("mbarrier.inval of {} while a {} of {} bytes, which completes on it, is in flight",
                      describe(barrier), sim::machine::name_of(copy->kind), copy->bytes),
          {fmt::format("{:<62} {}", "issued at", place(copy->site))});
  }
  barrier.live = false;
  barrier.cta->barrier_at[barrier.offset / 8] = 0;
  changed();
  tell(EventKind::kBarrierInval, thread, barrier, 0, 0, EventScope::kCta, site);
}

// PTX: mbarrier.arrive: without a scope it is .cta, which does not take in the threads of the barrier's CTA.
EventScope Machine::wide_enough(const Thread& thread, const Barrier& barrier, EventScope scope, CallSite site,
                                const char* instruction) {
  if (scope != EventScope::kCta || barrier.cta == thread.cta) return scope;
  judge(&thread, site,
        {.code = FaultCode::kNarrowScope,
         .headline =
             fmt::format("{} at CTA scope, on {} of {}", instruction, describe(barrier), describe(*barrier.cta)),
         .details = {"likely: .release.cluster is missing; an arrival without a scope is one of CTA scope"}});
  return EventScope::kCluster;
}

std::uint64_t Machine::mbarrier_arrive(Thread& thread, SharedAddress address, std::uint32_t count,
                                       EventScope scope, CallSite site) {
  constexpr const char* kInstruction = "mbarrier.arrive";
  Barrier& barrier = live_barrier(thread, address, site, kInstruction);
  scope = wide_enough(thread, barrier, scope, site, kInstruction);
  const std::uint64_t state = token(barrier.state);
  const std::uint64_t phase = barrier.state.phase;
  check(barrier.state.arrive(count), thread, barrier, count, site, kInstruction);
  changed();
  tell(EventKind::kBarrierArrive, thread, barrier, phase, count, scope, site);
  settle(barrier);
  return state;
}

std::uint64_t Machine::mbarrier_arrive_no_complete(Thread& thread, SharedAddress address, std::uint32_t count,
                                                   CallSite site) {
  Barrier& barrier = own_barrier(thread, address, site, "mbarrier.arrive.noComplete");
  if (count >= barrier.state.pending) {
    fault(&thread, site, FaultCode::kOverArrival,
          fmt::format("mbarrier.arrive.noComplete of {} on {} would complete the phase: {} arrivals are missing",
                      count, describe(barrier), barrier.state.pending));
  }
  return mbarrier_arrive(thread, address, count, EventScope::kCta, site);
}

std::uint64_t Machine::mbarrier_arrive_drop(Thread& thread, SharedAddress address, std::uint32_t count,
                                            CallSite site) {
  constexpr const char* kInstruction = "mbarrier.arrive_drop";
  Barrier& barrier = live_barrier(thread, address, site, kInstruction);
  const std::uint64_t state = token(barrier.state);
  const std::uint64_t phase = barrier.state.phase;
  check(barrier.state.arrive_drop(count), thread, barrier, count, site, kInstruction);
  changed();
  tell(EventKind::kBarrierArrive, thread, barrier, phase, count, EventScope::kCta, site);
  settle(barrier);
  return state;
}

void Machine::mbarrier_expect_tx(Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site) {
  constexpr const char* kInstruction = "mbarrier.expect_tx";
  Barrier& barrier = live_barrier(thread, address, site, kInstruction);
  const std::uint64_t phase = barrier.state.phase;
  check(barrier.state.expect_tx(bytes), thread, barrier, bytes, site, kInstruction);
  changed();
  tell(EventKind::kBarrierExpect, thread, barrier, phase, bytes, EventScope::kCta, site);
  // The manual speaks of the completion check for arrivals and complete_tx only; an H200 makes it here too.
  settle(barrier);
}

std::uint64_t Machine::mbarrier_arrive_expect_tx(Thread& thread, SharedAddress address, std::uint32_t bytes,
                                                 EventScope scope, CallSite site) {
  constexpr const char* kInstruction = "mbarrier.arrive.expect_tx";
  Barrier& barrier = live_barrier(thread, address, site, kInstruction);
  scope = wide_enough(thread, barrier, scope, site, kInstruction);
  const std::uint64_t state = token(barrier.state);
  const std::uint64_t phase = barrier.state.phase;
  check(barrier.state.expect_tx(bytes), thread, barrier, bytes, site, kInstruction);
  check(barrier.state.arrive(1), thread, barrier, 1, site, kInstruction);
  changed();
  tell(EventKind::kBarrierExpect, thread, barrier, phase, bytes, scope, site);
  tell(EventKind::kBarrierArrive, thread, barrier, phase, 1, scope, site);
  settle(barrier);
  return state;
}

void Machine::mbarrier_complete_tx(Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site) {
  constexpr const char* kInstruction = "mbarrier.complete_tx";
  Barrier& barrier = live_barrier(thread, address, site, kInstruction);
  const std::uint64_t phase = barrier.state.phase;
  check(barrier.state.complete_tx(bytes), thread, barrier, bytes, site, kInstruction);
  changed();
  tell(EventKind::kBarrierComplete, thread, barrier, phase, bytes, EventScope::kCta, site);
  settle(barrier);
}

void Machine::complete_tx(Cta& cta, std::uint32_t barrier_offset, std::uint32_t bytes, std::uint64_t copy,
                          CallSite site) {
  Barrier* barrier = find_barrier(cta, barrier_offset);
  if (barrier == nullptr || !barrier->live) {
    fault(nullptr, site, FaultCode::kUninitialisedBarrier,
          fmt::format("a copy completes on {}, which is not initialised", describe_shared(cta, barrier_offset)));
  }
  const std::uint64_t phase = barrier->state.phase;
  if (barrier->state.complete_tx(bytes) != MbarrierFault::kNone) {
    fault(nullptr, site, FaultCode::kTransactionRange,
          fmt::format("a copy completes {} bytes on {}, whose transaction count is {}: more than {} bytes have "
                      "landed without being expected",
                      bytes, describe(*barrier), barrier->state.tx, Mbarrier::kMaxCount));
  }
  changed();
  if (wants(EventKind::kBarrierComplete)) {
    emit({.kind = EventKind::kBarrierComplete,
          .cta = cta.linear,
          .barrier = barrier->id,
          .phase = phase,
          .value = bytes,
          .copy = copy,
          .site = site});
  }
  settle(*barrier);
}

bool Machine::mbarrier_test_wait_parity(Thread& thread, SharedAddress address, std::uint32_t parity,
                                        EventScope scope, CallSite site) {
  Barrier& barrier = own_barrier(thread, address, site, "mbarrier.try_wait.parity");
  if (parity > 1) {
    fault(&thread, site, FaultCode::kBadParity,
          fmt::format("a wait for parity {} on {}; a parity is 0 or 1", parity, describe(barrier)));
  }
  if (!barrier.state.parity_is_over(parity)) return false;
  tell(EventKind::kBarrierPass, thread, barrier, barrier.state.phase - 1, 0, scope, site);
  return true;
}

bool Machine::mbarrier_test_wait(Thread& thread, SharedAddress address, std::uint64_t state, EventScope scope,
                                 CallSite site) {
  Barrier& barrier = own_barrier(thread, address, site, "mbarrier.try_wait");
  if (!barrier.state.is_over(state >> 20)) return false;
  tell(EventKind::kBarrierPass, thread, barrier, state >> 20, 0, scope, site);
  return true;
}

void Machine::mbarrier_suspend_parity(Thread& thread, SharedAddress address, std::uint32_t parity,
                                      CallSite site) {
  const Barrier& barrier = own_barrier(thread, address, site, "mbarrier.try_wait.parity");
  mbarrier_suspend(thread, address, barrier.state.awaited(parity) << 20, site);
}

// PTX: mbarrier.try_wait. The thread sleeps for a time limit at most; a try that stands alone comes back with
// false. Model: the limit is over when nothing else can go on. A thread that has come back to the same phase this
// often, while nothing has changed, waits for it.
bool Machine::end_tries() {
  constexpr std::uint32_t kMaxTries = 64;
  bool any = false;
  for (Thread& thread : threads_) {
    if (thread.state != ThreadState::kBlocked || thread.wait.kind != WaitKind::kMbarrier) continue;
    Tries& tries = thread.tries;
    const bool is_same = tries.barrier == thread.wait.barrier && tries.phase == thread.wait.phase &&
                         tries.changes == state_changes_;
    if (!is_same) tries = {thread.wait.barrier, thread.wait.phase, state_changes_, 0};
    if (tries.count == kMaxTries) continue;
    ++tries.count;
    Thread** link = &thread.wait.barrier->first_waiter;
    while (*link != &thread) link = &(*link)->next_waiter;
    *link = thread.next_waiter;
    thread.next_waiter = nullptr;
    make_ready(thread);
    any = true;
  }
  return any;
}

void Machine::mbarrier_suspend(Thread& thread, SharedAddress address, std::uint64_t state, CallSite site) {
  Barrier& barrier = own_barrier(thread, address, site, "mbarrier.try_wait");
  tell(EventKind::kBarrierBlock, thread, barrier, state >> 20, 0, EventScope::kCta, site);
  block(thread, {.kind = WaitKind::kMbarrier, .barrier = &barrier, .phase = state >> 20, .site = site});
  thread.next_waiter = barrier.first_waiter;
  barrier.first_waiter = &thread;
}

}  // namespace heddle::sim::machine
