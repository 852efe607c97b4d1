// SPDX-License-Identifier: Apache-2.0
//
// PTX: Parallel Synchronization and Communication Instructions: mbarrier.
#include "sim/machine/mbarrier_unit.h"

#include "sim/machine/tma.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::sim::machine {

namespace {

// The token that an arrival returns: the phase it arrived in, and what was pending before it.
std::uint64_t token(const Mbarrier& state) { return state.phase << 20 | state.pending; }

}  // namespace

Barrier* MbarrierUnit::find(const Cta& cta, std::uint32_t offset) {
  if (offset % 8 != 0 || offset / 8 >= cta.barrier_at.size()) return nullptr;
  const std::uint32_t index = cta.barrier_at[offset / 8];
  return index == 0 ? nullptr : &barriers_[index - 1];
}

Barrier& MbarrierUnit::live(const Thread& thread, SharedAddress address, CallSite site, const char* instruction) {
  Cta& cta = core_.cta_of(thread, address, site, instruction);
  const std::uint32_t offset = address & kOffsetMask;
  if (offset % 8 != 0) {
    core_.fault(
        &thread, site, FaultCode::kMisaligned,
        fmt::format("{} at shared address {:#x}; an mbarrier is aligned to 8 bytes", instruction, offset));
  }
  Barrier* barrier = find(cta, offset);
  if (barrier == nullptr || !barrier->live) {
    const auto was_here = [&](std::uint32_t id) { return barriers_[id].offset == offset; };
    if (std::any_of(cta.barrier_ids.begin(), cta.barrier_ids.end(), was_here)) {
      core_.fault(&thread, site, FaultCode::kUninitialisedBarrier,
                  fmt::format("{} on {}, which is not initialised any more", instruction,
                              core_.describe_shared(cta, offset)),
                  {"mbarrier.inval has ended the barrier that was there"});
    }
    core_.fault(
        &thread, site, FaultCode::kUninitialisedBarrier,
        fmt::format("{} on {}, which is not initialised", instruction, core_.describe_shared(cta, offset)),
        {"likely: the roles start before the thread that initialises the barriers is done; init, "
         "fence_mbarrier_init, then a barrier of all threads"});
  }
  return *barrier;
}

Barrier& MbarrierUnit::own(const Thread& thread, SharedAddress address, CallSite site, const char* instruction) {
  if (address >> kRankShift != thread.cta->rank) {
    core_.fault(
        &thread, site, FaultCode::kRemoteWait,
        fmt::format("{} on a barrier of rank {}; a thread can use it on its own CTA's barriers only (rank {})",
                    instruction, address >> kRankShift, thread.cta->rank));
  }
  return live(thread, address, site, instruction);
}

void MbarrierUnit::refuse_touch(const Thread& thread, const Barrier& barrier, std::uint32_t offset,
                                std::uint32_t bytes, CallSite site, const char* instruction, bool writes) const {
  core_.fault(&thread, site, writes ? FaultCode::kBarrierOverwritten : FaultCode::kBarrierRead,
              fmt::format("{} of {} bytes at {:#x} {} {}, which is initialised", instruction, bytes, offset,
                          writes ? "writes over" : "reads", core_.describe(barrier)));
}

void MbarrierUnit::check(MbarrierFault mistake, const Thread& thread, const Barrier& barrier, std::uint64_t value,
                         CallSite site, const char* instruction) const {
  const Mbarrier& state = barrier.state;
  switch (mistake) {
    case MbarrierFault::kNone: return;
    case MbarrierFault::kCountRange:
      core_.fault(&thread, site, FaultCode::kBarrierCount,
                  fmt::format("{} with a count of {} on {}; a count is 1 to {}", instruction, value,
                              core_.describe(barrier), Mbarrier::kMaxCount));
    case MbarrierFault::kOverArrival:
      core_.fault(&thread, site, FaultCode::kOverArrival,
                  fmt::format("{} of {} on {}, but only {} of {} arrivals are missing in phase {}", instruction,
                              value, core_.describe(barrier), state.pending, state.expected, state.phase & 1));
    case MbarrierFault::kTxRange:
      core_.fault(
          &thread, site, FaultCode::kTransactionRange,
          fmt::format("{} of {} bytes on {} takes its transaction count of {} out of range; at most {} bytes "
                      "may be outstanding",
                      instruction, value, core_.describe(barrier), state.tx, Mbarrier::kMaxCount));
  }
}

void MbarrierUnit::tell_arrival(const Thread& thread, const Barrier& barrier, std::uint64_t phase,
                                std::uint32_t count, EventScope scope, CallSite site) {
  core_.emit(event::BarrierArrive{.cta = thread.cta->linear,
                                  .thread = thread.tid,
                                  .barrier = barrier.id,
                                  .phase = phase,
                                  .count = count,
                                  .scope = scope,
                                  .site = site});
}

void MbarrierUnit::tell_pass(const Thread& thread, const Barrier& barrier, std::uint64_t phase, EventScope scope,
                             bool is_by_parity, CallSite site) {
  core_.emit(event::BarrierPass{.cta = thread.cta->linear,
                                .thread = thread.tid,
                                .barrier = barrier.id,
                                .phase = phase,
                                .scope = scope,
                                .is_by_parity = is_by_parity,
                                .site = site});
}

void MbarrierUnit::settle(Barrier& barrier) {
  if (!barrier.state.settle()) return;
  core_.emit(
      event::BarrierPhase{.cta = barrier.cta->linear, .barrier = barrier.id, .phase = barrier.state.phase - 1});
  wake_waiters(barrier);
}

void MbarrierUnit::wake_waiters(Barrier& barrier) {
  Thread* waiter = barrier.first_waiter;
  barrier.first_waiter = nullptr;
  while (waiter != nullptr) {
    Thread* next = waiter->next_waiter;
    waiter->next_waiter = nullptr;
    core_.make_ready(*waiter);
    waiter = next;
  }
}

void MbarrierUnit::init(Thread& thread, SharedAddress address, std::uint32_t count, CallSite site) {
  constexpr const char* kInstruction = "mbarrier.init";
  Cta& cta = core_.cta_of(thread, address, site, kInstruction);
  const std::uint32_t offset = address & kOffsetMask;
  if (&cta != thread.cta) {
    core_.fault(&thread, site, FaultCode::kRemoteWait,
                fmt::format("mbarrier.init of a barrier of rank {}; a CTA initialises its own barriers (rank {})",
                            cta.rank, thread.cta->rank));
  }
  if (offset % 8 != 0) {
    core_.fault(&thread, site, FaultCode::kMisaligned,
                fmt::format("mbarrier.init at shared address {:#x}; an mbarrier is aligned to 8 bytes", offset));
  }
  if (offset < kSharedBase || offset + 8 > cta.shared_end) {
    core_.fault(
        &thread, site, FaultCode::kSharedOutOfBounds,
        fmt::format("mbarrier.init at shared address {:#x}, outside of the CTA's shared memory [{:#x}, {:#x})",
                    offset, kSharedBase, cta.shared_end));
  }
  Barrier* barrier = find(cta, offset);
  if (barrier != nullptr && barrier->live) {
    core_.fault(&thread, site, FaultCode::kBarrierReinitialised,
                fmt::format("mbarrier.init of {}, which is already initialised", core_.describe(*barrier)),
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
  core_.changed();
  core_.emit(event::BarrierInit{.cta = thread.cta->linear,
                                .thread = thread.tid,
                                .barrier = barrier->id,
                                .address = offset | cta.rank << kRankShift,
                                .count = count,
                                .site = site});
}

void MbarrierUnit::inval(Thread& thread, SharedAddress address, CallSite site) {
  Barrier& barrier = own(thread, address, site, "mbarrier.inval");
  if (barrier.first_waiter != nullptr) {
    core_.fault(&thread, site, FaultCode::kBarrierInUse,
                fmt::format("mbarrier.inval of {} while {} waits on it", core_.describe(barrier),
                            core_.describe(*barrier.first_waiter)));
  }
  if (const Copy* copy = copies_.completing_on(*barrier.cta, barrier.offset); copy != nullptr) {
    core_.fault(&thread, site, FaultCode::kBarrierInUse,
                fmt::format("mbarrier.inval of {} while a {} of {} bytes, which completes on it, is in flight",
                            core_.describe(barrier), name_of(copy->kind), copy->bytes),
                {fmt::format("{:<62} {}", "issued at", place(copy->site))});
  }
  barrier.live = false;
  barrier.cta->barrier_at[barrier.offset / 8] = 0;
  core_.changed();
  core_.emit(
      event::BarrierInval{.cta = thread.cta->linear, .thread = thread.tid, .barrier = barrier.id, .site = site});
}

// PTX: mbarrier.arrive: without a scope it is .cta, which does not take in the threads of the barrier's CTA.
EventScope MbarrierUnit::wide_enough(const Thread& thread, const Barrier& barrier, EventScope scope,
                                     CallSite site, const char* instruction) {
  if (scope != EventScope::kCta || barrier.cta == thread.cta) return scope;
  core_.judge(
      &thread, site,
      {.code = FaultCode::kNarrowScope,
       .headline = fmt::format("{} at CTA scope, on {} of {}", instruction, core_.describe(barrier),
                               core_.describe(*barrier.cta)),
       .details = {"likely: .release.cluster is missing; an arrival without a scope is one of CTA scope"}});
  return EventScope::kCluster;
}

std::uint64_t MbarrierUnit::arrive(Thread& thread, SharedAddress address, std::uint32_t count, EventScope scope,
                                   CallSite site) {
  constexpr const char* kInstruction = "mbarrier.arrive";
  Barrier& barrier = live(thread, address, site, kInstruction);
  scope = wide_enough(thread, barrier, scope, site, kInstruction);
  const std::uint64_t state = token(barrier.state);
  const std::uint64_t phase = barrier.state.phase;
  check(barrier.state.arrive(count), thread, barrier, count, site, kInstruction);
  core_.changed();
  tell_arrival(thread, barrier, phase, count, scope, site);
  settle(barrier);
  return state;
}

// PTX: .noComplete: the arrivals do not complete the phase.
void MbarrierUnit::refuse_completion(Thread& thread, SharedAddress address, std::uint32_t count, CallSite site,
                                     const char* instruction) {
  const Barrier& barrier = own(thread, address, site, instruction);
  if (count < barrier.state.pending) return;
  core_.fault(&thread, site, FaultCode::kOverArrival,
              fmt::format("{} of {} on {} would complete the phase: {} arrivals are missing", instruction, count,
                          core_.describe(barrier), barrier.state.pending));
}

std::uint64_t MbarrierUnit::arrive_no_complete(Thread& thread, SharedAddress address, std::uint32_t count,
                                               CallSite site) {
  refuse_completion(thread, address, count, site, "mbarrier.arrive.noComplete");
  return arrive(thread, address, count, EventScope::kCta, site);
}

std::uint64_t MbarrierUnit::drop_no_complete(Thread& thread, SharedAddress address, std::uint32_t count,
                                             CallSite site) {
  refuse_completion(thread, address, count, site, "mbarrier.arrive_drop.noComplete");
  return arrive_drop(thread, address, count, EventScope::kCta, site);
}

std::uint64_t MbarrierUnit::arrive_drop(Thread& thread, SharedAddress address, std::uint32_t count,
                                        EventScope scope, CallSite site) {
  constexpr const char* kInstruction = "mbarrier.arrive_drop";
  Barrier& barrier = live(thread, address, site, kInstruction);
  scope = wide_enough(thread, barrier, scope, site, kInstruction);
  const std::uint64_t state = token(barrier.state);
  const std::uint64_t phase = barrier.state.phase;
  check(barrier.state.arrive_drop(count), thread, barrier, count, site, kInstruction);
  core_.changed();
  tell_arrival(thread, barrier, phase, count, scope, site);
  settle(barrier);
  return state;
}

void MbarrierUnit::expect_tx(Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site) {
  constexpr const char* kInstruction = "mbarrier.expect_tx";
  Barrier& barrier = live(thread, address, site, kInstruction);
  const std::uint64_t phase = barrier.state.phase;
  check(barrier.state.expect_tx(bytes), thread, barrier, bytes, site, kInstruction);
  core_.changed();
  core_.emit(event::BarrierExpect{.cta = thread.cta->linear,
                                  .thread = thread.tid,
                                  .barrier = barrier.id,
                                  .phase = phase,
                                  .bytes = bytes,
                                  .site = site});
  // The manual speaks of the completion check for arrivals and complete_tx only; an H200 makes it here too.
  settle(barrier);
}

std::uint64_t MbarrierUnit::arrive_expect_tx(Thread& thread, SharedAddress address, std::uint32_t bytes,
                                             EventScope scope, CallSite site) {
  constexpr const char* kInstruction = "mbarrier.arrive.expect_tx";
  Barrier& barrier = live(thread, address, site, kInstruction);
  scope = wide_enough(thread, barrier, scope, site, kInstruction);
  const std::uint64_t state = token(barrier.state);
  const std::uint64_t phase = barrier.state.phase;
  check(barrier.state.expect_tx(bytes), thread, barrier, bytes, site, kInstruction);
  check(barrier.state.arrive(1), thread, barrier, 1, site, kInstruction);
  core_.changed();
  core_.emit(event::BarrierExpect{.cta = thread.cta->linear,
                                  .thread = thread.tid,
                                  .barrier = barrier.id,
                                  .phase = phase,
                                  .bytes = bytes,
                                  .site = site});
  tell_arrival(thread, barrier, phase, 1, scope, site);
  settle(barrier);
  return state;
}

void MbarrierUnit::complete_tx(Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site) {
  constexpr const char* kInstruction = "mbarrier.complete_tx";
  Barrier& barrier = live(thread, address, site, kInstruction);
  const std::uint64_t phase = barrier.state.phase;
  check(barrier.state.complete_tx(bytes), thread, barrier, bytes, site, kInstruction);
  core_.changed();
  core_.emit(event::BarrierComplete{.cta = thread.cta->linear,
                                    .thread = thread.tid,
                                    .barrier = barrier.id,
                                    .phase = phase,
                                    .bytes = bytes,
                                    .site = site});
  settle(barrier);
}

void MbarrierUnit::complete_tx(Cta& cta, std::uint32_t barrier_offset, std::uint32_t bytes, std::uint64_t copy,
                               CallSite site) {
  Barrier* barrier = find(cta, barrier_offset);
  if (barrier == nullptr || !barrier->live) {
    core_.fault(nullptr, site, FaultCode::kUninitialisedBarrier,
                fmt::format("a copy completes on {}, which is not initialised",
                            core_.describe_shared(cta, barrier_offset)));
  }
  const std::uint64_t phase = barrier->state.phase;
  if (barrier->state.complete_tx(bytes) != MbarrierFault::kNone) {
    core_.fault(
        nullptr, site, FaultCode::kTransactionRange,
        fmt::format("a copy completes {} bytes on {}, whose transaction count is {}: more than {} bytes have "
                    "landed without being expected",
                    bytes, core_.describe(*barrier), barrier->state.tx, Mbarrier::kMaxCount));
  }
  core_.changed();
  core_.emit(event::BarrierComplete{
      .cta = cta.linear, .barrier = barrier->id, .phase = phase, .bytes = bytes, .copy = copy, .site = site});
  settle(*barrier);
}

bool MbarrierUnit::parity_is_over(Thread& thread, SharedAddress address, std::uint32_t parity, CallSite site) {
  const Barrier& barrier = own(thread, address, site, "mbarrier.try_wait.parity");
  if (parity > 1) {
    core_.fault(&thread, site, FaultCode::kBadParity,
                fmt::format("a wait for parity {} on {}; a parity is 0 or 1", parity, core_.describe(barrier)));
  }
  return barrier.state.parity_is_over(parity);
}

bool MbarrierUnit::is_over(Thread& thread, SharedAddress address, std::uint64_t state, CallSite site) {
  return own(thread, address, site, "mbarrier.try_wait").state.is_over(state >> 20);
}

bool MbarrierUnit::test_wait_parity(Thread& thread, SharedAddress address, std::uint32_t parity, EventScope scope,
                                    CallSite site) {
  if (!parity_is_over(thread, address, parity, site)) return false;
  const Barrier& barrier = own(thread, address, site, "mbarrier.try_wait.parity");
  tell_pass(thread, barrier, barrier.state.phase - 1, scope, true, site);
  return true;
}

bool MbarrierUnit::test_wait(Thread& thread, SharedAddress address, std::uint64_t state, EventScope scope,
                             CallSite site) {
  if (!is_over(thread, address, state, site)) return false;
  const Barrier& barrier = own(thread, address, site, "mbarrier.try_wait");
  tell_pass(thread, barrier, state >> 20, scope, false, site);
  return true;
}

void MbarrierUnit::suspend_parity(Thread& thread, SharedAddress address, std::uint32_t parity, CallSite site) {
  const Barrier& barrier = own(thread, address, site, "mbarrier.try_wait.parity");
  suspend(thread, address, barrier.state.awaited(parity) << 20, site);
}

// PTX: mbarrier.try_wait. The thread sleeps for a time limit at most; a try that stands alone comes back with
// false. Model: the limit is over when nothing else can go on. A thread that has come back to the same phase this
// often, while nothing has changed, waits for it.
bool MbarrierUnit::end_tries() {
  constexpr std::uint32_t kMaxTries = 64;
  bool any = false;
  for (Thread& thread : core_.threads()) {
    if (thread.state != ThreadState::kBlocked || thread.wait.kind != WaitKind::kMbarrier) continue;
    Tries& tries = thread.tries;
    const bool is_same = tries.barrier == thread.wait.barrier && tries.phase == thread.wait.phase &&
                         tries.changes == core_.changes();
    if (!is_same) tries = {thread.wait.barrier, thread.wait.phase, core_.changes(), 0};
    if (tries.count == kMaxTries) continue;
    ++tries.count;
    Thread** link = &thread.wait.barrier->first_waiter;
    while (*link != &thread) link = &(*link)->next_waiter;
    *link = thread.next_waiter;
    thread.next_waiter = nullptr;
    core_.make_ready(thread);
    any = true;
  }
  return any;
}

void MbarrierUnit::suspend(Thread& thread, SharedAddress address, std::uint64_t state, CallSite site) {
  Barrier& barrier = own(thread, address, site, "mbarrier.try_wait");
  core_.emit(event::BarrierBlock{.cta = thread.cta->linear,
                                 .thread = thread.tid,
                                 .barrier = barrier.id,
                                 .phase = state >> 20,
                                 .site = site});
  core_.block(thread, {.kind = WaitKind::kMbarrier, .barrier = &barrier, .phase = state >> 20, .site = site});
  thread.next_waiter = barrier.first_waiter;
  barrier.first_waiter = &thread;
}

// PTX: tcgen05.commit makes an arrive-on operation with a count of 1, at cluster scope.
void MbarrierUnit::arrive_by_commit(const Thread& issuer, const Cta& cta, std::uint32_t offset,
                                    std::uint64_t commit, std::uint32_t left, CallSite site) {
  Barrier* barrier = find(cta, offset);
  if (barrier == nullptr || !barrier->live) {
    core_.fault(&issuer, site, FaultCode::kUninitialisedBarrier,
                fmt::format("tcgen05.commit arrives on {}, which is not initialised",
                            core_.describe_shared(cta, offset)));
  }
  const std::uint64_t phase = barrier->state.phase;
  check(barrier->state.arrive(1), issuer, *barrier, 1, site, "tcgen05.commit");
  core_.changed();
  core_.emit(event::BarrierArrive{.cta = issuer.cta->linear,
                                  .thread = issuer.tid,
                                  .barrier = barrier->id,
                                  .phase = phase,
                                  .count = 1,
                                  .scope = EventScope::kCluster,
                                  .commit = commit,
                                  .left = left,
                                  .site = site});
  settle(*barrier);
}

void MbarrierUnit::cta_exit(const Cta& cta) {
  for (const std::uint32_t id : cta.barrier_ids) barriers_[id].live = false;
}

}  // namespace heddle::sim::machine
