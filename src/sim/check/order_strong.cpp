// SPDX-License-Identifier: Apache-2.0
//
// The order that accesses with a memory order make, and fences with relaxed ones.
//
// PTX: Memory Consistency Model: Release and Acquire Patterns; Synchronizes-With. A release pattern is an access
// that releases, or a fence and a strong write after it; an acquire pattern one that acquires, or a strong read
// and a fence after it. They synchronise if the read observes the write, or atomic operations that build on it,
// and the scope of each takes in the other.
//
// PTX: Fence-SC Order. If every thread of a CTA fences what it wrote, they meet, and one of them counts the CTA
// in, then whoever is told of the count and fences knows what all of them wrote, though no fence stands beside
// the count itself: the fences of the writers and of the reader cannot come the other way round. So what has
// passed a fence of the scope of the GPU is handed on by relaxed writes of whoever knows it, and what a relaxed
// read has observed goes on through barriers until a fence acquires it. Model: fence.acq_rel is taken for
// fence.sc there; fence.acquire and fence.release are not. Apart from that fence.sc orders no more than
// fence.acq_rel: that two of them are ordered one way or the other is true of every execution, but which way is
// up to the schedule.
#include "sim/check/order.h"

#include <algorithm>

namespace heddle::sim::check {

// PTX: fence.acquire: of an acquire pattern with the strong reads before it, and of no release pattern.
void Order::acquire_observed(ThreadOrder& by, MemoryScope scope) {
  for (std::size_t s = 0; s <= index_of(scope); ++s) {
    if (by.observed[s].is_null()) continue;
    acquire(by, by.observed[s]);
    by.observed[s] = {};
  }
}

// PTX: fence.release: of a release pattern with the strong writes after it.
void Order::release_to_writes(ThreadOrder& by, MemoryScope scope) {
  Gather gather;
  release(by, gather);
  const Clock released = gather.finish(pool_);
  for (std::size_t s = 0; s <= index_of(scope); ++s) by.fenced[s] = released;
}

void Order::fence_memory(ThreadOrder& by, MemoryScope scope) {
  acquire_observed(by, scope);
  if (index_of(scope) == index_of(MemoryScope::kGpu)) {
    if (const World seen = by.known.seen; !seen.is_null()) {
      acquire(by, {seen.of(by.warp->cluster), seen, {}, {}, {}});
    }
    by.proxy_fences[static_cast<std::size_t>(Fenced::kMemory)] = by.warp->now;
    by.known = pool_.fence_memory(by.known);
  }
  release_to_writes(by, scope);
}

void Order::observe(ThreadOrder& thread, const Released& released, const Strong& how) {
  const CtaOrder& cta = *thread.warp->cta;
  const std::uint64_t cluster = cta.cluster->number;
  const auto take = [&](MemoryScope scope, const Clock& clock) {
    if (clock.is_null()) return;
    if (how.acquires) return acquire(thread, clock);
    Clock& seen = thread.observed[index_of(scope)];
    if (!seen.is_same(clock)) seen = pool_.join(seen, clock);
  };
  if (released.cta == cta.linear) take(MemoryScope::kCta, released.to_cta);
  if (how.scope == MemoryScope::kCta) return;
  if (released.cluster == cluster) take(MemoryScope::kCluster, released.to_cluster);
  if (how.scope == MemoryScope::kCluster || released.to_launch.is_null()) return;
  if (!how.acquires) thread.known.seen = pool_.join(thread.known.seen, released.to_launch);
  take(MemoryScope::kGpu, {released.to_launch.of(cluster),
                           released.to_launch,
                           released.to_launch_fenced,
                           {},
                           released.to_launch_mapped});
}

void Order::begin_poll(ThreadOrder& thread, std::uint64_t address) {
  if (thread.poll == nullptr) thread.poll = std::make_unique<ThreadOrder::Poll>();
  ThreadOrder::Poll& poll = *thread.poll;
  const bool is_repeated = thread.is_polling && poll.address == address && poll.now == thread.warp->now &&
                           thread.known.is_same(poll.after);
  if (is_repeated) {
    thread.known = poll.before;
    thread.observed = poll.observed;
  } else {
    poll.before = thread.known;
    poll.observed = thread.observed;
  }
  poll.address = address;
  poll.now = thread.warp->now;
}

void Order::end_poll(ThreadOrder& thread) {
  thread.poll->after = thread.known;
  thread.is_polling = true;
}

void Order::publish(ThreadOrder& thread, Released& released, const Strong& how, bool continues) {
  const CtaOrder& cta = *thread.warp->cta;
  const std::uint64_t cluster = cta.cluster->number;
  const Component self = thread.warp->component(thread.lane);
  // PTX: a strong write that follows a release of the same thread on the same place is one of its pattern.
  if (!continues && (released.cluster != cluster || released.by != self)) released = {};
  std::array<Clock, kScopes> handed = thread.fenced;
  if (how.releases) {
    Gather gather;
    release(thread, gather);
    handed.fill(gather.finish(pool_));
  }
  if (const Clock fenced = pool_.fenced_memory(thread.known); !fenced.is_null()) {
    for (Clock& clock : handed) clock = pool_.join(clock, fenced);
  }
  if (handed[0].is_null()) return;
  released.by = self;
  if (released.cta != cta.linear) released.to_cta = {};
  if (released.cluster != cluster) released.to_cluster = {};
  released.cta = cta.linear;
  released.cluster = cluster;
  released.to_cta = pool_.join(released.to_cta, handed[0]);
  if (how.scope == MemoryScope::kCta || handed[1].is_null()) return;
  released.to_cluster = pool_.join(released.to_cluster, handed[1]);
  if (how.scope == MemoryScope::kCluster || handed[2].is_null()) return;
  released.to_launch = pool_.join(released.to_launch, pool_.tell(cluster, handed[2]));
  released.to_launch_fenced = pool_.join(released.to_launch_fenced, handed[2].fenced_world);
  released.to_launch_mapped = pool_.join(released.to_launch_mapped, handed[2].mapped);
}

bool Order::include_each_other(std::uint64_t cluster, std::uint32_t warp, MemoryScope scope,
                               const ThreadOrder& thread, MemoryScope thread_scope) const {
  const MemoryScope narrowest = std::min(scope, thread_scope);
  if (narrowest >= MemoryScope::kGpu) return true;
  const ClusterOrder& home = *thread.warp->cta->cluster;
  if (cluster != home.number) return false;
  return narrowest == MemoryScope::kCluster || home.warps[warp]->cta == thread.warp->cta;
}

Departed Order::who(std::uint64_t cluster, std::uint32_t warp) const {
  if (const auto running = clusters_.find(cluster); running != clusters_.end()) {
    const WarpOrder& found = *running->second->warps[warp];
    return {found.cta->linear, found.first_thread, found.cta->threads[found.first_thread].role};
  }
  return departed_.find(cluster, warp);
}

}  // namespace heddle::sim::check
