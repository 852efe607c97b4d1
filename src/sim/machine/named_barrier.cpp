// SPDX-License-Identifier: Apache-2.0
//
// PTX: bar, barrier.
#include "sim/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace heddle::sim::machine {

void Machine::check_named_operands(const Thread& thread, std::uint32_t id, std::uint32_t threads,
                                   CallSite site) const {
  if (id >= 16) {
    fault(&thread, site, "named_barrier",
          fmt::format("named barrier {}; a CTA has 16, numbered 0 to 15", id));
  }
  if (threads == 0 || threads % 32 != 0) {
    fault(&thread, site, "named_barrier",
          fmt::format("named barrier {} with {} threads; the count is a multiple of 32, {} would pass", id, threads,
                      (threads / 32 + 1) * 32));
  }
  if (threads > (threads_per_cta_ + 31) / 32 * 32) {
    fault(&thread, site, "named_barrier",
          fmt::format("named barrier {} waits for {} threads, but the CTA has {}", id, threads, threads_per_cta_));
  }
  const NamedBarrier& barrier = thread.cta->named[id];
  if (barrier.threads != 0 && barrier.threads != threads) {
    fault(&thread, site, "named_barrier",
          fmt::format("named barrier {} with {} threads, but others use it with {} in the same round", id, threads,
                      barrier.threads),
          {"likely: two groups of warps share one barrier id"});
  }
  if ((barrier.lanes[thread.warp()] & 1u << thread.lane()) != 0) {
    fault(&thread, site, "named_barrier",
          fmt::format("a thread arrives twice on named barrier {} in one round; {} of {} threads are here", id,
                      barrier.arrived, barrier.threads),
          {"likely: a barrier is used again before every thread of the last round has gone through it"});
  }
}

void Machine::named_arrive(Thread& thread, std::uint32_t id, std::uint32_t threads, CallSite site) {
  check_named_operands(thread, id, threads, site);
  Cta& cta = *thread.cta;
  NamedBarrier& barrier = cta.named[id];
  barrier.threads = threads;
  const std::uint32_t lanes = barrier.lanes[thread.warp()] |= 1u << thread.lane();
  // The hardware counts warps, so one that is not full is 32 threads all the same.
  const std::uint32_t exist = std::min(32u, threads_per_cta_ - 32 * thread.warp());
  barrier.arrived += static_cast<std::uint32_t>(std::popcount(lanes)) == exist ? 33 - exist : 1;
  changed();
  if (wants(EventKind::kNamedArrive)) {
    emit({.kind = EventKind::kNamedArrive, .cta = cta.linear, .thread = thread.tid, .value = id, .site = site});
  }
  if (barrier.arrived < threads) return;
  for (std::size_t w = 0; w < cta.warps.size(); ++w) {
    if (barrier.lanes[w] != 0 && (barrier.lanes[w] & cta.warps[w].live) != cta.warps[w].live) {
      fault(&thread, site, "divergence",
            fmt::format("named barrier {} was reached by {} of {} lanes of warp {}; a warp arrives as a whole", id,
                        std::popcount(barrier.lanes[w]), std::popcount(cta.warps[w].live), w));
    }
  }
  barrier.reset();
  for (std::uint32_t t = 0; t < threads_per_cta_; ++t) {
    Thread& waiter = cta.threads[t];
    if (waiter.state == ThreadState::kBlocked && waiter.wait.kind == WaitKind::kNamedBarrier &&
        waiter.wait.id == id) {
      make_ready(waiter);
      if (wants(EventKind::kNamedPass)) {
        emit({.kind = EventKind::kNamedPass,
              .cta = cta.linear,
              .thread = waiter.tid,
              .value = id,
              .site = waiter.wait.site});
      }
    }
  }
}

bool Machine::bar_sync(Thread& thread, std::uint32_t id, std::uint32_t threads, CallSite site) {
  named_arrive(thread, id, threads, site);
  if (thread.cta->named[id].arrived != 0) {
    block(thread, {.kind = WaitKind::kNamedBarrier, .id = id, .site = site});
    return false;
  }
  if (wants(EventKind::kNamedPass)) {
    emit({.kind = EventKind::kNamedPass,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .value = id,
          .site = site});
  }
  return true;
}

void Machine::bar_arrive(Thread& thread, std::uint32_t id, std::uint32_t threads, CallSite site) {
  named_arrive(thread, id, threads, site);
}

}  // namespace heddle::sim::machine
