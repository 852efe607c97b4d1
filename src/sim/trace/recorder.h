// SPDX-License-Identifier: Apache-2.0
//
// Watches a launch and keeps who waited for what, who held which stage and what was in flight, each with its
// place on a clock of the recorder's own: every lane of a warp has one, what it issues moves it by as much as the
// timing says, and a wait sets it to the end of what it waited for. The order in which the machine happens to let
// threads take their turns leaves no trace in it, but where two of them want one unit.
#pragma once

#include "sim/machine/machine.h"
#include "sim/trace/records.h"
#include "sim/trace/timeline.h"
#include "sim/trace/unit.h"

#include <heddle/sim/event.h>
#include <heddle/sim/report.h>

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace heddle::sim::trace {

class Recorder final : public Watcher<Recorder> {
 public:
  Recorder(const machine::Machine& machine, const LaunchOptions& options, Timeline& timeline);

  EventMask wants() const override { return is_cut_ ? 0 : Watcher::wants(); }
  void on_event(const Event& event) override {
    if (!is_cut_) Watcher::on_event(event);
  }
  void on(const event::CtaStart& event);
  void on(const event::CtaExit& event);
  void on(const event::ThreadExit& event);
  void on(const event::Role& event);
  void on(const event::TileBegin& event);
  void on(const event::TileEnd& event);
  void on(const event::BarrierInit& event);
  void on(const event::BarrierArrive& event);
  void on(const event::BarrierExpect& event);
  void on(const event::BarrierComplete& event);
  void on(const event::BarrierPhase& event);
  void on(const event::BarrierPass& event);
  void on(const event::NamedArrive& event);
  void on(const event::NamedPass& event);
  void on(const event::ClusterArrive& event);
  void on(const event::ClusterPass& event);
  void on(const event::WarpMeet& event);
  void on(const event::SharedStrong& event);
  void on(const event::GlobalStrong& event);
  void on(const event::CopyIssue& event);
  void on(const event::CopyDone& event);
  void on(const event::GroupCommit& event);
  void on(const event::GroupPass& event);
  void on(const event::MmaIssue& event);
  void on(const event::MmaDone& event);
  void on(const event::MmaCommit& event);
  void on(const event::MmaPass& event);
  void on(const event::MmaTell& event);
  void on(const event::TmemIssue& event);
  void on(const event::TmemPass& event);
  void on(const event::AsyncIssue& event);
  void on(const event::AsyncPass& event);
  void on(const event::SharedRead& event);
  void on(const event::SharedWrite& event);
  void on(const event::CopyReadGlobal& event);
  void on(const event::Fence& event) { step(event, timing_.fence); }
  // Whatever else a thread issues takes it as long as an instruction.
  void on(const event::GlobalRead& event) { step(event); }
  void on(const event::GlobalWrite& event) { step(event); }
  void on(const event::MmaFence& event) { step(event); }
  void on(const event::TmemAlloc& event) { step(event); }
  void on(const event::TmemDealloc& event) { step(event); }
  void on(const event::AsyncArrive& event) { step(event); }

  // The run is over: what was recorded becomes a launch of the timeline.
  void finish(const Report& report);

 private:
  struct Group {  // of bulk stores
    Time read = 0;
    Time done = 0;
    Cause cause = {};
  };
  struct ThreadRecord {  // what few threads have
    std::vector<Group> groups = {Group{}};
    std::vector<Time> async_copies;
    std::uint32_t cluster_arrivals = 0;
  };
  struct Queue {                        // of multiplications
    Time free = 0;                      // of the tensor core
    Time done = 0;                      // its newest operation
    std::deque<std::uint64_t> pending;  // operations that were issued and are not over
    std::uint32_t open = kNoIndex;      // the operation that the next one is added to
    std::uint32_t leader = kNoIndex;    // the warp that issued the newest one
    std::uint32_t last = kNoIndex;      // the operation that ended last
  };
  struct Multiplication {
    std::uint64_t queue = 0;
    std::uint32_t operation = 0;
    Time issued = 0;
    Time cycles = 0;
    Time done = 0;
  };
  struct Load {  // on its way
    std::uint32_t operation = 0;
    double bytes = 0;
    double targets = 1;
    bool is_known = false;  // whether its bytes are in L2
    bool is_in_l2 = false;
    bool is_timed = false;
  };
  struct Units {  // of an SM
    Unit in;
    Unit out;
    Unit to_peers;
    Unit tensor;
  };
  struct Commit {
    std::uint64_t queue = 0;
    Cause cause = {};
  };
  struct Written {
    Time time = 0;
    Cause cause = {};
  };
  struct ClusterRecord {
    std::vector<CtaRecord::Round> rounds;
    std::uint32_t ctas = 0;  // that have not exited
    Time end = 0;
  };

  // A thread, or the first of a warp that has done something together.
  struct Who {
    std::uint32_t cta, thread;

    template <class Kind>
    Who(const Kind& event) : cta(event.cta), thread(event.thread) {}
    Who(std::uint32_t c, std::uint32_t t) : cta(c), thread(t) {}
  };
  CtaRecord& cta_of(std::uint32_t linear) { return records_.ctas[cta_index_[linear]]; }
  std::uint32_t warp_index(Who who) { return cta_of(who.cta).first_warp + who.thread / 32; }
  ThreadRecord& thread_record(Who who);
  // The thread has issued something that takes it so long: when it goes on.
  Time step(Who who, Time cycles);
  Time step(Who who) { return step(who, timing_.issue); }
  Cause here(Who who);
  // The thread has waited until `end`, which may be over long ago; asking takes `least`.
  void wait(Who who, CallSite site, const Awaited& on, Time end, const Cause& cause, Time least);
  void wait_as_warp(Who who, CallSite site, const Awaited& on, Time end, const Cause& cause);
  void keep(WarpRecord& warp, std::uint32_t lane, WaitRecord record);
  BarrierRecord& barrier(std::uint32_t id);
  void name(BarrierRecord& record, const machine::Barrier& barrier);
  void contribute(std::uint32_t barrier, Time time, const Cause& cause);
  void note_tile(Who who, std::uint32_t m, std::uint32_t n);
  Tile tile_of(Who who) { return records_.warps[warp_index(who)].tile_of(who.thread % 32); }
  void open_hold(WarpRecord& warp, const HoldRecord& opened);
  void extend_hold(WarpRecord& warp, const BarrierRecord& signalled, Time now);
  // When the bytes of a load are there.
  Time land(Load& load);
  Time cycles_for(double bytes, double per_cycle) const;
  // How many other queues of the SM wait for the tensor cores at that time.
  Time others_waiting(std::uint32_t cta, const Queue& queue, Time at);
  void strong(Who who, std::uint64_t place, const Strong& how, CallSite site);
  void end_waits();
  void end_holds();
  bool has_room();

  const machine::Machine& machine_;
  Timeline& timeline_;
  const Timing timing_;
  double ctas_at_once_ = 1;
  std::uint64_t room_;  // spans that may still be recorded
  std::uint64_t recorded_ = 0;
  bool is_cut_ = false;
  Records records_;
  std::vector<std::uint32_t> cta_index_;  // by its number in the grid
  std::unordered_map<std::uint64_t, ClusterRecord> clusters_;
  std::vector<Time> free_since_;                             // of SMs that a cluster has left
  std::unordered_map<std::uint64_t, Time> started_;          // clusters
  std::unordered_map<std::uint64_t, std::uint32_t> copies_;  // operation by copy
  std::unordered_map<std::uint64_t, Load> loads_;            // by copy
  std::unordered_set<std::uint64_t> in_l2_;                  // lines of 128 bytes that were loaded
  std::vector<Units> units_;                                 // by CTA
  std::unordered_map<std::uint64_t, Multiplication> mmas_;
  std::unordered_map<std::uint64_t, Queue> queues_;
  std::unordered_map<std::uint64_t, Commit> commits_;
  std::unordered_map<std::uint64_t, ThreadRecord> threads_;
  std::unordered_map<std::uint64_t, Written> written_;
  std::unordered_map<std::uint64_t, Time> tmem_;  // by warp and kind: when the last of its transfers is done
};

}  // namespace heddle::sim::trace
