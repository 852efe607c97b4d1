// SPDX-License-Identifier: Apache-2.0
//
// Watches a launch and keeps who waited for what, who held which stage and what was in flight, each with its
// place on a clock of the recorder's own: every lane of a warp has one, a wait sets it to the end of what it
// waited for. The order in which the machine happens to let threads take their turns leaves no trace in it.
#pragma once

#include "sim/machine/machine.h"
#include "sim/trace/timeline.h"

#include <heddle/sim/event.h>
#include <heddle/sim/report.h>

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::sim::trace {

// Who did something, and when.
struct Cause {
  enum class Kind : std::uint8_t { kNone, kWarp, kAsync };
  Kind kind = Kind::kNone;
  std::uint32_t index = 0;  // of the warp or the operation
  Time time = 0;
};

// What a thread waits for.
struct Awaited {
  enum class Kind : std::uint8_t {
    kBarrier,  // id: the barrier
    kNamed,    // id: which
    kCluster,
    kStores,
    kStoreSources,
    kWgmma,
    kAsyncCopies,
    kTmemLoads,
    kTmemStores,
    kFlag,  // memory that another thread writes
    kRegisters,
    kTmemColumns,
    kWarp
  };
  Kind kind = Kind::kBarrier;
  std::uint32_t id = 0;
  std::uint64_t phase = 0;

  friend bool operator==(const Awaited&, const Awaited&) = default;
};

struct WaitRecord {
  Awaited on;
  Time begin = 0;
  Time end = 0;
  Cause cause = {};
  CallSite site = {};
  bool is_open = false;
};

// A stage of a pipeline in the hands of a warp.
struct HoldRecord {
  std::uint32_t barrier = 0;  // whose phase gave it: full for a consumer, empty for a producer
  std::uint64_t phase = 0;
  Time begin = 0;
  Time end = 0;  // 0: not released
};

struct WarpRecord {
  std::uint32_t cta = 0;  // index of the record
  std::uint32_t warp = 0;
  const char* role = "";
  bool issues_copies = false;
  bool issues_mmas = false;
  Time engine_free = 0;  // when its copies so far have moved
  Time begin = 0;
  std::uint32_t live = 0;  // lanes
  std::array<Time, 32> now{};
  std::array<std::uint32_t, 32> steps{};
  std::array<std::vector<WaitRecord>, 32> waits;  // by lane
  std::uint32_t leader = 0;                       // the lane that has done most so far: it stands for the warp
  std::vector<HoldRecord> holds;
  std::vector<std::uint32_t> open_holds;  // indices of the above, at most one for a barrier
};

struct AsyncRecord {
  enum class Kind : std::uint8_t { kLoad, kStore, kReduce, kToPeer, kClusterRequest, kMultiply };
  Kind kind = Kind::kLoad;
  std::uint32_t warp = 0;  // that issued it
  Time issued = 0;
  Time done = 0;
  std::uint32_t count = 0;
  std::uint32_t finished = 0;
  std::uint64_t bytes = 0;
  std::uint32_t barrier = kNoIndex;  // that is told
  std::uint64_t phase = 0;
  const char* text = "";
  CallSite site = {};
};

struct PhaseRecord {
  Time end = 0;
  Time first_pass = 0;
  std::uint32_t passed_by = kNoIndex;  // the warp
  bool is_over = false;
  Cause cause = {};
};

struct BarrierRecord {
  std::uint32_t cta = 0;
  std::uint32_t offset = 0;
  std::string name = {};  // "full of input[2]"
  machine::BarrierName parts = {};
  std::vector<PhaseRecord> phases = {};  // from the one before phase 0 on, which is over from the start
  // Of the phase that is under way.
  Time latest = 0;
  Cause latest_cause = {};
};

struct CtaRecord {
  std::uint32_t linear = 0;
  std::uint32_t cluster = 0;
  std::uint32_t first_warp = 0;  // index of the record
  std::uint32_t warps = 0;
  struct Round {
    Time latest = 0;
    Cause cause = {};
    bool is_over = false;
  };
  std::array<Round, 16> named;
};

class Recorder final : public Observer {
 public:
  Recorder(const machine::Machine& machine, const LaunchOptions& options, Timeline& timeline);

  EventMask wants() const override;
  void on_event(const Event& event) override;

  // The run is over: what was recorded becomes a launch of the timeline.
  void finish(const Report& report);

 private:
  friend class Drawing;

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
  CtaRecord& cta_of(const Event& event) { return ctas_[cta_index_[event.cta]]; }
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
  const LaunchOptions& options_;
  Timeline& timeline_;
  std::uint64_t room_;  // spans that may still be recorded
  std::uint64_t recorded_ = 0;
  bool is_cut_ = false;
  std::vector<CtaRecord> ctas_;
  std::vector<std::uint32_t> cta_index_;  // by its number in the grid
  std::unordered_map<std::uint64_t, ClusterRecord> clusters_;
  std::vector<Time> free_since_;                     // of SMs that a cluster has left
  std::unordered_map<std::uint64_t, Time> started_;  // clusters
  std::vector<WarpRecord> warps_;
  std::vector<AsyncRecord> operations_;
  std::vector<BarrierRecord> barriers_;
  std::unordered_map<std::uint64_t, std::uint32_t> copies_;  // operation by copy
  std::unordered_map<std::uint64_t, Multiplication> mmas_;
  std::unordered_map<std::uint64_t, Queue> queues_;
  std::unordered_map<std::uint64_t, Commit> commits_;
  std::unordered_map<std::uint64_t, ThreadRecord> threads_;
  std::unordered_map<std::uint64_t, Written> written_;
  std::unordered_map<std::uint64_t, Time> tmem_;  // by warp and kind: when the last of its transfers is done
};

}  // namespace heddle::sim::trace
