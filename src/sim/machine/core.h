// SPDX-License-Identifier: Apache-2.0
//
// What all units of the SM share: CTAs with their threads and shared memory, and the class Core, which starts and
// ends them, blocks and wakes threads, and tells observers and findings.
#pragma once

#include "sim/machine/address.h"
#include "sim/machine/async_copy.h"
#include "sim/machine/clc.h"
#include "sim/machine/fault.h"
#include "sim/machine/findings.h"
#include "sim/machine/mbarrier.h"
#include "sim/machine/named_barrier.h"
#include "sim/machine/tcgen05.h"
#include "sim/machine/tma.h"
#include "sim/machine/tmem.h"
#include "sim/machine/warp.h"
#include "sim/machine/wgmma.h"

#include <heddle/isa/annotate.h>
#include <heddle/isa/clc.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tensor_map.h>
#include <heddle/isa/tma.h>
#include <heddle/sim/event.h>
#include <heddle/sim/global_memory.h>
#include <heddle/sim/launch.h>
#include <heddle/sim/report.h>

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle::sim::machine {

inline constexpr std::uint32_t kMaxThreads = 1024;

struct Cta;
struct Thread;

struct Barrier {
  Mbarrier state;
  std::uint32_t id = 0;
  Cta* cta = nullptr;
  std::uint32_t offset = 0;
  bool live = false;
  Thread* first_waiter = nullptr;
};

enum class WaitKind : std::uint8_t {
  kNone,
  kMbarrier,
  kNamedBarrier,
  kClusterBarrier,
  kWarp,
  kBulkGroup,
  kWgmmaGroup,
  kRegisters,
  kTmemColumns,  // an allocation that finds too few, or waits for the other CTA of the pair
  kTmemPeer,     // a deallocation that waits for the other CTA of the pair
  kTmemLoads,
  kTmemStores
};

struct Wait {
  WaitKind kind = WaitKind::kNone;
  Barrier* barrier = nullptr;
  std::uint64_t phase = 0;  // mbarrier: the awaited phase; cluster barrier: the awaited round; wgmma: the
                            // operations of the warpgroup that must be done
  std::uint32_t id = 0;     // named barrier
  std::uint32_t mask = 0;   // warp: the lanes that must meet
  std::uint32_t groups =
      0;  // that may stay pending; setmaxnreg: registers that are wanted; tcgen05.alloc: columns
  bool read_only = false;
  CallSite site = {};
};

enum class ThreadState : std::uint8_t { kReady, kBlocked, kExited };

// How often a thread has given up the wait for one phase with nothing changed in between.
struct Tries {
  const Barrier* barrier = nullptr;
  std::uint64_t phase = 0;
  std::uint64_t changes = 0;  // of the machine's state, when it last gave up
  std::uint32_t count = 0;
};

// Matrices of 8 x 8 numbers of 16 bits; of 16 x 16 bytes (ldmatrix.b8), or 16 x 8 (stmatrix.b8), transposed.
enum class MatrixShape : std::uint8_t { k8x8, k8x8Transposed, k16x16Bytes, k16x8Bytes };

// What a thread hands over with a stmatrix or ldmatrix.
struct MatrixOperands {
  SharedAddress row = 0;  // only of the lanes that have one
  std::uint32_t* registers = nullptr;
  std::uint32_t count = 0;  // registers; each is filled from eight rows
  MatrixShape shape = MatrixShape::k8x8;
};

struct Thread {
  Cta* cta = nullptr;
  std::uint32_t tid = 0;   // in the CTA
  std::uint32_t slot = 0;  // among the threads resident now
  ThreadState state = ThreadState::kExited;
  std::uint32_t ready_index = 0;
  const char* role = "";
  Wait wait;
  Thread* next_waiter = nullptr;
  Tries tries;
  std::uint32_t result = 0;  // of the last warp-wide instruction
  std::uint64_t cluster_arrivals = 0;
  std::uint64_t cluster_waits = 0;
  BulkGroups groups;
  AsyncCopies copies;
  const WgmmaOperands* wgmma = nullptr;    // of the instruction it is at
  const MatrixOperands* matrix = nullptr;  // likewise
  const TmemOperands* tmem = nullptr;      // likewise
  std::uint32_t tmem_loads = 0;            // tcgen05.ld of its warp that have not been waited for
  Tcgen05Queue* tcgen05 = nullptr;         // if it has ever issued anything to it

  std::uint32_t warp() const { return tid / 32; }
  std::uint32_t lane() const { return tid % 32; }
};

struct Cluster {
  std::vector<Cta*> ctas;      // by rank
  std::byte* arena = nullptr;  // the shared memory of all its CTAs, kArenaStride apart
  std::uint32_t threads = 0;   // that have not exited
  std::uint32_t arrived = 0;   // on the cluster barrier, this round
  std::uint64_t round = 0;
  bool running = false;
};

inline constexpr std::uint32_t kArenaStride = 1u << 18;

// Neighbouring barriers that stand for the stages of one pipeline.
struct NamedRange {
  std::uint32_t first = 0;  // offset of stage 0's
  std::uint32_t count = 0;
  const char* pipeline = "";
  isa::BarrierRole role = isa::BarrierRole::kOther;
};

struct Cta {
  Cluster* cluster = nullptr;
  std::uint32_t slot = 0;  // among the resident CTAs: the SM
  std::uint32_t rank = 0;
  std::uint32_t linear = 0;  // in the grid
  isa::Dim3 id{};
  isa::Dim3 id_in_cluster{};
  isa::Dim3 cluster_id{};
  std::byte* shared = nullptr;   // address 0 of its shared window
  std::uint32_t shared_end = 0;  // first address behind its shared memory
  std::uint32_t live_threads = 0;
  bool exited = false;
  bool has_seen_clc_failure = false;
  CallSite clc_failure_site = {};
  std::array<NamedBarrier, 16> named;
  std::vector<Warp> warps;
  std::deque<Warpgroup> warpgroups;  // the whole ones
  std::uint32_t free_registers = 0;
  Tmem tmem;
  std::deque<Tcgen05Queue> tcgen05_queues;  // one for each thread that has issued something
  std::vector<std::uint32_t> barrier_at;    // by address / 8: barrier id + 1
  std::vector<std::uint32_t> barrier_ids;   // of all it has initialised
  std::vector<NamedRange> names;
  Thread* threads = nullptr;
};

// What a barrier is called.
struct BarrierName {
  const char* pipeline = "";
  std::uint32_t stage = 0;
  isa::BarrierRole role = isa::BarrierRole::kOther;
};

// "tile_copy.h:87"
std::string place(CallSite site);

// What the units share. A unit keeps its own instructions and what is in flight in it; what it asks of the core
// is here: who is where, blocking and waking threads, telling observers, and stopping at a mistake.
class Core {
 public:
  Core(const LaunchOptions& options, const LaunchShape& shape, std::uint32_t threads_per_cta,
       std::size_t shared_bytes, std::uint32_t registers);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // The launch.
  const LaunchOptions& options() const { return options_; }
  Arch arch() const { return options_.arch; }
  isa::Dim3 grid() const { return shape_.grid; }
  bool has_one_cta() const { return grid_ctas_ == 1; }
  std::uint32_t cluster_size() const { return cluster_size_; }
  std::uint32_t threads_per_cta() const { return threads_per_cta_; }
  std::uint32_t whole_cta() const { return (threads_per_cta_ + 31) / 32 * 32; }  // as barriers count it
  std::uint32_t start_registers() const { return registers_; }                   // of each thread; 0: not known
  std::uint32_t linear_of(const isa::Dim3& ctaid) const {
    return ctaid.x + shape_.grid.x * (ctaid.y + shape_.grid.y * ctaid.z);
  }
  const GlobalMemory& global() const { return *global_; }
  Stats& stats() { return stats_; }

  // Clusters enter as SMs become free; each call starts what fits and says which threads are new.
  std::vector<Thread*> start_clusters();
  bool has_free_sms() const;  // and clusters that wait for them
  bool all_done() const { return pending_.is_empty() && resident_threads_ == 0; }
  // Takes a cluster that has not started out of the launch: the ctaid of its first CTA, if there is one.
  std::optional<isa::Dim3> cancel_cluster(std::uint64_t entropy);

  // Threads.
  const std::vector<Thread*>& ready() const { return ready_; }
  std::vector<Thread>& threads() { return threads_; }
  const std::vector<Thread>& threads() const { return threads_; }
  std::vector<const Thread*> resident_threads() const;
  void make_ready(Thread& thread);
  void block(Thread& thread, const Wait& wait);
  void retire(Thread& thread);  // it has exited

  // How often anything has changed that another thread could see; lanes that meet, which a loop that polls may
  // repeat, apart.
  void changed() { ++state_changes_; }
  void lane_met() { ++meetings_; }
  std::uint64_t changes() const { return state_changes_; }
  std::uint64_t state_changes() const { return state_changes_ + meetings_; }

  // Counted from 1 over all operations that count bytes on a barrier, whichever unit runs them.
  std::uint64_t take_copy_id() { return next_copy_id_++; }

  // Addresses. Each faults if there is nothing at the address.
  SharedAddress mapa(const Thread& thread, SharedAddress address, std::uint32_t rank, CallSite site) const;
  Cta& cta_of(const Thread& thread, SharedAddress address, CallSite site, const char* instruction) const;
  std::byte* shared_bytes(const Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site,
                          const char* instruction) const;

  // Names.
  void annotate_role(Thread& thread, const char* role);
  void annotate_barriers(Thread& thread, SharedAddress first, std::uint32_t count, const char* pipeline,
                         isa::BarrierRole role);
  void annotate_named_barriers(Thread& thread, std::uint32_t first, std::uint32_t count, const char* use);
  BarrierName name_of(const Cta& cta, std::uint32_t offset) const;
  std::string describe(const Barrier& barrier) const;  // "full of input[2]"
  std::string describe_shared(const Cta& cta, std::uint32_t offset) const;
  std::string describe_named(const Cta& cta, std::uint32_t id) const;  // "named barrier 3 (turns[1])"
  std::string describe(const Thread& thread) const;                    // "load, warp 0, lane 0"
  std::string describe(const Cta& cta) const;                          // "block 3", empty if there is only one

  // Observers.
  template <class Kind>
  bool wants() const {
    return (wanted_ & mask_of<Kind>()) != 0;
  }
  template <class Kind>
  void emit(const Kind& kind) {
    if (!wants<Kind>()) return;
    const Event event(kind);
    for (const Listener& listener : observers_) {
      if ((listener.wants & mask_of<Kind>()) != 0) listener.observer->on_event(event);
    }
  }
  // `internal` observers of the launcher, beside the user's.
  void add_observer(Observer& observer);

  // A mistake that the machine cannot go on after.
  [[noreturn]] void fault(const Thread* thread, CallSite site, FaultCode code, std::string headline,
                          std::vector<std::string> details = {}) const;
  // One that it can: returns if the launch goes on, as if it had been none. `places` starts at the site.
  void judge(const Thread* thread, CallSite site, Fault mistake);
  Findings& findings() { return findings_; }
  const Findings& findings() const { return findings_; }

 private:
  struct Listener {
    Observer* observer;
    EventMask wants;
  };

  Fault placed(const Thread* thread, CallSite site, Fault mistake) const;  // with a line for who and where
  isa::Dim3 cluster_at(std::uint64_t index) const;                         // counted in clusters
  void start_cluster(Cluster& cluster, std::uint32_t index);

  const LaunchOptions& options_;
  LaunchShape shape_;
  std::uint32_t threads_per_cta_;
  std::uint32_t shared_bytes_;
  std::uint32_t registers_;
  std::uint32_t cluster_size_;
  std::uint64_t grid_ctas_;
  std::uint64_t cluster_count_;
  PendingClusters pending_;
  std::uint64_t resident_threads_ = 0;
  std::uint64_t state_changes_ = 0;
  std::uint64_t meetings_ = 0;
  std::uint64_t next_copy_id_ = 1;

  GlobalMemory no_memory_;
  const GlobalMemory* global_;
  std::vector<Listener> observers_;
  EventMask wanted_ = 0;

  std::vector<Cluster> clusters_;  // resident slots
  std::vector<std::unique_ptr<Cta>> ctas_;
  std::vector<Thread> threads_;
  std::vector<Thread*> ready_;
  Findings findings_;
  Stats stats_;
};

}  // namespace heddle::sim::machine
