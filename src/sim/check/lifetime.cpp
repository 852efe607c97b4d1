// SPDX-License-Identifier: Apache-2.0
#include "sim/check/lifetime.h"

#include "sim/machine/tma.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::sim::check {

// Model: a warp has come so far when one of its lanes has; that lanes wait at different places is not followed.
bool Lifetime::has_come(const Clock& clock, const WarpOrder& warp, Epoch epoch) {
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    if (clock.met(warp.component(lane)) >= epoch) return true;
  }
  return false;
}

bool Lifetime::has_started(const Clock& clock, const CtaOrder& cta) {
  return std::any_of(cta.warps.begin(), cta.warps.end(),
                     [&](const WarpOrder& warp) { return has_come(clock, warp, 1); });
}

Lifetime::Barrier& Lifetime::barrier_of(std::uint32_t id) {
  if (barriers_.size() <= id) barriers_.resize(id + 1);
  return barriers_[id];
}

Lifetime::Use& Lifetime::use_of(Barrier& barrier, const WarpOrder& warp) {
  for (Use& use : barrier.uses) {
    if (use.warp == &warp) return use;
  }
  barrier.uses.push_back({.warp = &warp});
  return barrier.uses.back();
}

void Lifetime::note(const CtaOrder& cta, std::uint32_t key, const Reach& reach) {
  reached_[cta.linear][key] = reach;
}

bool Lifetime::stops_for_peer(const ThreadOrder& by, const CtaOrder& peer, const char* what, CallSite site) {
  note(peer, by.warp->component(by.lane), {.by = &by, .epoch = by.warp->now, .what = what, .site = site});
  if (has_started(by.known, peer)) return false;
  return sink_.stops(FaultCode::kPeerNotStarted, {site}, [&] {
    return Finding{
        .headline = fmt::format("{} of the shared memory of {}, which is not known to have started", what,
                                report_.block(peer.linear)),
        .details = {report_.line(by, what, site),
                    fmt::format("likely: no cluster barrier between the start and the first use of a peer's "
                                "shared memory; the thread has acquired nothing from {}",
                                report_.block(peer.linear))}};
  });
}

bool Lifetime::stops_for_pair(const ThreadOrder& by, bool is_alloc, CallSite site) {
  const CtaOrder& cta = *by.warp->cta;
  const CtaOrder& peer = *cta.cluster->ctas[cta.rank ^ 1];
  if (has_started(order_.known_to(*by.warp), peer)) return false;
  const char* what = is_alloc ? "tcgen05.alloc" : "tcgen05.dealloc";
  // The CTAs of a cluster start together, and an allocation waits for its peer's: NVIDIA's own code relies on it.
  const Verdict verdict = is_alloc ? Verdict::kFormal : Verdict::kWrong;
  return sink_.stops(FaultCode::kPeerNotStarted, verdict, {site}, [&] {
    return Finding{
        .headline = fmt::format("{}.cta_group::2 together with {}, which is not known to have started", what,
                                report_.block(peer.linear)),
        .details = {report_.line(by, what, site),
                    fmt::format("likely: no cluster barrier before it; the warp has acquired nothing from {}",
                                report_.block(peer.linear))}};
  });
}

Lifetime::Use& Lifetime::use(const ThreadOrder& by, std::uint32_t barrier, CallSite site) {
  Use& use = use_of(barrier_of(barrier), *by.warp);
  use.epoch = by.warp->now;
  use.site = site;
  return use;
}

void Lifetime::use_and_reach(const ThreadOrder& by, std::uint32_t barrier, CallSite site) {
  use(by, barrier, site);
  const BarrierOrder& order = order_.barrier(barrier);
  if (by.warp->cta == order.cta) return;
  note(*order.cta, by.warp->component(by.lane),
       {.by = &by,
        .epoch = by.warp->now,
        .barrier = &order,
        .phases = order.time->reached + 1,
        .what = "mbarrier.arrive",
        .site = site});
}

Lifetime::Phase& Lifetime::phase_of(const BarrierOrder& barrier) {
  const Epoch number = barrier.time->reached + 1;
  std::array<Phase, 3>& phases = barrier_of(barrier.id).phases;
  Phase& phase = phases[number % phases.size()];
  if (phase.number != number) phase = {.number = number, .is_of_threads = true, .arrivals = {}};
  return phase;
}

bool Lifetime::knows_arrivals(const Phase& phase, const ThreadOrder& thread) {
  const Component self = thread.warp->component(thread.lane);
  return phase.is_of_threads && !phase.arrivals.empty() &&
         std::all_of(phase.arrivals.begin(), phase.arrivals.end(), [&](const auto& arrival) {
           return arrival.first == self || thread.known[arrival.first] >= arrival.second;
         });
}

void Lifetime::on(const event::BarrierExpect& event) {
  const ThreadOrder& by = order_.thread(event);
  phase_of(order_.barrier(event.barrier)).is_of_threads = false;
  barrier_of(event.barrier).counted_by = &by;
  use_and_reach(by, event.barrier, event.site);
}

void Lifetime::on(const event::BarrierBlock& event) {
  use_and_reach(order_.thread(event), event.barrier, event.site);
}

void Lifetime::on(const event::AsyncArrive& event) {
  phase_of(order_.barrier(event.barrier)).is_of_threads = false;
  use_and_reach(order_.thread(event), event.barrier, event.site);
}

void Lifetime::on(const event::BarrierPass& event) {
  const ThreadOrder& by = order_.thread(event);
  Use& last = use(by, event.barrier, event.site);
  if (event.phase + 1 == 0) return;
  last.phase = event.phase + 1;
  last.passed = by.warp->now;
  last.lane = by.lane;
  last.pass_site = event.site;
}

void Lifetime::on(const event::BarrierArrive& event) {
  const BarrierOrder& order = order_.barrier(event.barrier);
  const ThreadOrder& by = order_.thread(event);
  Barrier& barrier = barrier_of(event.barrier);
  barrier.counted_by = nullptr;
  barrier.last_arrival = &by;
  barrier.last_arrival_phase = order.time->reached;
  barrier.last_arrival_site = event.site;
  Phase& phase = phase_of(order);
  if (event.commit != 0) phase.is_of_threads = false;
  else if (phase.is_of_threads) phase.arrivals.emplace_back(by.warp->component(by.lane), by.warp->now);
  if (event.commit == 0) return use_and_reach(by, event.barrier, event.site);
  // A commit comes on its own, long after its thread has gone on; who knows the phase knows it.
  use_of(barrier, *by.warp);
  barrier.commits_until = order.time->reached + 1;
  barrier.commit_by = &by;
  barrier.commit_number = order_.commit_clock(event.commit)[by.tcgen05.component];
  barrier.commit_site = event.site;
  if (by.warp->cta == order.cta) return;
  // PTX: Asynchronous Operations (tcgen05): commits are in order with the other operations of their thread. So
  // the last one of a thread stands for all, and who knows of a later one knows that it has arrived.
  note(*order.cta, by.tcgen05.component,
       {.by = &by,
        .epoch = barrier.commit_number,
        .barrier = &order,
        .phases = order.time->reached + 1,
        .what = "tcgen05.commit",
        .site = event.site});
}

bool Lifetime::has_arrived(const BarrierOrder& barrier, const ThreadOrder& thread) {
  const Barrier& known = barrier_of(barrier.id);
  return known.last_arrival == &thread && known.last_arrival_phase == barrier.time->reached;
}

void Lifetime::complete_by_hand(const event::BarrierComplete& event) {
  barrier_of(event.barrier).counted_by = &order_.thread(event);
  phase_of(order_.barrier(event.barrier)).is_of_threads = false;
}

void Lifetime::complete_on_barrier(const event::BarrierComplete& event) {
  const BarrierOrder& order = order_.barrier(event.barrier);
  Barrier& barrier = barrier_of(event.barrier);
  const IssuedCopy& copy = order_.copy(event.copy);
  phase_of(order).is_of_threads = false;
  barrier.counted_by = nullptr;
  barrier.copies_until = order.time->reached + 1;
  barrier.last_copy = event.copy;
  note(*order.cta, order.time->component,
       {.by = copy.issuer,
        .epoch = ~Epoch{0},
        .barrier = &order,
        .phases = barrier.copies_until,
        .what = machine::name_of(copy.kind),
        .copy = event.copy,
        .site = copy.site});
}

bool Lifetime::stops_for_inval(const event::BarrierInval& event) {
  const BarrierOrder& order = order_.barrier(event.barrier);
  const ThreadOrder& by = order_.thread(event);
  const Barrier barrier = std::move(barrier_of(event.barrier));
  barrier_of(event.barrier) = {};
  if (by.known[order.time->component] < barrier.copies_until) {
    const IssuedCopy& copy = order_.copy(barrier.last_copy);
    const bool stops = sink_.stops(FaultCode::kBarrierInUse, {copy.site, event.site}, [&] {
      return Finding{
          .headline = fmt::format("mbarrier.inval of {}, on which a {} of {} bytes is not known to be complete",
                                  report_.name_of(order), machine::name_of(copy.kind), copy.bytes),
          .details = {report_.line(*copy.issuer, machine::name_of(copy.kind), copy.site),
                      report_.line(by, "mbarrier.inval", event.site),
                      "likely: the thread that invalidates does not wait for the last phase"}};
    });
    if (stops) return true;
  }
  if (by.known[order.time->component] < barrier.commits_until &&
      by.known[barrier.commit_by->tcgen05.component] < barrier.commit_number) {
    const bool stops = sink_.stops(FaultCode::kBarrierInUse, {barrier.commit_site, event.site}, [&] {
      return Finding{
          .headline = fmt::format("mbarrier.inval of {}, on which a tcgen05.commit is not known to have arrived",
                                  report_.name_of(order)),
          .details = {report_.line(*barrier.commit_by, "tcgen05.commit", barrier.commit_site),
                      report_.line(by, "mbarrier.inval", event.site),
                      "likely: the thread that invalidates does not wait for the last phase"}};
    });
    if (stops) return true;
  }
  for (const Use& use : barrier.uses) {
    if (use.warp == by.warp || use.epoch == 0 || has_come(by.known, *use.warp, use.epoch)) continue;
    const ThreadOrder& user = use.warp->cta->threads[use.warp->first_thread + use.lane];
    const bool stops = sink_.stops(FaultCode::kBarrierInUse, {use.site, event.site}, [&] {
      return Finding{
          .headline =
              fmt::format("mbarrier.inval of {}, which another warp may still use", report_.name_of(order)),
          .details = {report_.line(user, "uses it", use.site), report_.line(by, "mbarrier.inval", event.site),
                      "likely: nothing is between the two; bar_sync() before it is invalidated"}};
    });
    if (stops) return true;
  }
  return false;
}

// A thread that waits for a phase sees its parity, which is the same again two phases later. It must have looked
// before the next phase is over, so one of those who complete the next phase must come after the wait.
bool Lifetime::stops_for_phase(const event::BarrierPhase& event) {
  const BarrierOrder& order = order_.barrier(event.barrier);
  Barrier& barrier = barrier_of(event.barrier);
  for (Use& use : barrier.uses) {
    if (use.phase == 0 || use.phase > event.phase) continue;
    const std::uint64_t phase = std::exchange(use.phase, 0) - 1;
    if (phase + 1 != event.phase || has_come(order.passed_all, *use.warp, use.passed)) continue;
    // Bytes that a thread counts end the phase where it counts them.
    const ThreadOrder* const by = barrier.counted_by;
    if (by != nullptr && (by->warp == use.warp || has_come(by->known, *use.warp, use.passed))) continue;
    const ThreadOrder& waiter = use.warp->cta->threads[use.warp->first_thread + use.lane];
    const bool stops = sink_.stops(FaultCode::kLostPhase, {use.pass_site, barrier.last_arrival_site}, [&] {
      Finding finding{
          .headline =
              fmt::format("{} can complete phase {} before warp {} has seen the end of phase {}",
                          report_.name_of(order), event.phase & 1, use.warp->first_thread / 32, phase & 1),
          .details = {report_.line(waiter, fmt::format("waits for phase {}", phase & 1), use.pass_site)}};
      if (barrier.last_arrival != nullptr) {
        finding.details.push_back(report_.line(*barrier.last_arrival,
                                               fmt::format("arrives in phase {}", event.phase & 1),
                                               barrier.last_arrival_site));
      }
      finding.details.emplace_back(
          "likely: no arrival of the next phase comes after the wait; a waiter that is late takes the phase "
          "after for the one that it waits for, or waits for ever");
      return finding;
    });
    if (stops) return true;
  }
  return false;
}

// A wait for a parity passes at once as long as the phase before the awaited one is not over: it then takes the
// one before that for its own. So whoever waits must know that the phase before is over: by a wait, its own or of
// somebody it has met, or by all of the arrivals that ended it.
bool Lifetime::stops_for_parity(const event::BarrierPass& event) {
  if (!event.is_by_parity || event.phase == 0 || event.phase + 1 == 0) return false;
  const BarrierOrder& order = order_.barrier(event.barrier);
  const ThreadOrder& by = order_.thread(event);
  const Component phases = order.time->component;
  const Epoch before = order.time->reached - 1;
  const std::array<Phase, 3>& ended = barrier_of(event.barrier).phases;
  const Phase& previous = ended[before % ended.size()];
  const auto knows = [&](const ThreadOrder& thread) {
    return thread.known.met(phases) >= before || (previous.number == before && knows_arrivals(previous, thread));
  };
  if (knows(by)) return false;
  // Model: as in has_come(), one lane stands for its warp.
  const auto first = by.warp->cta->threads.begin() + by.warp->first_thread;
  const auto end = by.warp->cta->threads.end();
  if (std::any_of(first, first + std::min<std::ptrdiff_t>(32, end - first), knows)) return false;
  return sink_.stops(FaultCode::kLostPhase, {event.site}, [&] {
    const std::uint64_t phase = event.phase & 1;
    return Finding{
        .headline = fmt::format("warp {} can pass its wait for phase {} of {} before phase {} has ended",
                                by.warp->first_thread / 32, phase, report_.name_of(order), phase ^ 1),
        .details = {
            report_.line(by, fmt::format("waits for phase {}", phase), event.site),
            "likely: the warp has not waited for the phase before, nor met anybody who has; until that ends "
            "a wait for the other parity passes at once"}};
  });
}

void Lifetime::on(const event::CopyIssue& event) {
  if (is_store(event.kind)) stores_[event.cta][event.thread] = event.copy;
}

// PTX: cp.async.bulk.wait_group: until then a store may still read the shared memory, whether or not it does so
// in this run. Groups are waited for in order, so that the last store of a thread stands for all.
bool Lifetime::stops_for_stores(const CtaOrder& cta) {
  const auto found = stores_.find(cta.linear);
  if (found == stores_.end()) return false;
  const auto stores = std::move(found->second);
  stores_.erase(found);
  for (const auto& [thread, id] : stores) {
    const IssuedCopy& copy = order_.copy(id);
    if (cta.threads[thread].known[copy.groups] >= copy.group) continue;
    const bool is_committed = cta.threads[thread].commits >= copy.group;
    const bool stops = sink_.stops(FaultCode::kExitInFlight, Verdict::kFormal, {copy.site}, [&, tid = thread] {
      const char* name = machine::name_of(copy.kind);
      return Finding{
          .headline =
              fmt::format("{} exits, and the thread that issued a {} of {} bytes has not waited for it",
                          report_.has_one_cta() ? "the CTA" : report_.block(cta.linear), name, copy.bytes),
          .details = {report_.line(cta.threads[tid], name, copy.site),
                      is_committed ? "no cp.async.bulk.wait_group of this thread covers it"
                                   : "no cp.async.bulk.commit_group follows it, so that no wait covers it"}};
    });
    if (stops) return true;
  }
  return false;
}

bool Lifetime::stops_for_exit(const CtaOrder& cta) {
  if (stops_for_stores(cta)) return true;
  const auto found = reached_.find(cta.linear);
  if (found == reached_.end()) return false;
  const auto reaches = std::move(found->second);
  reached_.erase(found);
  const Clock last = order_.known_at_exit(cta);
  for (const auto& [component, reach] : reaches) {
    if (reach.barrier != nullptr && last.met(reach.barrier->time->component) >= reach.phases) continue;
    if (reach.epoch != ~Epoch{0} && last.met(component) >= reach.epoch) continue;
    const bool is_own = reach.copy != 0 && reach.by->warp->cta == &cta;
    const FaultCode code = is_own ? FaultCode::kExitInFlight : FaultCode::kExitedCta;
    const bool stops = sink_.stops(code, {reach.site}, [&, &reach = reach] {
      const std::string block = report_.has_one_cta() ? "the CTA" : report_.block(cta.linear);
      return Finding{
          .headline =
              is_own ? fmt::format("{} exits, and none of its threads knows that a {} on its shared memory is "
                                   "complete",
                                   block, reach.what)
                     : fmt::format("{} can have exited when a {} reaches it: it waits for nothing that comes "
                                   "after",
                                   block, reach.what),
          .details = {report_.line(*reach.by, reach.what, reach.site),
                      is_own ? "likely: drain the pipeline, or wait for the barrier's last phase"
                             : "likely: no cluster barrier before the end, and no wait for the last phase of the "
                               "barriers that peers reach; a CTA must stay until its peers are done with it"}};
    });
    if (stops) return true;
  }
  return false;
}

}  // namespace heddle::sim::check
