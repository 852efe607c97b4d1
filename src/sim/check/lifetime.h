// SPDX-License-Identifier: Apache-2.0
//
// Judges by order, not by the schedule, whether what a thread reaches is there: a peer CTA that has started and
// has not exited; a barrier that nobody uses any more when it is invalidated; a phase that is not over and gone
// before a slow waiter has looked.
//
// For these it is enough that one comes after the other: what is met counts as well as what is known, so that
// relaxed arrivals, arrivals of a narrower scope and threads that have exited all show that somebody has come so
// far.
#pragma once

#include "sim/check/finding_sink.h"
#include "sim/check/order.h"
#include "sim/check/race_report.h"

#include <heddle/sim/event.h>

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::sim::check {

class Lifetime {
 public:
  Lifetime(Order& order, const RaceReport& report, FindingSink& sink)
      : order_(order), report_(report), sink_(sink) {}

  // A thread reaches the shared memory of another CTA. Whether the run stops for it.
  bool stops_for_peer(const ThreadOrder& by, const CtaOrder& peer, const char* what, CallSite site);
  // A warp allocates or frees tensor memory together with the other CTA of its pair.
  bool stops_for_pair(const ThreadOrder& by, bool is_alloc, CallSite site);

  // A thread arrives on a barrier, a commit or a copy does, or a thread has waited for it.
  void on(const event::BarrierArrive& event);
  void on(const event::BarrierExpect& event);
  void on(const event::BarrierBlock& event);
  void on(const event::BarrierPass& event);
  void on(const event::AsyncArrive& event);
  void complete_on_barrier(const event::BarrierComplete& event);
  // Whether the thread has arrived in the phase that runs, last of all so far.
  bool has_arrived(const BarrierOrder& barrier, const ThreadOrder& thread);
  void complete_by_hand(const event::BarrierComplete& event);
  bool stops_for_inval(const event::BarrierInval& event);
  // A phase is over, and Order knows it.
  bool stops_for_phase(const event::BarrierPhase& event);
  bool stops_for_parity(const event::BarrierPass& event);

  // A copy is issued, and Order knows it.
  void on(const event::CopyIssue& event);

  // The CTA exits: all that reaches it must come before that.
  bool stops_for_exit(const CtaOrder& cta);

 private:
  // What reached a CTA: over when `by` has come to `epoch`, or when the CTA has seen the end of a phase.
  struct Reach {
    const ThreadOrder* by = nullptr;
    Epoch epoch = 0;
    const BarrierOrder* barrier = nullptr;
    Epoch phases = 0;
    const char* what = "";
    std::uint64_t copy = 0;
    CallSite site = {};
  };
  // The last use of a barrier by a warp, and its last wait.
  struct Use {
    const WarpOrder* warp = nullptr;
    Epoch epoch = 0;
    CallSite site = {};
    std::uint64_t phase = 0;  // plus 1
    Epoch passed = 0;
    std::uint32_t lane = 0;
    CallSite pass_site = {};
  };
  // Who has arrived in a phase, which is over for all who know of all of them, unless engines take part.
  struct Phase {
    Epoch number = 0;  // plus 1
    bool is_of_threads = true;
    std::vector<std::pair<Component, Epoch>> arrivals;
  };
  struct Barrier {
    std::vector<Use> uses;
    std::array<Phase, 3> phases;  // the running one, and those before it
    Epoch copies_until = 0;       // the phase, counted from 1, that the last copy belongs to
    std::uint64_t last_copy = 0;
    Epoch commits_until = 0;  // likewise the last tcgen05.commit
    const ThreadOrder* commit_by = nullptr;
    Epoch commit_number = 0;  // among the operations of its thread
    CallSite commit_site = {};
    const ThreadOrder* counted_by = nullptr;  // the thread of the last change, if that was to the bytes by hand
    const ThreadOrder* last_arrival = nullptr;
    Epoch last_arrival_phase = 0;
    CallSite last_arrival_site = {};
  };

  static bool has_come(const Clock& clock, const WarpOrder& warp, Epoch epoch);
  static bool has_started(const Clock& clock, const CtaOrder& cta);
  Barrier& barrier_of(std::uint32_t id);
  // The thread is at the barrier, which may be another CTA's.
  Use& use(const ThreadOrder& by, std::uint32_t barrier, CallSite site);
  void use_and_reach(const ThreadOrder& by, std::uint32_t barrier, CallSite site);
  Use& use_of(Barrier& barrier, const WarpOrder& warp);
  void note(const CtaOrder& cta, std::uint32_t key, const Reach& reach);
  // The phase that runs.
  Phase& phase_of(const BarrierOrder& barrier);
  static bool knows_arrivals(const Phase& phase, const ThreadOrder& thread);
  bool stops_for_stores(const CtaOrder& cta);

  Order& order_;
  const RaceReport& report_;
  FindingSink& sink_;
  std::vector<Barrier> barriers_;                                          // by id
  std::unordered_map<std::uint32_t, std::map<Component, Reach>> reached_;  // by CTA, by component
  // The last bulk store of each thread, by CTA and thread.
  std::unordered_map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> stores_;
};

}  // namespace heddle::sim::check
