// SPDX-License-Identifier: Apache-2.0
//
// PTX: bar, barrier.
#include "sim/machine/named_barrier_unit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

namespace heddle::sim::machine {

namespace {

// The hardware counts warps: one whose lanes are all here is 32 threads, also if some have exited or never
// existed.
std::uint32_t counted(std::uint32_t here, std::uint32_t live) {
  if (here == 0) return 0;
  return (live & ~here) == 0 ? 32 : static_cast<std::uint32_t>(std::popcount(here));
}

constexpr const char* kAllReduce = "all threads of a round reduce, by the same operation, or none does";

const char* text_of(NamedReduction reduction) {
  return reduction == NamedReduction::kPopc ? "popc" : reduction == NamedReduction::kAnd ? "and" : "or";
}

// Who has come to the round so far.
std::string here(const NamedBarrier& barrier) {
  std::vector<std::size_t> warps;
  for (std::size_t w = 0; w < barrier.lanes.size(); ++w) {
    if (barrier.lanes[w] != 0) warps.push_back(w);
  }
  return fmt::format("in this round so far: {} {}", warps.size() == 1 ? "warp" : "warps", fmt::join(warps, ", "));
}

// PTX: barrier: .red is not mixed with .sync or .arrive of one barrier while it is in use.
void check_no_reduction(const Core& core, const Thread& thread, std::uint32_t id, const char* instruction,
                        CallSite site) {
  if (id >= thread.cta->named.size()) return;  // refused with the other operands
  const NamedBarrier& barrier = thread.cta->named[id];
  if (barrier.reduction == NamedReduction::kNone) return;
  core.fault(&thread, site, FaultCode::kNamedBarrier,
             fmt::format("{} on {}, but others of the same round came by bar.red.{}", instruction,
                         core.describe_named(*thread.cta, id), text_of(barrier.reduction)),
             {kAllReduce});
}

// How many a round waits for. A barrier of the whole CTA does not wait for warps that have exited.
std::uint32_t needed(const Cta& cta, const NamedBarrier& barrier) {
  if (!barrier.is_of_all) return barrier.threads;
  std::uint32_t warps = 0;
  for (std::size_t w = 0; w < cta.warps.size(); ++w) {
    if (cta.warps[w].live != 0 || barrier.lanes[w] != 0) ++warps;
  }
  return 32 * warps;
}

}  // namespace

void NamedBarrierUnit::check_operands(const Thread& thread, std::uint32_t id, std::uint32_t threads,
                                      CallSite site) const {
  if (id >= 16) {
    core_.fault(&thread, site, FaultCode::kNamedBarrier,
                fmt::format("named barrier {}; a CTA has 16, numbered 0 to 15", id));
  }
  if (threads == 0 || threads % 32 != 0) {
    core_.fault(&thread, site, FaultCode::kNamedBarrier,
                fmt::format("{} with {} threads; the count is a multiple of 32, {} would pass",
                            core_.describe_named(*thread.cta, id), threads, (threads / 32 + 1) * 32));
  }
  if (threads > core_.whole_cta()) {
    core_.fault(&thread, site, FaultCode::kNamedBarrier,
                fmt::format("{} waits for {} threads, but the CTA has {}", core_.describe_named(*thread.cta, id),
                            threads, core_.threads_per_cta()));
  }
  const NamedBarrier& barrier = thread.cta->named[id];
  if (barrier.threads != 0 && barrier.threads != threads) {
    core_.fault(&thread, site, FaultCode::kNamedBarrier,
                fmt::format("{} with {} threads, but others use it with {} in the same round",
                            core_.describe_named(*thread.cta, id), threads, barrier.threads),
                {here(barrier)});
  }
  if ((barrier.lanes[thread.warp()] & 1u << thread.lane()) != 0) {
    core_.fault(&thread, site, FaultCode::kNamedBarrier,
                fmt::format("a thread arrives twice on {} in one round; {} of {} threads are here",
                            core_.describe_named(*thread.cta, id), barrier.arrived, barrier.threads),
                {here(barrier)});
  }
}

void NamedBarrierUnit::arrive_in_round(Thread& thread, std::uint32_t id, std::uint32_t threads, bool is_of_all,
                                       CallSite site) {
  check_operands(thread, id, threads, site);
  Cta& cta = *thread.cta;
  NamedBarrier& barrier = cta.named[id];
  barrier.threads = threads;
  barrier.is_of_all = barrier.is_of_all || is_of_all;
  std::uint32_t& here = barrier.lanes[thread.warp()];
  const std::uint32_t live = cta.warps[thread.warp()].live;
  barrier.arrived -= counted(here, live);
  here |= 1u << thread.lane();
  barrier.arrived += counted(here, live);
  core_.changed();
  core_.emit(event::NamedArrive{.cta = cta.linear, .thread = thread.tid, .id = id, .site = site});
  finish_round(cta, id, thread, site);
}

// Ends the round if all that it waits for have come.
void NamedBarrierUnit::finish_round(Cta& cta, std::uint32_t id, const Thread& last, CallSite site) {
  NamedBarrier& barrier = cta.named[id];
  if (barrier.arrived < needed(cta, barrier)) return;
  for (std::size_t w = 0; w < cta.warps.size(); ++w) {
    if (barrier.lanes[w] != 0 && (barrier.lanes[w] & cta.warps[w].live) != cta.warps[w].live) {
      core_.fault(&last, site, FaultCode::kDivergence,
                  fmt::format("{} was reached by {} of {} lanes of warp {}; a warp arrives as a whole",
                              core_.describe_named(cta, id), std::popcount(barrier.lanes[w]),
                              std::popcount(cta.warps[w].live), w));
    }
  }
  const std::uint32_t result = barrier.result();
  barrier.reset();
  cta.threads[last.tid].result = result;
  for (std::uint32_t t = 0; t < core_.threads_per_cta(); ++t) {
    Thread& waiter = cta.threads[t];
    if (waiter.state == ThreadState::kBlocked && waiter.wait.kind == WaitKind::kNamedBarrier &&
        waiter.wait.id == id) {
      waiter.result = result;
      const CallSite waits_at = waiter.wait.site;
      core_.make_ready(waiter);
      core_.emit(event::NamedPass{.cta = cta.linear, .thread = waiter.tid, .id = id, .site = waits_at});
    }
  }
}

// PTX: bar, barrier. Threads that have exited are not waited for: the rest of their warp stands for it.
void NamedBarrierUnit::thread_exit(const Thread& thread) {
  Cta& cta = *thread.cta;
  const std::uint32_t live = cta.warps[thread.warp()].live;
  for (std::uint32_t id = 0; id < cta.named.size(); ++id) {
    NamedBarrier& barrier = cta.named[id];
    if (barrier.threads == 0) continue;
    const std::uint32_t here = barrier.lanes[thread.warp()];
    barrier.arrived += counted(here, live) - counted(here, live | 1u << thread.lane());
    if (barrier.is_of_all || here != 0) finish_round(cta, id, thread, {});
  }
}

bool NamedBarrierUnit::sync(Thread& thread, std::uint32_t id, std::uint32_t threads, CallSite site) {
  check_no_reduction(core_, thread, id, "bar.sync", site);
  return wait(thread, id, threads, false, site);
}

bool NamedBarrierUnit::sync_all(Thread& thread, std::uint32_t id, CallSite site) {
  check_no_reduction(core_, thread, id, "bar.sync", site);
  return wait(thread, id, core_.whole_cta(), true, site);
}

bool NamedBarrierUnit::red(Thread& thread, std::uint32_t id, std::uint32_t threads, NamedReduction reduction,
                           bool says_yes, CallSite site) {
  const bool is_of_all = threads == 0;
  const std::uint32_t count = is_of_all ? core_.whole_cta() : threads;
  check_operands(thread, id, count, site);
  NamedBarrier& barrier = thread.cta->named[id];
  if (barrier.threads != 0 && barrier.reduction == NamedReduction::kNone) {
    core_.fault(&thread, site, FaultCode::kNamedBarrier,
                fmt::format("bar.red.{} on {}, but others of the same round came by bar.sync or bar.arrive",
                            text_of(reduction), core_.describe_named(*thread.cta, id)),
                {kAllReduce});
  }
  if (barrier.reduction != NamedReduction::kNone && barrier.reduction != reduction) {
    core_.fault(&thread, site, FaultCode::kNamedBarrier,
                fmt::format("bar.red.{} on {}, but others of the same round reduce by .{}", text_of(reduction),
                            core_.describe_named(*thread.cta, id), text_of(barrier.reduction)));
  }
  barrier.reduction = reduction;
  ++barrier.votes;
  if (says_yes) ++barrier.yes;
  return wait(thread, id, count, is_of_all, site);
}

bool NamedBarrierUnit::wait(Thread& thread, std::uint32_t id, std::uint32_t threads, bool is_of_all,
                            CallSite site) {
  arrive_in_round(thread, id, threads, is_of_all, site);
  if (thread.cta->named[id].arrived != 0) {
    core_.block(thread, {.kind = WaitKind::kNamedBarrier, .id = id, .site = site});
    return false;
  }
  core_.emit(event::NamedPass{.cta = thread.cta->linear, .thread = thread.tid, .id = id, .site = site});
  return true;
}

void NamedBarrierUnit::arrive(Thread& thread, std::uint32_t id, std::uint32_t threads, CallSite site) {
  check_no_reduction(core_, thread, id, "bar.arrive", site);
  arrive_in_round(thread, id, threads, false, site);
}

}  // namespace heddle::sim::machine
