// SPDX-License-Identifier: Apache-2.0
//
// What can happen in the simulated SM: a type for each kind of event, with what is known of it.
#pragma once

#include <heddle/isa/target.h>

#include <cstdint>

namespace heddle::sim {

namespace machine {
struct TmemMaking;
}

enum class FenceKind : std::uint8_t {
  kMbarrierInit,
  kProxyAsync,
  kProxyAsyncSharedCta,
  kProxyAsyncGlobal,
  kAcqRelCta,
  kAcqRelCluster,
  kAcqRelGpu,
  kTcgen05Before,  // tcgen05.fence::before_thread_sync
  kTcgen05After,
  kTensorMapRelease,  // fence.proxy.tensormap::generic.release, and .acquire
  kTensorMapAcquire,
  kGridWait,          // griddepcontrol.wait: the launches that this one depends on are complete
  kLaunchDependents,  // griddepcontrol.launch_dependents
  kAcquireCta,        // fence.acquire and fence.release: one half of kAcqRelCta and its kin
  kAcquireCluster,
  kAcquireGpu,
  kReleaseCta,
  kReleaseCluster,
  kReleaseGpu
};

// How tensor memory is touched: bit i stands for lanes 16 * i to 16 * i + 15, and bit kLaneShift + j for lane j
// of each of these groups; none of the latter for all.
struct TmemTouch {
  static constexpr std::uint64_t kLanes = 0xFF;
  static constexpr std::uint64_t kWrites = 0x100;
  static constexpr std::uint64_t kNeedsOld = 0x200;  // what was there decides the result
  static constexpr int kLaneShift = 16;
};

enum class CopyKind : std::uint8_t { kLoad, kStore, kReduce, kSharedToPeer, kClcResponse, kStoreAsync };

// Whose accesses an arrival or a wait orders. Relaxed ones order no access of a thread; what is known of copies
// and tensor cores goes along all the same. kUnsaid, of waits: it was left out, which by the manual is CTA scope,
// while every chip gives cluster scope.
enum class EventScope : std::uint8_t { kCta, kCluster, kRelaxed, kUnsaid };

// PTX: Scope. Who may take part in what an operation orders.
enum class MemoryScope : std::uint8_t { kCta, kCluster, kGpu, kSys };

// PTX: Strong operations: atom, red, and loads and stores that are volatile or have a memory order.
struct Strong {
  // What becomes of the bytes that were there: nothing (st, exch), a value or a decision for the thread (ld,
  // cas), or part of what is written (add).
  enum class Old : std::uint8_t { kIgnored, kTaken, kBuiltOn };

  MemoryScope scope = MemoryScope::kGpu;
  Old old = Old::kIgnored;
  bool reads = false;
  bool writes = false;
  bool acquires = false;
  bool releases = false;
  bool adds_floats = false;  // the sum of several depends on their order
  bool is_hint = false;      // weak by the manual: its cache operator makes it strong in the machine code
  bool is_final = false;     // a load whose value counts: none of a loop that waits until it is another
};

// `cta` is its linear index in the grid, and `thread` the linear index in the CTA: of who did it, or of whose
// memory it is. `address` is a cluster shared address: CTA rank above bit 24, byte offset below. `barrier` is
// dense over the launch, in order of initialisation; a `phase` is counted from 0, and its parity is what a kernel
// sees. Copies, operations of tensor cores, commits and transfers of tensor memory are each counted from 1 over
// the launch.
namespace event {

struct CtaStart {
  std::uint32_t cta = 0, threads = 0, rank = 0;
  std::uint32_t shared_bytes = 0;  // its shared window
  std::uint64_t cluster = 0;       // in the grid
};

struct CtaExit {
  std::uint32_t cta = 0;
};

struct ThreadExit {
  std::uint32_t cta = 0, thread = 0;
};

// The thread says what it is.
struct Role {
  std::uint32_t cta = 0, thread = 0;
  const char* name = "";
};

// The thread says which tile of the output it works for, by its row and column among the tiles, and that it is
// done with it.
struct TileBegin {
  std::uint32_t cta = 0, thread = 0, m = 0, n = 0;
};

struct TileEnd {
  std::uint32_t cta = 0, thread = 0;
};

// Registers that each thread of a warp has now.
struct RegisterCount {
  std::uint32_t cta = 0, thread = 0, registers = 0;
  CallSite site = {};
};

// mbarriers.
struct BarrierInit {
  std::uint32_t cta = 0, thread = 0, barrier = 0, address = 0;
  std::uint32_t count = 0;  // arrivals that a phase expects
  CallSite site = {};
};

struct BarrierInval {
  std::uint32_t cta = 0, thread = 0, barrier = 0;
  CallSite site = {};
};

struct BarrierArrive {
  std::uint32_t cta = 0, thread = 0, barrier = 0;
  std::uint64_t phase = 0;
  std::uint32_t count = 0;
  EventScope scope = EventScope::kCta;
  std::uint64_t commit = 0;  // the tcgen05.commit that does it; 0: the thread
  std::uint32_t left = 0;    // arrivals of that commit that follow
  CallSite site = {};
};

struct BarrierExpect {
  std::uint32_t cta = 0, thread = 0, barrier = 0;
  std::uint64_t phase = 0;
  std::uint32_t bytes = 0;
  CallSite site = {};
};

struct BarrierComplete {
  std::uint32_t cta = 0, thread = 0, barrier = 0;
  std::uint64_t phase = 0;
  std::uint32_t bytes = 0;
  std::uint64_t copy = 0;  // whose bytes have landed; 0: the thread counts them by hand
  CallSite site = {};
};

// The phase is now over.
struct BarrierPhase {
  std::uint32_t cta = 0, barrier = 0;
  std::uint64_t phase = 0;
};

// Begins to wait for the phase.
struct BarrierBlock {
  std::uint32_t cta = 0, thread = 0, barrier = 0;
  std::uint64_t phase = 0;
  CallSite site = {};
};

// A wait for the phase has succeeded.
struct BarrierPass {
  std::uint32_t cta = 0, thread = 0, barrier = 0;
  std::uint64_t phase = 0;
  EventScope scope = EventScope::kCta;
  bool is_by_parity = false;  // and not by a token, which names its phase
  CallSite site = {};
};

// Other barriers.
struct NamedArrive {
  std::uint32_t cta = 0, thread = 0, id = 0;
  CallSite site = {};
};

struct NamedPass {
  std::uint32_t cta = 0, thread = 0, id = 0;
  CallSite site = {};
};

struct ClusterArrive {
  std::uint32_t cta = 0, thread = 0;
  bool releases = false;
  CallSite site = {};
};

struct ClusterPass {
  std::uint32_t cta = 0, thread = 0;
  CallSite site = {};
};

// Told for the first of the lanes.
struct WarpMeet {
  std::uint32_t cta = 0, thread = 0;
  std::uint32_t lanes = 0;  // that have met
  bool orders = false;      // their memory accesses
  CallSite site = {};
};

// Memory.
// A row of a matrix that a warp moves together: parts of so many bytes belong to these lanes in turn. Of an
// access of one thread there are none.
struct RowParts {
  std::uint32_t lanes = 0;
  std::uint32_t bytes = 0;
};

struct SharedRead {
  std::uint32_t cta = 0, thread = 0, address = 0, bytes = 0;
  RowParts parts = {};
  CallSite site = {};
};

struct SharedWrite {
  std::uint32_t cta = 0, thread = 0, address = 0, bytes = 0;
  bool keeps_value = false;   // the bytes stay as they were
  bool rounds_value = false;  // or hold floats that differ by what sums in another order do
  bool is_alloc = false;      // by tcgen05.alloc
  RowParts parts = {};
  CallSite site = {};
};

struct GlobalRead {
  std::uint32_t cta = 0, thread = 0;
  std::uint64_t global = 0;
  std::uint32_t bytes = 0;
  bool is_coherent = true;  // not ld.global.nc
  CallSite site = {};
};

struct GlobalWrite {
  std::uint32_t cta = 0, thread = 0;
  std::uint64_t global = 0;
  std::uint32_t bytes = 0;
  bool keeps_value = false;
  CallSite site = {};
};

// An access with a memory order, which others may make at the same time.
struct SharedStrong {
  std::uint32_t cta = 0, thread = 0, address = 0, bytes = 0;
  Strong strong = {};
  CallSite site = {};
};

struct GlobalStrong {
  std::uint32_t cta = 0, thread = 0;
  std::uint64_t global = 0;
  std::uint32_t bytes = 0;
  Strong strong = {};
  const char* instruction = "";
  CallSite site = {};
};

struct Fence {
  std::uint32_t cta = 0, thread = 0;
  FenceKind kind = {};
  CallSite site = {};
};

// Copies. They read and write piece by piece, and tell what matters or changes.
struct CopyIssue {
  std::uint32_t cta = 0, thread = 0;
  std::uint64_t copy = 0;
  CopyKind kind = CopyKind::kLoad;
  std::uint32_t address = 0;  // of the shared side
  std::uint32_t bytes = 0;
  std::uint32_t barrier = 0;        // of loads
  std::uint32_t targets = 1;        // CTAs that get the bytes
  bool is_async_reduction = false;  // into shared memory: red.async, cp.reduce.async.bulk
  CallSite site = {};
};

struct CopyReadShared {
  std::uint32_t cta = 0;
  std::uint64_t copy = 0;
  std::uint32_t address = 0, bytes = 0;
  std::uint32_t barrier = 0;  // of copies to a peer
  CallSite site = {};
};

struct CopyWriteShared {
  std::uint32_t cta = 0;
  std::uint64_t copy = 0;
  std::uint32_t address = 0, bytes = 0;
  std::uint32_t barrier = 0;      // that is told
  std::uint32_t row_pitch = 0;    // what a row takes up with its padding, a power of two; 0: there is none
  bool brings_unwritten = false;  // nobody wrote where it comes from
  CallSite site = {};
};

// Row by row, once though several CTAs get the bytes.
struct CopyReadGlobal {
  std::uint32_t cta = 0;
  std::uint64_t copy = 0, global = 0;
  std::uint32_t bytes = 0;
  std::uint32_t barrier = 0;  // that is told
  CallSite site = {};
};

struct CopyWriteGlobal {
  std::uint32_t cta = 0;
  std::uint64_t copy = 0, global = 0;
  std::uint32_t bytes = 0;
  CallSite site = {};
};

// Its tensor map, if that is in global memory.
struct CopyReadMap {
  std::uint32_t cta = 0, thread = 0;
  std::uint64_t copy = 0, global = 0;
  std::uint32_t bytes = 0;
  std::uint32_t barrier = 0;  // of loads
  CallSite site = {};
};

struct CopyDone {
  std::uint32_t cta = 0;
  std::uint64_t copy = 0;
  CallSite site = {};
};

struct GroupCommit {
  std::uint32_t cta = 0, thread = 0;
  CallSite site = {};
};

struct GroupPass {
  std::uint32_t cta = 0, thread = 0;
  std::uint32_t pending = 0;  // groups that may still be
  bool read_only = false;     // sources were read, and no more
  CallSite site = {};
};

// A request of the CTA for a cluster was decided.
struct ClusterCancel {
  std::uint32_t cta = 0;
  std::uint64_t request = 0;    // counted with the copies
  std::uint64_t first_cta = 0;  // of the cancelled cluster; ~0: refused
  CallSite site = {};
};

// cp.async.
struct AsyncIssue {
  std::uint32_t cta = 0, thread = 0, address = 0, bytes = 0;
  std::uint64_t number = 0;       // among those of the thread, from 1
  bool brings_unwritten = false;  // nobody wrote where it comes from
  CallSite site = {};
};

struct AsyncPass {
  std::uint32_t cta = 0, thread = 0;
  std::uint64_t over = 0;  // so many of its cp.async are
  CallSite site = {};
};

struct AsyncArrive {
  std::uint32_t cta = 0, thread = 0, barrier = 0;
  std::uint64_t phase = 0;
  std::uint64_t issued = 0;  // the barrier is told when so many of its cp.async are over
  CallSite site = {};
};

// Tensor cores. A wgmma is told for lane 0 of each of its four warps.
struct MmaIssue {
  std::uint32_t cta = 0, thread = 0;
  std::uint64_t operation = 0;
  bool is_tcgen05 = false;  // issued by this thread alone
  const char* name = "";
  std::uint32_t m = 0, n = 0;       // of a multiplication
  std::uint32_t operand_bytes = 0;  // read of the shared memory of one SM
  CallSite site = {};
};

// Part of an operand, through the async proxy.
struct MmaReadShared {
  std::uint32_t cta = 0;
  std::uint64_t operation = 0;
  std::uint32_t address = 0, bytes = 0;
  CallSite site = {};
};

struct MmaTouchTmem {
  std::uint32_t cta = 0;
  std::uint64_t operation = 0;
  std::uint32_t address = 0;  // in tensor memory
  std::uint32_t cols = 0;
  std::uint64_t how = 0;  // a TmemTouch
  const char* operand = "";
  const machine::TmemMaking* making = nullptr;  // what the cells are made of, as long as the event is told
  CallSite site = {};
};

struct MmaDone {
  std::uint32_t cta = 0;
  std::uint64_t operation = 0;
  CallSite site = {};
};

struct MmaFence {
  std::uint32_t cta = 0, thread = 0;
  CallSite site = {};
};

struct MmaCommit {
  std::uint32_t cta = 0, thread = 0;
  CallSite site = {};
};

// A warp has waited for the operation.
struct MmaPass {
  std::uint32_t cta = 0, thread = 0;
  std::uint64_t operation = 0;
  std::uint32_t pending = 0;  // groups
  CallSite site = {};
};

// A tcgen05.commit, for what this thread has issued so far.
struct MmaTell {
  std::uint32_t cta = 0, thread = 0;
  std::uint64_t commit = 0;
  CallSite site = {};
};

// Tensor memory: told for lane 0 of the warp.
struct TmemAlloc {
  std::uint32_t cta = 0, thread = 0;
  std::uint32_t address = 0;  // in tensor memory
  std::uint32_t cols = 0;
  int cta_group = 1;
  CallSite site = {};
};

struct TmemDealloc {
  std::uint32_t cta = 0, thread = 0, address = 0, cols = 0;
  int cta_group = 1;
  CallSite site = {};
};

struct TmemIssue {
  std::uint32_t cta = 0, thread = 0;
  std::uint64_t transfer = 0;
  bool is_store = false;
  CallSite site = {};
};

struct TmemMove {
  std::uint32_t cta = 0;
  std::uint64_t transfer = 0;
  std::uint32_t address = 0, cols = 0;
  std::uint64_t how = 0;  // a TmemTouch
  CallSite site = {};
};

// A warp has waited for its loads or its stores.
struct TmemPass {
  std::uint32_t cta = 0, thread = 0;
  std::uint64_t transfer = 0;  // 0: all of them
  bool is_store = false;
  CallSite site = {};
};

}  // namespace event

}  // namespace heddle::sim
