// SPDX-License-Identifier: Apache-2.0
//
// Watches a launch and keeps who waited for what, who held which stage and what was in flight, each with its
// place on a clock of the recorder's own: every lane of a warp has one, a wait sets it to the end of what it
// waited for. The order in which the machine happens to let threads take their turns leaves no trace in it.
#pragma once

#include "sim/machine/machine.h"
#include "sim/trace/records.h"
#include "sim/trace/timeline.h"

#include <heddle/sim/event.h>
#include <heddle/sim/report.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::sim::trace {

class Recorder final : public Observer {
 public:
  Recorder(const machine::Machine& machine, const LaunchOptions& options, Timeline& timeline);

  EventMask wants() const override;
  void on_event(const Event& event) override;

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
  struct Queue {  // of multiplications
    Time free = 0;
    std::uint32_t open = kNoIndex;    // the operation that the next one is added to
    std::uint32_t leader = kNoIndex;  // the warp that issued the newest one
    std::uint32_t last = kNoIndex;    // the operation that ended last
  };
  struct Multiplication {
    std::uint64_t queue = 0;
    std::uint32_t operation = 0;
    Time issued = 0;
    Time done = 0;
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

  void start_cta(const Event& event);
  CtaRecord& cta_of(const Event& event) { return records_.ctas[cta_index_[event.cta]]; }
  std::uint32_t warp_index(const Event& event) { return cta_of(event).first_warp + event.thread / 32; }
  ThreadRecord& thread_record(const Event& event);
  // The thread of the event has done something that takes a step: when.
  Time step(const Event& event);
  Cause here(const Event& event);
  // The thread of the event has waited until `end`, which may be over long ago.
  void wait(const Event& event, const Awaited& on, Time end, const Cause& cause);
  void wait_as_warp(Event event, const Awaited& on, Time end, const Cause& cause);
  void keep(WarpRecord& warp, std::uint32_t lane, WaitRecord record);
  BarrierRecord& barrier(const Event& event);
  void name(BarrierRecord& record, const machine::Barrier& barrier);
  void contribute(const Event& event, Time time, const Cause& cause);
  void end_phase(const Event& event);
  void pass(const Event& event);
  void open_hold(WarpRecord& warp, std::uint32_t barrier, std::uint64_t phase, Time now);
  void extend_hold(WarpRecord& warp, const BarrierRecord& signalled, Time now);
  void arrive(const Event& event);
  void named(const Event& event);
  void cluster(const Event& event);
  void issue_copy(const Event& event);
  void wait_for_group(const Event& event);
  void issue_mma(const Event& event);
  void end_mma(const Event& event);
  void meet(const Event& event);
  void strong(const Event& event);
  void end_waits();
  void end_holds();
  bool has_room();

  const machine::Machine& machine_;
  Timeline& timeline_;
  std::uint64_t room_;  // spans that may still be recorded
  std::uint64_t recorded_ = 0;
  bool is_cut_ = false;
  Records records_;
  std::vector<std::uint32_t> cta_index_;  // by its number in the grid
  std::unordered_map<std::uint64_t, ClusterRecord> clusters_;
  std::vector<Time> free_since_;                             // of SMs that a cluster has left
  std::unordered_map<std::uint64_t, Time> started_;          // clusters
  std::unordered_map<std::uint64_t, std::uint32_t> copies_;  // operation by copy
  std::unordered_map<std::uint64_t, Multiplication> mmas_;
  std::unordered_map<std::uint64_t, Queue> queues_;
  std::unordered_map<std::uint64_t, Commit> commits_;
  std::unordered_map<std::uint64_t, ThreadRecord> threads_;
  std::unordered_map<std::uint64_t, Written> written_;
  std::unordered_map<std::uint64_t, Time> tmem_;  // by warp and kind: when the last of its transfers is done
};

}  // namespace heddle::sim::trace
