// SPDX-License-Identifier: Apache-2.0
#include "sim/check/order.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace heddle::sim::check {

namespace {

Component add_components(ClusterOrder& cluster, std::uint32_t count) {
  const Component first = cluster.components;
  cluster.components += count;
  return first;
}

// The components of a warp's marks are made when one of its lanes sets the first.
void mark(const ThreadOrder& thread, Component& block) {
  if (block == 0) block = add_components(*thread.warp->cta->cluster, 32);
}

}  // namespace

void Order::on(const event::NamedArrive& event) {
  ThreadOrder& from = thread(event);
  release(from, from.warp->cta->named[event.id].arriving);
}

void Order::on(const event::NamedPass& event) {
  ThreadOrder& to = thread(event);
  CtaOrder::Named& named = to.warp->cta->named[event.id];
  // The machine lets all of a round pass before anyone arrives in the next.
  if (!named.arriving.is_empty()) named.passed = named.arriving.finish(pool_);
  take(to, named.passed);
}

// What the thread has given to a barrier, with what others have: it includes what it knew.
void Order::take(ThreadOrder& thread, const Clock& shared) {
  thread.known = shared;
  if (thread.copies_over == 0) return;
  thread.copies_over = 0;
  if (--apart_count_ == 0) apart_.clear();
}

void Order::on(const event::CopyDone& event) { copies_[event.copy - 1].known = {}; }

void Order::on(const event::GroupCommit& event) { ++thread(event).commits; }

void Order::on(const event::Role& event) { thread(event).role = event.name; }

void Order::on(const event::MmaDone& event) {
  // A load that comes too late is judged by what the multiplication knew.
  done_tcgen05_.push_back(event.operation);
  if (mmas_[event.operation - 1].is_tcgen05 && done_tcgen05_.size() < 128) return;
  for (IssuedMma::Part& part : mmas_[done_tcgen05_.front() - 1].parts) part.known = part.tcgen05_known = {};
  done_tcgen05_.pop_front();
}

void Order::on(const event::ThreadExit& event) {
  ThreadOrder& by = thread(event);
  by.has_exited = by.warp->cta->cluster->has_exits = true;
}

void Order::on(const event::CtaStart& event) {
  std::unique_ptr<ClusterOrder>& cluster = clusters_[event.cluster];
  if (cluster == nullptr) cluster = std::make_unique<ClusterOrder>();
  cluster->number = event.cluster;
  const std::uint32_t threads = event.threads;
  auto cta = std::make_unique<CtaOrder>();
  cta->cluster = cluster.get();
  cta->linear = event.cta;
  cta->rank = event.rank;
  cta->threads.resize(threads);
  for (std::uint32_t t = 0; t < threads; ++t) {
    if (t % 32 == 0) {
      WarpOrder& warp = cta->warps.emplace_back();
      warp.index = add_components(*cluster, 32) / 32;
      warp.cta = cta.get();
      warp.first_thread = t;
      warp.cluster = static_cast<std::uint32_t>(cluster->number);
      cluster->warps.push_back(&warp);
    }
    cta->threads[t].warp = &cta->warps.back();
    cta->threads[t].lane = t % 32;
  }
  ctas_.set(event.cta, cta.get());
  if (cluster->ctas.size() <= cta->rank) cluster->ctas.resize(cta->rank + 1);
  cluster->ctas[cta->rank] = std::move(cta);
  ++cluster->running;
}

void Order::on(const event::CtaExit& event) {
  ClusterOrder& cluster = *ctas_[event.cta]->cluster;
  if (--cluster.running != 0) return;
  std::vector<Departed> departed;
  for (const WarpOrder* warp : cluster.warps) {
    departed.push_back({warp->cta->linear, warp->first_thread, warp->cta->threads[warp->first_thread].role});
  }
  for (const std::unique_ptr<CtaOrder>& cta : cluster.ctas) {
    for (std::uint32_t id : cta->barriers) barriers_[id] = {};
    ctas_.erase(cta->linear);
  }
  departed_.add(cluster.number, std::move(departed));
  clusters_.erase(cluster.number);
}

// What the thread knows and has done goes to the gather.
void Order::give(const ThreadOrder& thread, Gather& gather) {
  const WarpOrder& warp = *thread.warp;
  gather.add(pool_, thread.known);
  gather.add(warp.component(thread.lane), warp.now);
  for (std::size_t kind = 0; kind < kFencedKinds; ++kind) {
    const Epoch epoch = thread.proxy_fences[kind];
    if (epoch != 0) gather.add_fenced(static_cast<Fenced>(kind), warp.component(thread.lane), epoch);
  }
  if (thread.init_fence != 0) gather.add(warp.init_fences + thread.lane, thread.init_fence);
  if (warp.tmem != 0) give_tmem(thread, gather);
  if (thread.copies_over != 0) gather.add(warp.async_copies + thread.lane, thread.copies_over);
}

void Order::give_tmem(const ThreadOrder& thread, Gather& gather) {
  const WarpOrder& warp = *thread.warp;
  for (std::size_t kind = 0; kind < 2; ++kind) {
    gather.add(warp.tmem_issues(kind), warp.tmem_issued[kind]);
    gather.add(warp.tmem_waits(kind), warp.tmem_waited[kind]);
    gather.add(warp.tmem_fences(kind), thread.tmem_fenced[kind]);
  }
}

void Order::release(ThreadOrder& thread, Gather& gather) {
  give(thread, gather);
  thread.last_release = thread.warp->now++;
}

// Others see that the thread has come so far, and acquire nothing from it.
void Order::give_met(ThreadOrder& thread, Gather& gather) {
  give(thread, meeting_);
  gather.add_met(meeting_.finish(pool_));
  ++thread.warp->now;
}

void Order::acquire(ThreadOrder& thread, const Clock& clock) {
  WarpOrder& warp = *thread.warp;
  warp.lanes_know_apart = true;
  if (!warp.joined_with.is_same(thread.known) || !warp.joined_from.is_same(clock)) {
    warp.joined_with = thread.known;
    warp.joined_from = clock;
    warp.joined = pool_.join(thread.known, clock);
  }
  thread.known = warp.joined;
}

// What the lanes of a whole warp have acquired, if not each of them the same.
Clock Order::known_together(const CtaOrder& cta, std::uint32_t first_thread) {
  const Clock& first = cta.threads[first_thread].known;
  Clock all = first;
  bool is_one = true;
  for (std::uint32_t lane = 1; lane < 32; ++lane) {
    const Clock& known = cta.threads[first_thread + lane].known;
    if (known.is_same(first)) continue;
    all = pool_.join(all, known);
    is_one = false;
  }
  return is_one ? Clock{} : all;
}

// PTX: bar.warp.sync orders memory among the lanes that take part. Elections, shuffles and votes do not.
void Order::on(const event::WarpMeet& event) {
  CtaOrder& cta = *ctas_[event.cta];
  const std::uint32_t first = event.thread / 32 * 32;
  WarpOrder& warp = *cta.threads[first].warp;
  if (!event.orders) {
    if (event.lanes == ~std::uint32_t{0}) {
      warp.exchanged = warp.now++;
      if (std::exchange(warp.lanes_know_apart, false)) warp.exchanged_known = known_together(cta, first);
    }
    return;
  }
  for (std::uint32_t lanes = event.lanes; lanes != 0; lanes &= lanes - 1) {
    ThreadOrder& thread = cta.threads[first + static_cast<std::uint32_t>(std::countr_zero(lanes))];
    give(thread, meeting_);
    thread.last_release = warp.now;
  }
  const Clock met = meeting_.finish(pool_);
  for (std::uint32_t lanes = event.lanes; lanes != 0; lanes &= lanes - 1) {
    take(cta.threads[first + static_cast<std::uint32_t>(std::countr_zero(lanes))], met);
  }
  ++warp.now;
}

void Order::on(const event::Fence& event) {
  ThreadOrder& by = thread(event);
  WarpOrder& warp = *by.warp;
  switch (event.kind) {
    case FenceKind::kProxyAsync:
    case FenceKind::kProxyAsyncSharedCta:
    case FenceKind::kProxyAsyncGlobal: return fence_proxy(by, event.kind);
    case FenceKind::kMbarrierInit:
      mark(by, warp.init_fences);
      by.init_fence = warp.now++;
      return;
    case FenceKind::kAcqRelCta: return fence_memory(by, MemoryScope::kCta);
    case FenceKind::kAcqRelCluster: return fence_memory(by, MemoryScope::kCluster);
    case FenceKind::kAcqRelGpu: return fence_memory(by, MemoryScope::kGpu);
    case FenceKind::kAcquireCta: return acquire_observed(by, MemoryScope::kCta);
    case FenceKind::kAcquireCluster: return acquire_observed(by, MemoryScope::kCluster);
    case FenceKind::kAcquireGpu: return acquire_observed(by, MemoryScope::kGpu);
    case FenceKind::kReleaseCta: return release_to_writes(by, MemoryScope::kCta);
    case FenceKind::kReleaseCluster: return release_to_writes(by, MemoryScope::kCluster);
    case FenceKind::kReleaseGpu: return release_to_writes(by, MemoryScope::kGpu);
    case FenceKind::kTcgen05Before: by.tmem_fenced = warp.tmem_waited; return;
    case FenceKind::kTcgen05After: by.tcgen05_known = by.known; return;
    case FenceKind::kTensorMapRelease: return fence_maps(by, true);
    case FenceKind::kTensorMapAcquire: return fence_maps(by, false);
    case FenceKind::kGridWait:
    case FenceKind::kLaunchDependents: return;
  }
}

// PTX: fence.proxy.async: whatever the thread has done or knows by now is ordered against the async proxy for all
// who come to know it from here.
void Order::fence_proxy(ThreadOrder& by, FenceKind kind) {
  WarpOrder& warp = *by.warp;
  const bool shared = kind != FenceKind::kProxyAsyncGlobal;
  const bool global = kind != FenceKind::kProxyAsyncSharedCta;
  if (shared) by.proxy_fences[static_cast<std::size_t>(Fenced::kShared)] = warp.now;
  if (global) by.proxy_fences[static_cast<std::size_t>(Fenced::kGlobal)] = warp.now;
  ++warp.now;
  if (warp.fence != kind || !warp.fence_of.is_same(by.known)) {
    warp.fence = kind;
    warp.fence_of = by.known;
    warp.fenced = pool_.fence(by.known, shared, global);
  }
  by.known = warp.fenced;
}

// PTX: fence.proxy.tensormap::generic: a release of what was written through the generic proxy, and on the way
// from it to the copy that takes the map an acquire. Model: the acquire is not confined to the map that it names.
void Order::fence_maps(ThreadOrder& by, bool releases) {
  Epoch& released = by.proxy_fences[static_cast<std::size_t>(Fenced::kMapReleased)];
  if (releases) {
    released = by.warp->now++;
    by.known = pool_.release_maps(by.known);
  } else {
    by.proxy_fences[static_cast<std::size_t>(Fenced::kMapAcquired)] = released;
    by.known = pool_.acquire_maps(by.known);
  }
}

// A relaxed arrival hands over what fences before it have released, and that the thread was here.
void Order::on(const event::ClusterArrive& event) {
  ThreadOrder& from = thread(event);
  WarpOrder& warp = *from.warp;
  ClusterOrder::Round& round = warp.cta->cluster->rounds[++from.cluster_rounds % 2];
  if (round.number != from.cluster_rounds) {
    round.number = from.cluster_rounds;
    round.arriving.clear();
    round.passed = {};
  }
  if (event.releases) return release(from, round.arriving);
  mark(from, warp.relaxed_arrivals);
  round.arriving.add(warp.relaxed_arrivals + from.lane, warp.now);
  round.arriving.add(pool_, from.fenced[index_of(MemoryScope::kCluster)]);
  if (from.init_fence != 0) round.arriving.add(warp.init_fences + from.lane, from.init_fence);
  give_met(from, round.arriving);
}

void Order::on(const event::ClusterPass& event) {
  ThreadOrder& to = thread(event);
  ClusterOrder& cluster = *to.warp->cta->cluster;
  ClusterOrder::Round& round = cluster.rounds[to.cluster_rounds % 2];
  if (!round.arriving.is_empty()) {
    // PTX: barrier.cluster: threads that have exited count as arrived.
    for (const std::unique_ptr<CtaOrder>& cta : cluster.ctas) {
      if (!cluster.has_exits || cta == nullptr) continue;
      for (const ThreadOrder& other : cta->threads) {
        if (other.has_exited && other.cluster_rounds < to.cluster_rounds) give(other, meeting_);
      }
    }
    round.arriving.add_met(meeting_.finish(pool_));
    round.passed = round.arriving.finish(pool_);
  }
  acquire(to, round.passed);
}

void Order::on(const event::BarrierInit& event) {
  if (barriers_.size() <= event.barrier) barriers_.resize(event.barrier + 1);
  ThreadOrder& by = thread(event);
  CtaOrder& cta = *by.warp->cta;
  BarrierOrder& barrier = barriers_[event.barrier];
  barrier = {};
  barrier.id = event.barrier;
  barrier.cta = &cta;
  barrier.place = static_cast<std::uint32_t>(cta.barriers.size());
  cta.barriers.push_back(event.barrier);
  barrier.time = &cta.cluster->barrier_times[event.address];
  if (barrier.time->component == 0) {
    barrier.time->component = add_components(*cta.cluster, 1);
    cta.cluster->engines.push_back(barrier.time->component);
  }
  barrier.time->barrier = event.barrier;
  barrier.initialiser = &by;
  barrier.initialised = by.warp->now;
  barrier.site = event.site;
}

// What the clock says of copies that have landed and of operations that tensor cores have completed.
void Order::give_engines(const ClusterOrder& cluster, const Clock& known, Gather& gather) {
  has_told_engines_apart_ = true;
  for (const Component engine : cluster.engines) {
    if (const Epoch epoch = known[engine]; epoch != 0) gather.add(engine, epoch);
  }
}

void Order::on(const event::BarrierArrive& event) {
  ThreadOrder& from = thread(event);
  BarrierOrder& barrier = barriers_[event.barrier];
  if (event.scope == EventScope::kRelaxed) {
    // PTX: Release and Acquire Patterns: a fence before it makes a release of it.
    const bool is_own = from.warp->cta == barrier.cta;
    Gather& released = is_own ? barrier.own : barrier.remote;
    released.add(pool_, from.fenced[index_of(is_own ? MemoryScope::kCta : MemoryScope::kCluster)]);
    give_engines(*barrier.cta->cluster, from.known, barrier.engines);
    give_met(from, barrier.own);
  } else if (event.commit != 0) {
    Clock& told = commits_[event.commit - 1];
    barrier.own.add(pool_, told);
    if (event.left == 0) told = {};
  } else if (from.warp->cta == barrier.cta) {
    release(from, barrier.own);
  } else if (event.scope == EventScope::kCluster) {
    // PTX: a wait of any scope will do for what the tcgen05 fences order.
    if (from.warp->tmem != 0) give_tmem(from, barrier.own);
    release(from, barrier.remote);
    barrier.remote_by = &from;
    barrier.remote_site = event.site;
  } else {
    give_met(from, barrier.own);
  }
}

// An arrival is an update of the barrier that later ones build on, so that what was released to earlier
// phases is known as well. Copies release their own bytes, which the barrier's component stands for.
void Order::on(const event::BarrierPhase& event) {
  BarrierOrder& barrier = barriers_[event.barrier];
  if (!barrier.remote.is_empty()) {
    barrier.remote.add(pool_, barrier.passed_remote);
    barrier.passed_remote = barrier.remote.finish(pool_);
  }
  barrier.own.add(barrier.time->component, ++barrier.time->reached);
  barrier.own.add(pool_, barrier.passed_own);
  barrier.own.add_met(barrier.passed_remote);
  barrier.passed_own = barrier.own.finish(pool_);
  barrier.passed_all = pool_.join(barrier.passed_own, barrier.passed_remote);
  if (!barrier.engines.is_empty()) {
    barrier.engines.add(pool_, barrier.passed_engines);
    barrier.passed_engines = barrier.engines.finish(pool_);
    barrier.passed_own = pool_.join(barrier.passed_own, barrier.passed_engines);
    barrier.passed_all = pool_.join(barrier.passed_all, barrier.passed_engines);
  }
}

void Order::on(const event::BarrierPass& event) {
  const std::uint64_t phase = event.phase + 1;
  ThreadOrder& to = thread(event);
  const BarrierOrder& barrier = barriers_[event.barrier];
  if (to.turns.size() <= barrier.place) to.turns.resize(barrier.cta->barriers.size());
  ThreadOrder::Turn& turn = to.turns[barrier.place];
  if (phase == 0) {  // the phase before the first, which no one had to end
    turn.is_early = true;
    return;
  }
  if (turn.phase != phase) {
    turn = {.phase = phase, .released_before = to.last_release, .is_early = turn.is_early};
  } else if (turn.released_before != to.last_release) {
    turn.is_stale = true;
  }
  if (event.scope == EventScope::kRelaxed) {
    give_engines(*barrier.cta->cluster, barrier.passed_all, meeting_);
    meeting_.add_met(barrier.passed_all);
    acquire(to, meeting_.finish(pool_));
    // The rest is for a fence after it to acquire.
    const auto see = [&](MemoryScope scope, const Clock& clock) {
      to.observed[index_of(scope)] = pool_.join(to.observed[index_of(scope)], clock);
    };
    see(MemoryScope::kCta, barrier.passed_own);
    see(MemoryScope::kCluster, barrier.passed_all);
  } else if (event.scope != EventScope::kCta) {
    acquire(to, barrier.passed_all);
  } else if (has_told_engines_apart_ || to.known[barrier.time->component] < barrier.time->reached) {
    acquire(to, barrier.passed_own);
  }
}

// The copy comes after what its issuer has done so far, and what the issuer does next is not before it.
void Order::on(const event::CopyIssue& event) {
  ThreadOrder& by = thread(event);
  IssuedCopy& copy = copies_.emplace_back();
  copy.cluster = by.warp->cta->cluster;
  copy.issuer = &by;
  copy.cluster_number = copy.cluster->number;
  copy.self = by.warp->component(by.lane);
  copy.warp = by.warp->component(0);
  copy.source = event.address;
  copy.known = by.known;
  copy.issued = by.warp->now++;
  copy.proxy_fences = by.proxy_fences;
  copy.init_fence = by.init_fence;
  copy.bytes = event.bytes;
  copy.kind = event.kind;
  copy.is_async_reduction = event.is_async_reduction;
  copy.site = event.site;
  if (is_store(copy.kind)) join_group(by, copy);
}

// The copy is one of the thread's open bulk group. Model: a load, too, as far as its tensor map is concerned:
// CUTLASS waits so for maps to be read before it changes them.
void Order::join_group(ThreadOrder& by, IssuedCopy& copy) {
  if (by.groups == 0) by.groups = add_components(*copy.cluster, 2);
  copy.group = by.commits + 1;
  copy.groups = by.groups;
}

void Order::on(const event::CopyReadMap& event) { join_group(thread(event), copies_[event.copy - 1]); }

// PTX: cp.async.bulk.wait_group: with .read the sources have been read, and nothing is known of the writes.
void Order::on(const event::GroupPass& event) {
  ThreadOrder& to = thread(event);
  if (to.groups == 0 || event.pending >= to.commits) return;
  const Epoch done = to.commits - event.pending;
  const bool are_written = !event.read_only;
  if (to.known[to.groups + (are_written ? 1 : 0)] >= done) return;
  Gather gather;
  gather.add(pool_, to.known);
  gather.add(to.groups, done);
  if (are_written) gather.add(to.groups + 1, done);
  to.known = gather.finish(pool_);
}

void Order::on(const event::AsyncIssue& event) {
  ThreadOrder& by = thread(event);
  WarpOrder& warp = *by.warp;
  if (warp.async_copies == 0) {
    mark(by, warp.async_copies);
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      warp.cta->cluster->engines.push_back(warp.async_copies + lane);
  }
  by.async_copies.push_back(warp.now++);
}

void Order::on(const event::AsyncPass& event) {
  ThreadOrder& to = thread(event);
  const Component copies = to.warp->async_copies + to.lane;
  const auto done = static_cast<Epoch>(event.over);
  if (done == 0 || to.known[copies] >= done) return;
  if (to.copies_over == 0) {
    apart_.push_back(&to);
    ++apart_count_;
  }
  to.copies_over = std::max(to.copies_over, done);
}

void Order::settle() {
  for (ThreadOrder* thread : apart_) {
    if (thread->copies_over == 0) continue;
    Gather gather;
    gather.add(pool_, thread->known);
    gather.add(thread->warp->async_copies + thread->lane, std::exchange(thread->copies_over, 0));
    thread->known = gather.finish(pool_);
  }
  apart_.clear();
  apart_count_ = 0;
}

// The barrier's phase ends after the copies; what their thread has done besides is not handed over.
void Order::on(const event::AsyncArrive& event) {
  const ThreadOrder& from = thread(event);
  if (event.issued != 0) {
    barriers_[event.barrier].own.add(from.warp->async_copies + from.lane, static_cast<Epoch>(event.issued));
  }
}

void Order::on(const event::MmaIssue& event) { event.is_tcgen05 ? issue_tcgen05(event) : issue_wgmma(event); }

// The instruction makes the lanes of a warp meet, and its operands are read by none of them in particular:
// it is enough that one of them knows.
void Order::issue_wgmma(const event::MmaIssue& event) {
  WarpOrder& warp = *thread(event).warp;
  CtaOrder& cta = *warp.cta;
  if (event.operation > mmas_.size()) {
    const std::size_t warpgroup = event.thread / 128;
    if (cta.mma_times.size() <= warpgroup) cta.mma_times.resize(warpgroup + 1);
    CtaOrder::MmaTime& time = cta.mma_times[warpgroup];
    if (time.component == 0) {
      time.component = add_components(*cta.cluster, 1);
      cta.cluster->engines.push_back(time.component);
    }
    IssuedMma& mma = mmas_.emplace_back();
    mma.cluster = cta.cluster;
    mma.component = time.component;
    mma.number = ++time.issued;
    mma.site = event.site;
  }
  for (std::uint32_t lane = 0; lane < 32; ++lane) give(cta.threads[event.thread + lane], meeting_);
  mmas_[event.operation - 1].parts.push_back(
      {.warp = &warp, .issued = warp.now++, .known = meeting_.finish(pool_)});
}

void Order::issue_tcgen05(const event::MmaIssue& event) {
  ThreadOrder& by = thread(event);
  WarpOrder& warp = *by.warp;
  if (by.tcgen05.component == 0) by.tcgen05.component = add_components(*warp.cta->cluster, 1);
  IssuedMma& mma = mmas_.emplace_back();
  mma.cluster = warp.cta->cluster;
  mma.component = by.tcgen05.component;
  mma.number = ++by.tcgen05.issued;
  mma.name = event.name;
  mma.is_tcgen05 = true;
  mma.site = event.site;
  give(by, meeting_);
  mma.parts.push_back({.warp = &warp,
                       .issued = warp.now++,
                       .known = meeting_.finish(pool_),
                       .lane = by.lane,
                       .tcgen05_known = by.tcgen05_known,
                       .tmem_waited = warp.tmem_waited});
}

// PTX: tcgen05.commit tracks the asynchronous operations of the thread, and includes the fence before a
// synchronisation.
// Model: what the thread knew is handed over with them, since they came after it. Its own accesses are not: an
// arrival that the system makes need not release them.
// It has a number among the thread's operations: who knows of a later one knows that it has come.
void Order::on(const event::MmaTell& event) {
  ThreadOrder& by = thread(event);
  const WarpOrder& warp = *by.warp;
  if (by.tcgen05.component == 0) by.tcgen05.component = add_components(*warp.cta->cluster, 1);
  meeting_.add(pool_, by.known);
  meeting_.add_met(warp.component(by.lane), warp.now);
  meeting_.add(by.tcgen05.component, ++by.tcgen05.issued);
  for (std::size_t kind = 0; kind < 2 && warp.tmem != 0; ++kind) {
    meeting_.add(warp.tmem_issues(kind), warp.tmem_issued[kind]);
    meeting_.add(warp.tmem_waits(kind), warp.tmem_waited[kind]);
    meeting_.add(warp.tmem_fences(kind), warp.tmem_waited[kind]);
  }
  commits_.push_back(meeting_.finish(pool_));
}

Clock Order::known_at_exit(const CtaOrder& cta) {
  for (const ThreadOrder& thread : cta.threads) give(thread, meeting_);
  return meeting_.finish(pool_);
}

void Order::meet_issuer(const IssuedCopy& copy, BarrierOrder& barrier) {
  barrier.own.add_met(copy.known);
  barrier.own.add_met(copy.issuer->warp->component(copy.issuer->lane), copy.issued);
}

Clock Order::known_to(const WarpOrder& warp) {
  for (std::uint32_t lane = 0; lane < 32; ++lane) give(warp.cta->threads[warp.first_thread + lane], meeting_);
  return meeting_.finish(pool_);
}

void Order::on(const event::TmemIssue& event) {
  WarpOrder& warp = *thread(event).warp;
  if (warp.tmem == 0) warp.tmem = add_components(*warp.cta->cluster, 6);
  const std::size_t kind = event.is_store ? 1 : 0;
  IssuedTransfer& transfer = transfers_.emplace_back();
  transfer.warp = &warp;
  transfer.is_store = kind == 1;
  transfer.number = ++warp.tmem_issued[kind];
  transfer.known = known_to(warp);
  ++warp.now;
  transfer.handed_on = warp.cta->threads[event.thread].tmem_fenced[kind];
  transfer.tmem_waited = warp.tmem_waited;
  transfer.site = event.site;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    meeting_.add(pool_, warp.cta->threads[event.thread + lane].tcgen05_known);
  }
  transfer.tcgen05_known = meeting_.finish(pool_);
  warp.tmem_open.push_back(event.transfer);
}

void Order::on(const event::TmemPass& event) {
  WarpOrder& warp = *thread(event).warp;
  const std::size_t kind = event.is_store ? 1 : 0;
  warp.tmem_waited[kind] = warp.tmem_issued[kind];
  std::erase_if(warp.tmem_open, [&](std::uint64_t id) {
    IssuedTransfer& transfer = transfers_[id - 1];
    if (transfer.is_store != (kind == 1)) return false;
    if (event.transfer != 0 && id != event.transfer) {
      // One load is over, and so are those before it that are not open.
      warp.tmem_waited[kind] = std::min(warp.tmem_waited[kind], transfer.number - 1);
      return false;
    }
    transfer.known = transfer.tcgen05_known = {};
    return true;
  });
}

void Order::on(const event::MmaPass& event) {
  CtaOrder& cta = *ctas_[event.cta];
  const IssuedMma& mma = mmas_[event.operation - 1];
  meeting_.add(mma.component, mma.number);
  // All warps of the warpgroup have issued it.
  for (const IssuedMma::Part& part : mma.parts) meeting_.add_met(part.warp->component(0), part.issued);
  const Clock over = meeting_.finish(pool_);
  for (std::uint32_t lane = 0; lane < 32; ++lane) acquire(cta.threads[event.thread + lane], over);
}

}  // namespace heddle::sim::check
