// SPDX-License-Identifier: Apache-2.0
//
// What happens before what. Follows every instruction that synchronises, and keeps for each thread a clock
// of what it knows: its own past, and the past of others as far as barriers have handed it over. A copy
// knows what its issuer knew when it was issued. Two accesses are ordered if whoever makes the second knows
// the first.
//
// Each cluster counts the time of its own threads. What one knows of another comes with accesses that release and
// acquire in global memory at the scope of the GPU, and with nothing else.
//
// PTX: Memory Consistency Model: Causality order; Async proxy.
#pragma once

#include "sim/check/by_cta.h"
#include "sim/check/clocks.h"
#include "sim/check/departed.h"

#include <heddle/sim/event.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace heddle::sim::check {

struct ClusterOrder;
struct CtaOrder;

// A warp counts time for its lanes: an access is at the warp's epoch `now`, which moves on whenever one of
// its lanes has released something. Component `32 * index + lane` is what others know of a lane.
struct WarpOrder {
  std::uint32_t index = 0;  // in the cluster
  Epoch now = 1;
  CtaOrder* cta = nullptr;
  std::uint32_t first_thread = 0;
  std::uint32_t cluster = 0;  // its number

  // The first of 32 components each, or 0: what others know of the lanes' fences and relaxed arrivals.
  Component init_fences = 0;
  Component relaxed_arrivals = 0;
  Component async_copies = 0;  // likewise: how many of each lane's cp.async are known to be over

  // Its loads (0) and stores (1) of tensor memory. Components: what others know to have been issued, waited for,
  // and then fenced, of loads and of stores.
  Component tmem = 0;
  std::array<Epoch, 2> tmem_issued = {};
  std::array<Epoch, 2> tmem_waited = {};
  std::vector<std::uint64_t> tmem_open;  // those not waited for

  Component tmem_issues(std::size_t kind) const { return tmem + 3 * static_cast<Component>(kind); }
  Component tmem_waits(std::size_t kind) const { return tmem_issues(kind) + 1; }
  Component tmem_fences(std::size_t kind) const { return tmem_issues(kind) + 2; }

  // The last time that all lanes met to exchange something, which orders nothing: what came before was at this
  // epoch or earlier.
  Epoch exchanged = 0;
  // What its lanes knew of others then, taken together; null if each knew the same.
  Clock exchanged_known;
  bool lanes_know_apart = false;  // one of them may have acquired something by itself since they all met

  // The last join that one of its lanes made; the others make the same.
  Clock joined_with, joined_from, joined;
  // And the last proxy fence.
  FenceKind fence = {};
  Clock fence_of, fenced;

  Component component(std::uint32_t lane) const { return 32 * index + lane; }
};

inline constexpr std::size_t kScopes = 3;  // no order differs between the scope of the GPU and that of the system
inline std::size_t index_of(MemoryScope scope) {
  return scope == MemoryScope::kSys ? 2 : static_cast<std::size_t>(scope);
}

// What every access looks at comes first, in one line of the cache.
struct alignas(64) ThreadOrder {
  // A load with a memory order that the thread repeats, with nothing in between: what it took over each time but
  // the last is luck, since the word might not have been looked at then.
  struct Poll {
    std::uint64_t address = 0;
    Epoch now = 0;
    Clock before, after;
    std::array<Clock, kScopes> observed;  // before
  };

  // The last wait of this thread on a barrier of its CTA.
  struct Turn {
    std::uint64_t phase = 0;  // plus 1
    Epoch released_before = 0;
    bool is_early = false;  // it has also waited for the phase before the first, which was never begun
    bool is_stale = false;  // it waited for the same phase as the time before, and had released since
  };

  // Counts the operations that one thread has given to a tensor core, which complete in order.
  struct QueueTime {
    Component component = 0;
    Epoch issued = 0;
  };

  Clock known;  // of others; its own past is known by itself
  WarpOrder* warp = nullptr;
  std::uint32_t lane = 0;
  Clock tcgen05_known;  // what it knew at its last tcgen05.fence::after_thread_sync
  QueueTime tcgen05;
  std::array<Epoch, 2> tmem_fenced = {};  // by its last tcgen05.fence::before_thread_sync
  const char* role = "";
  std::array<Epoch, kFencedKinds> proxy_fences = {};  // its own accesses up to here have passed a proxy fence
  Epoch init_fence = 0;  // and initialisations of barriers up to here against the cluster
  Epoch last_release = 0;
  std::vector<Epoch> async_copies;  // when each of its cp.async was issued
  Epoch copies_over = 0;            // how many of them are known to be over, if `known` does not say so yet
  Component groups = 0;  // counts its bulk groups whose sources were read, the next one those that are complete
  Epoch commits = 0;
  bool has_exited = false;
  std::uint64_t cluster_rounds = 0;
  // By scope: what its last fence of that scope or a wider one has released, which relaxed accesses after it hand
  // on; and what its relaxed reads have observed, which a fence acquires.
  std::array<Clock, kScopes> fenced;
  std::array<Clock, kScopes> observed;
  std::vector<Turn> turns;  // by the barrier's place in the CTA
  std::unique_ptr<Poll> poll;
  bool is_polling = false;  // its last access was that of `poll`
};

struct CtaOrder {
  struct Named {
    Gather arriving;
    Clock passed;
  };
  // Counts the MMA operations of a warpgroup, which complete in order.
  struct MmaTime {
    Component component = 0;
    Epoch issued = 0;
  };

  ClusterOrder* cluster = nullptr;
  std::uint32_t linear = 0;
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> barriers;  // their ids
  std::deque<WarpOrder> warps;
  std::vector<ThreadOrder> threads;
  std::vector<MmaTime> mma_times;  // by warpgroup
  std::array<Named, 16> named;
};

struct ClusterOrder {
  struct Round {
    std::uint64_t number = 0;
    Gather arriving;
    Clock passed;
  };
  struct BarrierTime {
    Component component = 0;
    Epoch reached = 0;          // phases that are over, of all barriers that have been at this place
    std::uint32_t barrier = 0;  // the id of the newest
  };

  std::uint64_t number = 0;                     // in the launch
  std::vector<std::unique_ptr<CtaOrder>> ctas;  // by rank
  std::uint32_t running = 0;
  Component components = 0;
  std::vector<Component> engines;  // those that stand for copies and for operations of tensor cores
  std::vector<WarpOrder*> warps;   // by index
  bool has_exits = false;          // of threads
  std::array<Round, 2> rounds;     // of the cluster barrier: nobody is two rounds ahead of another
  std::unordered_map<std::uint32_t, BarrierTime> barrier_times;  // by shared address
};

struct BarrierOrder {
  std::uint32_t id = 0;
  CtaOrder* cta = nullptr;
  std::uint32_t place = 0;  // among the barriers of its CTA
  ClusterOrder::BarrierTime* time = nullptr;
  const ThreadOrder* initialiser = nullptr;
  Epoch initialised = 0;
  CallSite site = {};
  // Those in the barrier's own CTA release to it at either scope; others only at cluster scope, and only to
  // those who wait at cluster scope.
  Gather own, remote;
  Clock passed_own, passed_remote, passed_all;
  const ThreadOrder* remote_by = nullptr;  // who of another CTA has released to it last
  CallSite remote_site = {};
  // What is known of copies and tensor cores, which relaxed arrivals and waits hand over too.
  Gather engines;
  Clock passed_engines;
};

// What strong writes have released to a place in memory, for those who read it. A wider release is one of each
// narrower scope, too; of these the newest CTA's and cluster's are kept, since others have no part in them. PTX:
// Release and Acquire Patterns; Observation order.
struct Released {
  std::uint64_t cluster = ~std::uint64_t{0};
  std::uint32_t cta = ~std::uint32_t{0};
  Component by = 0;  // the thread that released last
  Clock to_cta, to_cluster;
  World to_launch, to_launch_fenced, to_launch_mapped;
};

// A strong store, and what its thread knew then. See Signals.
struct Signal {
  std::uint64_t cluster = ~std::uint64_t{0};
  Component by = 0;
  Clock known = {};
  std::uint64_t number = 0;  // among all strong stores and observations of them
};

inline bool is_store(CopyKind kind) { return kind == CopyKind::kStore || kind == CopyKind::kReduce; }

// A copy, as it was issued.
struct IssuedCopy {
  ClusterOrder* cluster = nullptr;      // may end before the copy does
  const ThreadOrder* issuer = nullptr;  // likewise
  std::uint64_t cluster_number = 0;
  Component self = 0;                                 // of the issuer
  Component warp = 0;                                 // of the first lane of its warp
  std::uint32_t source = 0;                           // stores: the shared address
  Component groups = 0;                               // likewise
  Component completes() const { return groups + 1; }  // stores: counts the groups whose bytes are written
  Clock known;
  Epoch issued = 0;
  std::array<Epoch, kFencedKinds> proxy_fences = {};
  Epoch init_fence = 0;
  Epoch group = 0;
  std::uint32_t bytes = 0;
  CopyKind kind = CopyKind::kLoad;
  bool is_async_reduction = false;  // into shared memory
  CallSite site = {};
};

// An MMA operation, as the warps of its warpgroup have issued it. Each warp multiplies its own rows, and must
// know the operands; that one warp has waited for the operation shows that it is over for all.
struct IssuedMma {
  struct Part {
    const WarpOrder* warp;
    Epoch issued;
    Clock known;  // by any lane of the warp, or by the one thread that issues a tcgen05 operation
    std::uint32_t lane = 0;
    Clock tcgen05_known = {};
    std::array<Epoch, 2> tmem_waited = {};
  };

  ClusterOrder* cluster = nullptr;
  Component component = 0;
  Epoch number = 0;
  std::vector<Part> parts;  // in the order in which they came
  const char* name = "wgmma.mma_async";
  bool is_tcgen05 = false;  // and issued by one thread
  CallSite site = {};
};

// A load or store of tensor memory, as its warp has issued it.
struct IssuedTransfer {
  const WarpOrder* warp = nullptr;
  bool is_store = false;
  Epoch number = 0;     // among the warp's loads or stores
  Epoch handed_on = 0;  // those before it, up to this one, had been fenced when it was issued
  Clock known;          // by any lane of the warp
  Clock tcgen05_known;
  std::array<Epoch, 2> tmem_waited = {};
  CallSite site = {};
};

// Somebody at some time: a thread now, a copy at its issue, or a warp that issues an MMA.
struct View {
  const Clock* known;
  Component self;  // of the thread, or of the issuer
  Epoch self_time;
  std::array<Epoch, kFencedKinds> self_proxy_fences;
  Epoch self_init_fence;
  std::uint64_t cluster;
  Component self_copies;  // that counts its cp.async, of which so many are over
  Epoch copies_over;

  static View of(const ThreadOrder& thread) {
    const WarpOrder& warp = *thread.warp;
    return {
        &thread.known, warp.component(thread.lane),     ~Epoch{0},         thread.proxy_fences, thread.init_fence,
        warp.cluster,  warp.async_copies + thread.lane, thread.copies_over};
  }
  static View of(const IssuedCopy& copy) {
    return {&copy.known, copy.self, copy.issued, copy.proxy_fences, copy.init_fence, copy.cluster_number, 0, 0};
  }
  // What it knows with others, and not by itself alone.
  View without_self() const {
    View shared = *this;
    shared.self = shared.self_copies = ~Component{0};
    return shared;
  }
  static View of(const IssuedMma::Part& part) {
    return {&part.known, ~Component{0}, 0, {}, 0, part.warp->cluster, 0, 0};
  }

  bool knows(Component component, Epoch epoch) const {
    return component == self ? epoch <= self_time : (*known)[component] >= epoch;
  }
  bool knows(const WarpOrder& warp, std::uint32_t lane, Epoch epoch) const {
    return knows(warp.component(lane), epoch);
  }
  // In whatever cluster it was.
  bool knows(std::uint64_t in_cluster, Component component, Epoch epoch) const {
    return in_cluster == cluster ? knows(component, epoch) : known->world.of(in_cluster)[component] >= epoch;
  }
  // Of these lanes, whose components follow one another, the first whose epoch is not known.
  std::optional<std::uint32_t> first_unknown(std::uint64_t in_cluster, Component first, std::uint32_t lanes,
                                             Epoch epoch) const {
    const Dense& dense = in_cluster == cluster ? known->own : known->world.of(in_cluster);
    for (std::uint32_t left = dense.behind(first, lanes, epoch); left != 0; left &= left - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
      const bool is_own = first + lane == self && epoch <= self_time;
      const bool is_own_copy = first + lane == self_copies && epoch <= copies_over;
      if (in_cluster != cluster || !(is_own || is_own_copy)) return lane;
    }
    return std::nullopt;
  }
  bool knows_fenced(Fenced kind, std::uint64_t in_cluster, Component component, Epoch epoch) const {
    if (in_cluster == cluster) {
      if (component == self && self_proxy_fences[static_cast<std::size_t>(kind)] >= epoch) return true;
      return known->fenced(kind, component) >= epoch;
    }
    if (kind == Fenced::kMapAcquired)
      return known->mapped.of(in_cluster).fenced(Fenced::kMapReleased, component) >= epoch;
    return known->world.of(in_cluster).fenced(kind, component) >= epoch ||
           known->fenced_world.of(in_cluster)[component] >= epoch;
  }
  // Knows it, with a proxy fence on the way.
  bool knows_fenced(Fenced kind, const WarpOrder& warp, std::uint32_t lane, Epoch epoch) const {
    const Component component = warp.component(lane);
    if (component == self && self_proxy_fences[static_cast<std::size_t>(kind)] >= epoch) return true;
    return known->fenced(kind, component) >= epoch;
  }
  bool knows_init_fence(const WarpOrder& warp, std::uint32_t lane, Epoch epoch) const {
    return knows_mark(warp, lane, warp.init_fences, self_init_fence, epoch);
  }
  // Met the thread at a relaxed cluster barrier, which hands nothing over.
  bool has_met(const WarpOrder& warp, std::uint32_t lane, Epoch epoch) const {
    return knows_mark(warp, lane, warp.relaxed_arrivals, 0, epoch);
  }

 private:
  bool knows_mark(const WarpOrder& warp, std::uint32_t lane, Component block, Epoch own, Epoch epoch) const {
    if (warp.component(lane) == self) return own >= epoch;
    return block != 0 && (*known)[block + lane] >= epoch;
  }
};

class Order {
 public:
  void on(const event::CtaStart& event);
  void on(const event::CtaExit& event);
  void on(const event::ThreadExit& event);
  void on(const event::Role& event);
  void on(const event::BarrierInit& event);
  void on(const event::BarrierArrive& event);
  void on(const event::BarrierPhase& event);
  void on(const event::BarrierPass& event);
  void on(const event::NamedArrive& event);
  void on(const event::NamedPass& event);
  void on(const event::ClusterArrive& event);
  void on(const event::ClusterPass& event);
  void on(const event::WarpMeet& event);
  void on(const event::Fence& event);
  void on(const event::CopyIssue& event);
  void on(const event::CopyReadMap& event);
  void on(const event::CopyDone& event);
  void on(const event::GroupCommit& event);
  void on(const event::GroupPass& event);
  void on(const event::AsyncIssue& event);
  void on(const event::AsyncPass& event);
  void on(const event::AsyncArrive& event);
  void on(const event::MmaIssue& event);
  void on(const event::MmaDone& event);
  void on(const event::MmaPass& event);
  void on(const event::MmaTell& event);
  void on(const event::TmemIssue& event);
  void on(const event::TmemPass& event);

  // Who has waited for its cp.async knows what nobody else does. Mostly a barrier of the CTA follows, where all
  // tell each other: until then no clock is made of it. Before anything else settle() makes them.
  bool has_apart() const { return apart_count_ != 0; }
  static constexpr bool may_stay_apart(const Event& event) {
    return (mask_of<event::AsyncPass, event::NamedArrive, event::NamedPass, event::WarpMeet, event::SharedRead,
                    event::SharedWrite, event::GlobalRead, event::GlobalWrite, event::AsyncIssue>() >>
                event.index() &
            1) != 0;
  }
  void settle();

  template <class Kind>
  ThreadOrder& thread(const Kind& event) {
    return ctas_[event.cta]->threads[event.thread];
  }
  CtaOrder& cta(std::uint32_t linear) { return *ctas_[linear]; }
  BarrierOrder& barrier(std::uint32_t id) { return barriers_[id]; }
  const IssuedCopy& copy(std::uint64_t id) const { return copies_[id - 1]; }
  const IssuedMma& mma(std::uint64_t id) const { return mmas_[id - 1]; }
  const Clock& commit_clock(std::uint64_t id) const { return commits_[id - 1]; }
  const IssuedTransfer& transfer(std::uint64_t id) const { return transfers_[id - 1]; }
  // What any lane of the warp knows.
  Clock known_to(const WarpOrder& warp);
  // What the threads of the CTA, which have all exited, knew between them.
  Clock known_at_exit(const CtaOrder& cta);
  // A copy of another CTA has completed on the barrier: what its issuer knew is met by those who wait for it.
  void meet_issuer(const IssuedCopy& copy, BarrierOrder& barrier);

  // A strong read that observes what was released to its place, and a strong write there. `continues`: the write
  // also read the place at once, so that what was released before is handed on.
  void observe(ThreadOrder& thread, const Released& released, const Strong& how);
  // Before and after a load with a memory order: one that repeats the last starts from what was known before it.
  void begin_poll(ThreadOrder& thread, std::uint64_t address);
  void end_poll(ThreadOrder& thread);
  void publish(ThreadOrder& thread, Released& released, const Strong& how, bool continues);

  // Whether a relaxed write of the thread hands anything on.
  bool has_fenced(const ThreadOrder& thread) const {
    return !thread.fenced[0].is_null() || !pool_.fenced_memory(thread.known).is_null();
  }
  // Whether the scopes of two accesses take in the thread that makes the other.
  bool include_each_other(std::uint64_t cluster, std::uint32_t warp, MemoryScope scope, const ThreadOrder& thread,
                          MemoryScope thread_scope) const;

  // Who a warp of the cluster is, or was.
  Departed who(std::uint64_t cluster, std::uint32_t warp) const;

 private:
  void take(ThreadOrder& thread, const Clock& shared);
  void give(const ThreadOrder& thread, Gather& gather);
  void give_met(ThreadOrder& thread, Gather& gather);
  void give_engines(const ClusterOrder& cluster, const Clock& known, Gather& gather);
  void release(ThreadOrder& thread, Gather& gather);
  void acquire(ThreadOrder& thread, const Clock& clock);
  Clock known_together(const CtaOrder& cta, std::uint32_t first_thread);
  void fence_proxy(ThreadOrder& by, FenceKind kind);
  void fence_memory(ThreadOrder& by, MemoryScope scope);
  void acquire_observed(ThreadOrder& by, MemoryScope scope);
  void release_to_writes(ThreadOrder& by, MemoryScope scope);
  void fence_maps(ThreadOrder& by, bool releases);
  void join_group(ThreadOrder& by, IssuedCopy& copy);
  void issue_wgmma(const event::MmaIssue& event);
  void issue_tcgen05(const event::MmaIssue& event);
  void give_tmem(const ThreadOrder& thread, Gather& gather);

  ClockPool pool_;  // outlives every clock below
  std::unordered_map<std::uint64_t, std::unique_ptr<ClusterOrder>> clusters_;
  DepartedClusters departed_;
  ByCta<CtaOrder*> ctas_;
  std::deque<BarrierOrder> barriers_;
  // Somebody was told what engines have done, and not what threads have: from then on, knowing that a barrier has
  // ended a phase is not knowing what was released to it.
  bool has_told_engines_apart_ = false;
  std::deque<IssuedCopy> copies_;
  std::deque<IssuedMma> mmas_;
  std::deque<std::uint64_t> done_tcgen05_;  // operations whose clocks are still kept
  std::deque<Clock> commits_;               // what each tells its barriers; nothing once it has
  std::deque<IssuedTransfer> transfers_;
  Gather meeting_;
  std::vector<ThreadOrder*> apart_;  // those who know of copies apart, and some who did
  std::size_t apart_count_ = 0;
};

}  // namespace heddle::sim::check
