// SPDX-License-Identifier: Apache-2.0
//
// The machine: CTAs with their threads, shared memory and barriers, the copy engine, and an entry for each
// instruction. Its operands are what the hardware sees: 32-bit shared addresses (the CTA's rank in the
// cluster above bit 24), 64-bit global addresses, register values. It does not know how threads are run: a
// front end executes a thread until an instruction blocks it, and a scheduler picks what goes next.
//
// An entry checks its operands, changes the state and emits the event, in this order. Entries that can
// block return false when they did; the thread is then not ready until the machine makes it so.
#pragma once

#include "sim/machine/async_copy.h"
#include "sim/machine/clc.h"
#include "sim/machine/fault.h"
#include "sim/machine/findings.h"
#include "sim/machine/mbarrier.h"
#include "sim/machine/named_barrier.h"
#include "sim/machine/scaled_core.h"
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
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle::sim::machine {

using SharedAddress = std::uint32_t;

inline constexpr std::uint32_t kRankShift = 24;
inline constexpr std::uint32_t kOffsetMask = (1u << kRankShift) - 1;

// Which rows a tensor copy takes: those of a box, or four that its coordinates name (gather4, scatter4).
enum class TileMode : std::uint8_t { kTile, kFourRows, kPixels };

// A kernel's dynamic shared memory starts behind the kilobyte that the system keeps for itself.
inline constexpr std::uint32_t kSharedBase = 1024;
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

// What a thread hands over with a stmatrix or ldmatrix.
struct MatrixOperands {
  SharedAddress row = 0;  // only of the lanes that have one
  std::uint32_t* registers = nullptr;
  std::uint32_t count = 0;  // matrices
  bool transposed = false;
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

class Machine {
 public:
  Machine(const LaunchOptions& options, const LaunchShape& shape, std::uint32_t threads_per_cta,
          std::size_t shared_bytes, std::uint32_t registers = 0);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Clusters enter as SMs become free; each call starts what fits and says which threads are new.
  std::vector<Thread*> start_clusters();
  bool has_free_sms() const;  // and clusters that wait for them
  bool all_done() const { return pending_.is_empty() && resident_threads_ == 0; }

  const std::vector<Thread*>& ready() const { return ready_; }
  TmaEngine& tma() { return tma_; }

  // Asynchronous operations that can go on: copies, requests for clusters, warpgroups whose oldest MMA has been
  // issued, queues of tcgen05 operations, and loads and stores of tensor memory.
  std::size_t in_flight() const {
    return tma_.in_flight() + clc_.in_flight() + mma_ready_.size() + tcgen05_ready_.size() + tmem_ready_.size();
  }
  void step_copy(std::size_t index, std::uint64_t entropy);

  // Special registers and addresses.
  std::uint32_t threads_per_cta() const { return threads_per_cta_; }
  isa::Dim3 grid() const { return shape_.grid; }
  Arch arch() const { return options_.arch; }
  SharedAddress mapa(const Thread& thread, SharedAddress address, std::uint32_t rank, CallSite site) const;

  void thread_exit(Thread& thread);

  // mbarrier.
  void mbarrier_init(Thread& thread, SharedAddress address, std::uint32_t count, CallSite site);
  void mbarrier_inval(Thread& thread, SharedAddress address, CallSite site);
  std::uint64_t mbarrier_arrive(Thread& thread, SharedAddress address, std::uint32_t count, EventScope scope,
                                CallSite site);
  std::uint64_t mbarrier_arrive_no_complete(Thread& thread, SharedAddress address, std::uint32_t count,
                                            CallSite site);
  std::uint64_t mbarrier_arrive_drop(Thread& thread, SharedAddress address, std::uint32_t count, CallSite site);
  void mbarrier_expect_tx(Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site);
  std::uint64_t mbarrier_arrive_expect_tx(Thread& thread, SharedAddress address, std::uint32_t bytes,
                                          EventScope scope, CallSite site);
  void mbarrier_complete_tx(Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site);
  bool mbarrier_test_wait_parity(Thread& thread, SharedAddress address, std::uint32_t parity, EventScope scope,
                                 CallSite site);
  bool mbarrier_test_wait(Thread& thread, SharedAddress address, std::uint64_t state, EventScope scope,
                          CallSite site);
  // After the test failed: the thread sleeps until the awaited phase is over.
  void mbarrier_suspend_parity(Thread& thread, SharedAddress address, std::uint32_t parity, CallSite site);
  void mbarrier_suspend(Thread& thread, SharedAddress address, std::uint64_t state, CallSite site);
  // Ends the sleep of threads that may give up, when nothing else can go on. False if all of them have tried
  // again and again for the same phase while nothing changed.
  bool end_tries();

  // Other barriers.
  bool bar_sync(Thread& thread, std::uint32_t id, std::uint32_t threads, CallSite site);
  bool bar_sync_all(Thread& thread, std::uint32_t id, CallSite site);  // all threads that have not exited
  void bar_arrive(Thread& thread, std::uint32_t id, std::uint32_t threads, CallSite site);
  // The same as bar_sync, or with 0 threads as bar_sync_all; once the round is over, the thread's result is the
  // reduction of what all of them have said.
  bool bar_red(Thread& thread, std::uint32_t id, std::uint32_t threads, NamedReduction reduction, bool says_yes,
               CallSite site);
  void cluster_arrive(Thread& thread, bool releases, CallSite site);
  bool cluster_wait(Thread& thread, CallSite site);
  // The thread has done something for its whole warp, which had met: it comes before what they do next.
  void did_for_warp(const Thread& thread, CallSite site);
  bool warp_meet(Thread& thread, WarpOp op, std::uint32_t mask, std::uint32_t value, std::uint32_t operand,
                 CallSite site);

  // Memory and fences.
  void ld_shared(Thread& thread, SharedAddress address, void* registers, std::uint32_t bytes, CallSite site);
  void st_shared(Thread& thread, SharedAddress address, const void* registers, std::uint32_t bytes,
                 CallSite site);
  void ld_global(Thread& thread, std::uint64_t address, void* registers, std::uint32_t bytes, CallSite site,
                 bool is_coherent = true);
  void st_global(Thread& thread, std::uint64_t address, const void* registers, std::uint32_t bytes,
                 CallSite site);
  void fence(Thread& thread, FenceKind kind, CallSite site);
  // Accesses that others may make at the same time: atom, red, and loads and stores that are volatile or have a
  // memory order. `update` reads and writes the bytes in place, and says whether it did write.
  using Update = std::function<bool(std::byte*)>;
  void atom_shared(Thread& thread, SharedAddress address, std::uint32_t bytes, const char* instruction,
                   const Strong& how, CallSite site, const Update& update);
  void atom_global(Thread& thread, std::uint64_t address, std::uint32_t bytes, const char* instruction,
                   const Strong& how, CallSite site, const Update& update);

  // The copy engine.
  void tensor_load(Thread& thread, int cta_group, SharedAddress destination, const MapOperand& map,
                   const std::int32_t* coords, int rank, SharedAddress barrier, std::uint16_t mask, CallSite site,
                   TileMode mode = TileMode::kTile);
  void tensor_store(Thread& thread, const MapOperand& map, const std::int32_t* coords, int rank,
                    SharedAddress source, CallSite site, TileMode mode = TileMode::kTile);
  void tensor_reduce(Thread& thread, isa::ReduceOp op, const MapOperand& map, const std::int32_t* coords,
                     int rank, SharedAddress source, CallSite site);
  void tensor_prefetch(Thread& thread, const MapOperand& map, const std::int32_t* coords, int rank,
                       CallSite site);
  // `mask` names the CTAs that get the bytes, each at the same place; 0: the one of the address.
  void bulk_load(Thread& thread, SharedAddress destination, std::uint64_t global, std::uint32_t bytes,
                 SharedAddress barrier, CallSite site, std::uint16_t mask = 0);
  void bulk_store(Thread& thread, std::uint64_t global, SharedAddress source, std::uint32_t bytes, CallSite site);
  void bulk_to_peer(Thread& thread, SharedAddress destination, SharedAddress source, std::uint32_t bytes,
                    SharedAddress barrier, CallSite site, Reduction reduction = nullptr);
  void bulk_reduce(Thread& thread, Reduction reduction, std::uint64_t global, SharedAddress source,
                   std::uint32_t bytes, CallSite site);
  // st.async, and red.async if there is a reduction: a value of 4, 8 or 16 bytes on its way to a CTA of the
  // cluster.
  void store_async(Thread& thread, SharedAddress destination, const void* value, std::uint32_t bytes,
                   SharedAddress barrier, Reduction reduction, CallSite site);
  void bulk_commit_group(Thread& thread, CallSite site);
  bool bulk_wait_group(Thread& thread, std::uint32_t pending, bool read_only, CallSite site);

  // Copies of a thread. The first of `lands_now` and the wait says when the bytes change.
  void cp_async(Thread& thread, const AsyncCopy& operands, bool lands_now, CallSite site);
  void cp_async_commit_group(Thread& thread);
  void cp_async_wait_group(Thread& thread, std::uint32_t pending, CallSite site);
  void cp_async_mbarrier_arrive(Thread& thread, SharedAddress barrier, bool noinc, CallSite site);

  // Cluster launch control.
  void clc_try_cancel(Thread& thread, SharedAddress response, SharedAddress barrier, bool is_multicast,
                      CallSite site);
  bool clc_is_canceled(Thread& thread, const isa::Bytes16& response, CallSite site);
  isa::Dim3 clc_first_ctaid(const Thread& thread, const isa::Bytes16& response, CallSite site) const;
  // Takes a cluster that has not started out of the launch: the ctaid of its first CTA, if there is one.
  std::optional<isa::Dim3> cancel_cluster(std::uint64_t entropy);
  std::uint32_t linear_of(const isa::Dim3& ctaid) const {
    return ctaid.x + shape_.grid.x * (ctaid.y + shape_.grid.y * ctaid.z);
  }

  // Warps and matrices. Those that return false go on when the rest of the warp has come.
  bool stmatrix(Thread& thread, const MatrixOperands& operands, CallSite site);
  bool ldmatrix(Thread& thread, const MatrixOperands& operands, CallSite site);

  // wgmma. The operands, and the registers that they point to, stay in place: the operands until the warp has
  // met, the accumulators until they were waited for.
  bool wgmma_fence(Thread& thread, CallSite site);
  bool wgmma_mma_async(Thread& thread, const WgmmaOperands& operands, CallSite site);
  bool wgmma_commit_group(Thread& thread, CallSite site);
  // The warp meets, then each of its threads waits, again if it was blocked.
  bool wgmma_wait_arrive(Thread& thread, std::uint32_t pending, CallSite site);
  bool wgmma_wait_group(Thread& thread, std::uint32_t pending, CallSite site);

  // Tensor memory. The registers that operands point to stay in place until a load was waited for. Where there
  // are two entries, the warp meets at the first, and each of its threads waits at the second, again if it was
  // blocked.
  bool tcgen05_alloc(Thread& thread, const TmemOperands& operands, CallSite site);
  bool tcgen05_dealloc(Thread& thread, const TmemOperands& operands, CallSite site);
  bool tcgen05_request_wait(Thread& thread, CallSite site);  // for either
  bool tcgen05_relinquish_alloc_permit(Thread& thread, const TmemOperands& operands, CallSite site);
  bool tcgen05_ld(Thread& thread, const TmemOperands& operands, CallSite site);
  bool tcgen05_st(Thread& thread, const TmemOperands& operands, CallSite site);
  // An instruction of the warp needs registers that a load fills, which begin here for lane 0: they are filled
  // now.
  void tcgen05_deliver(const Thread& thread, const std::uint32_t* registers);
  bool tcgen05_wait_arrive(Thread& thread, bool for_stores, CallSite site);
  bool tcgen05_wait(Thread& thread, bool for_stores, CallSite site);

  // tcgen05, each by one thread.
  void tcgen05_mma(Thread& thread, const Tcgen05Operands& operands, CallSite site);
  void tcgen05_cp(Thread& thread, const Tcgen05Copy& copy, CallSite site);
  void tcgen05_commit(Thread& thread, int cta_group, SharedAddress barrier, CallSite site);
  void tcgen05_commit_multicast(Thread& thread, int cta_group, SharedAddress barrier, std::uint16_t mask,
                                CallSite site);
  void tcgen05_fence(Thread& thread, FenceKind kind, CallSite site);
  // What was issued on these columns of a CTA, and what was issued before it, happens now: before they go away.
  void run_tcgen05_on(const Cta& cta, std::uint32_t column, std::uint32_t cols);

  // The warp meets, then each of its threads waits, again if it was blocked.
  bool setmaxnreg(Thread& thread, bool increases, std::uint32_t count, CallSite site);
  bool setmaxnreg_wait(Thread& thread, CallSite site);
  // When nothing can go on: faults if a thread waits for registers.
  void check_register_waits() const;

  // Names.
  void annotate_role(Thread& thread, const char* role);
  void annotate_barriers(Thread& thread, SharedAddress first, std::uint32_t count, const char* pipeline,
                         isa::BarrierRole role);

  // For checkers, reports and the copy engine.
  const std::deque<Barrier>& barriers() const { return barriers_; }
  Barrier* find_barrier(const Cta& cta, std::uint32_t offset);
  BarrierName name_of(const Cta& cta, std::uint32_t offset) const;
  std::string describe(const Barrier& barrier) const;  // "full of input[2]"
  std::string describe_shared(const Cta& cta, std::uint32_t offset) const;
  std::string describe(const Thread& thread) const;  // "load, warp 0, lane 0"
  std::string describe(const Cta& cta) const;        // "block 3", empty if there is only one
  std::vector<const Thread*> resident_threads() const;
  std::uint64_t state_changes() const { return state_changes_ + meetings_; }
  Stats& stats() { return stats_; }
  const GlobalMemory& global() const { return *global_; }
  bool has_one_cta() const { return grid_ctas_ == 1; }

  bool wants(EventKind kind) const { return (wanted_ & mask_of(kind)) != 0; }
  void emit(const Event& event) {
    for (const Listener& listener : observers_) {
      if ((listener.wants & mask_of(event.kind)) != 0) listener.observer->on_event(event);
    }
  }
  // `internal` observers of the launcher, beside the user's.
  void add_observer(Observer& observer);

  const TmaEngine& tma() const { return tma_; }
  const ClcUnit& clc() const { return clc_; }
  void complete_tx(Cta& cta, std::uint32_t barrier_offset, std::uint32_t bytes, std::uint64_t copy,
                   CallSite site);
  void copy_changed(Thread* issuer);  // a bulk group of this thread has come further
  Cta& cta_of(const Thread& thread, SharedAddress address, CallSite site, const char* instruction) const;
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
  ClcResponse clc_response(const Thread& thread, const isa::Bytes16& bytes, CallSite site) const;
  void make_ready(Thread& thread);
  void block(Thread& thread, const Wait& wait);
  void wake_waiters(Barrier& barrier);
  void settle(Barrier& barrier);
  // Emits what a thread did to a barrier.
  void tell(EventKind kind, const Thread& thread, const Barrier& barrier, std::uint64_t phase,
            std::uint64_t value, EventScope scope, CallSite site);
  void changed() { ++state_changes_; }
  Barrier& live_barrier(const Thread& thread, SharedAddress address, CallSite site, const char* instruction);
  Barrier& own_barrier(const Thread& thread, SharedAddress address, CallSite site, const char* instruction);
  EventScope wide_enough(const Thread& thread, const Barrier& barrier, EventScope scope, CallSite site,
                         const char* instruction);
  void check(MbarrierFault mistake, const Thread& thread, const Barrier& barrier, std::uint64_t value,
             CallSite site, const char* instruction) const;
  std::uint32_t whole_cta() const { return (threads_per_cta_ + 31) / 32 * 32; }  // as barriers count it
  void finish_meeting(const Thread& thread, const Rendezvous& meeting, CallSite site);
  void exit_meetings(const Thread& thread);
  bool named_wait(Thread& thread, std::uint32_t id, std::uint32_t threads, bool is_of_all, CallSite site);
  void named_arrive(Thread& thread, std::uint32_t id, std::uint32_t threads, bool is_of_all, CallSite site);
  void finish_named_round(Cta& cta, std::uint32_t id, const Thread& last, CallSite site);
  void exit_named_barriers(const Thread& thread);
  void check_named_operands(const Thread& thread, std::uint32_t id, std::uint32_t threads, CallSite site) const;
  std::byte* shared_bytes(const Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site,
                          const char* instruction) const;
  void check_not_barrier(const Thread& thread, const Cta& cta, std::uint32_t offset, std::uint32_t bytes,
                         CallSite site, const char* instruction, bool writes = true) const;
  void issue_store(Thread& thread, CopyKind kind, isa::ReduceOp op, const MapOperand& map,
                   const TensorMapSpec& spec, BoxCopy box, std::uint32_t offset, CallSite site);
  void check_peer_bytes(const Thread& thread, const Cta& target, std::uint32_t offset, std::uint32_t bytes,
                        CallSite site, const char* instruction) const;
  Warpgroup& whole_warpgroup(const Thread& thread, CallSite site, const char* instruction) const;
  bool meet_at_matrix(Thread& thread, WarpOp op, const MatrixOperands& operands, CallSite site);
  void issue_wgmma(Warpgroup& group, const Thread& thread, const WgmmaOperands& operands, CallSite site);
  WgmmaAccumulator& use_accumulator(WgmmaWarp& warp, const Thread& thread, const WgmmaOperands& operands,
                                    CallSite site);
  void step_mma(std::size_t index);
  void check_wgmma_at_exit(const Thread& thread);
  void require_sm100(const Thread& thread, CallSite site, const char* instruction) const;
  // The other CTA, if the group is a pair; checks that there is one, and that the CTA uses no other group.
  Cta* join_cta_group(Thread& thread, int cta_group, CallSite site, const char* instruction);
  bool meet_at_tmem(Thread& thread, WarpOp op, const TmemOperands& operands, CallSite site);
  void serve_tmem_requests(Cta& cta);
  void store_allocation(Thread& thread, SharedAddress slot, std::uint32_t column, CallSite site);
  bool serve_tmem_request(Cta& cta, const TmemRequest& request);
  bool transfer_tmem(Thread& thread, bool is_store, const TmemOperands& operands, CallSite site);
  std::uint32_t own_lanes(const Thread& thread, TmemShape shape, std::uint32_t taddr, CallSite site,
                          const char* instruction) const;
  void check_tmem_cols(const Thread& thread, const Cta& cta, std::uint32_t column, std::uint32_t cols,
                       const std::string& what, CallSite site) const;
  void check_not_freed(const Thread& by, bool was_awaited, const Cta& cta, std::uint32_t column,
                       std::uint32_t cols, const std::string& what, CallSite site);
  void check_stored_value(const Thread& thread, const void* registers, std::uint32_t bytes, CallSite site);
  void check_tmem_at_exit(const Thread& thread);
  void check_tmem_at_exit(const Cta& cta);
  void step_tmem(std::size_t index);
  void wake_warp(const Cta& cta, std::uint32_t warp);
  void check_tcgen05_operand(const Thread& thread, char operand, std::uint64_t descriptor, Major major,
                             OperandType type, std::uint32_t rows, CallSite site) const;
  void refuse_tcgen05(const Thread& thread, Tcgen05Fault wrong, CallSite site) const;
  void tell_issue(const Thread& thread, std::uint64_t id, const char* name, CallSite site);
  void enqueue(Thread& thread, Tcgen05Operation operation);
  void commit(Thread& thread, int cta_group, SharedAddress barrier, std::vector<std::uint32_t> ranks,
              CallSite site);
  void step_tcgen05(std::size_t index);
  void run_tcgen05_mma(const Tcgen05Queue& queue, const Tcgen05Operation& operation);
  void run_tcgen05_cp(const Tcgen05Queue& queue, const Tcgen05Operation& operation);
  void tell_operand(const Cta& cta, const Tcgen05Operation& operation, const std::vector<SharedRange>& ranges);
  void touch_tmem(const Tcgen05Queue& queue, const Cta& cta, const Tcgen05Operation& operation,
                  std::uint32_t taddr, std::uint32_t cols, std::uint64_t how, const char* operand);
  void touch_scales(const Tcgen05Queue& queue, const Cta& cta, const Tcgen05Operation& operation, char side,
                    std::uint32_t rows);
  std::vector<Scale> read_scales(const Tcgen05Queue& queue, Cta& cta, const Tcgen05Operation& operation,
                                 char side, std::uint32_t rows);
  void run_tcgen05_commit(const Tcgen05Queue& queue, const Tcgen05Operation& operation);
  void check_registers_at_exit(const Cta& cta) const;
  void land(Thread& thread, const AsyncCopy& copy);
  void land_until(Thread& thread, std::uint64_t number);
  void finish_cluster_round(Cluster& cluster);
  void cta_exit(Cta& cta);

  const LaunchOptions& options_;
  LaunchShape shape_;
  std::uint32_t threads_per_cta_;
  std::uint32_t shared_bytes_;
  std::uint32_t registers_;  // of each thread at the start, as they are handed out; 0: not known
  std::uint32_t cluster_size_;
  std::uint64_t grid_ctas_;
  std::uint64_t cluster_count_;
  PendingClusters pending_;
  std::uint64_t resident_threads_ = 0;
  std::uint64_t state_changes_ = 0;
  std::uint64_t meetings_ = 0;  // arrivals of lanes at warp-wide instructions, which a loop that polls may repeat

  GlobalMemory no_memory_;
  const GlobalMemory* global_;
  std::vector<Listener> observers_;
  EventMask wanted_ = 0;

  std::vector<Cluster> clusters_;  // resident slots
  std::vector<std::unique_ptr<Cta>> ctas_;
  std::vector<Thread> threads_;
  std::vector<Thread*> ready_;
  std::deque<Barrier> barriers_;
  TmaEngine tma_;
  ClcUnit clc_;
  std::vector<Warpgroup*> mma_ready_;
  std::uint64_t next_mma_id_ = 1;
  std::vector<Tcgen05Queue*> tcgen05_ready_;
  std::uint64_t next_commit_id_ = 1;
  std::vector<TmemTransfer*> tmem_ready_;
  std::uint64_t next_transfer_id_ = 1;
  Findings findings_;
  Stats stats_;
};

}  // namespace heddle::sim::machine
