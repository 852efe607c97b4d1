// SPDX-License-Identifier: Apache-2.0
//
// What happens in the simulated SM, as it happens. Every effect of every instruction passes this interface;
// checkers and traces are observers of it and never act on the machine.
//
//   struct CountCopies : sim::Observer {
//     sim::EventMask wants() const override { return sim::mask_of(sim::EventKind::kCopyIssue); }
//     void on_event(const sim::Event&) override { ++copies; }
//     int copies = 0;
//   };
#pragma once

#include <heddle/isa/target.h>

#include <cstdint>
#include <initializer_list>

namespace heddle::sim {

// Fields of Event that a kind does not mention are unspecified. `address` is a cluster shared address:
// CTA rank above bit 24, byte offset below. `barrier` is dense over the launch, in order of initialisation.
enum class EventKind : std::uint8_t {
  kCtaStart,         // cta, thread: how many, address: its rank, bytes: shared window, value: its cluster
  kCtaExit,          // cta
  kThreadExit,       // thread
  kBarrierInit,      // thread, barrier, address, value: expected arrivals
  kBarrierInval,     // thread, barrier, address
  kBarrierArrive,    // thread, barrier, phase, value: arrivals; scope; copy: the commit that does it (0: the
                     // thread), bytes: how many arrivals of that commit follow
  kBarrierExpect,    // thread, barrier, phase, value: bytes
  kBarrierComplete,  // copy (0: by hand), barrier, phase, value: bytes
  kBarrierPhase,     // barrier, phase: the one that is now over
  kBarrierBlock,     // thread, barrier, phase: begins to wait
  kBarrierPass,      // thread, barrier, phase: a wait for this phase succeeded; scope
  kNamedArrive,      // thread, value: barrier id
  kNamedPass,        // thread, value: barrier id
  kClusterArrive,    // thread, value: 1 if it releases
  kClusterPass,      // thread
  kWarpMeet,         // thread (of the lane that came last), value: lanes that met; orders
  kSharedRead,       // thread, address, bytes
  kSharedWrite,   // thread, address, bytes, text: tcgen05.alloc, or empty for an ordinary store, value: 1 if the
                  // bytes stay as they were
  kGlobalRead,    // thread, global, bytes, value: 1 if it is not coherent (ld.global.nc)
  kGlobalWrite,   // thread, global, bytes, value: 1 if the bytes stay as they were
  kSharedStrong,  // thread, address, bytes, strong: an access with a memory order, which others may make at the
                  // same time
  kGlobalStrong,  // thread, global, bytes, strong, text: the instruction
  kFence,         // thread, value: a FenceKind
  kCopyIssue,  // copy, thread, address: shared side, bytes, barrier (loads), phase: so many CTAs, value: CopyKind
  kCopyReadShared,   // copy, address, bytes: those that matter, piece by piece; barrier (copies to a peer)
  kCopyWriteShared,  // copy, address, bytes: those that change, piece by piece; barrier that is told, value:
                     // a row with its padding, a power of two, or 0; global: where from, if nobody wrote it
  kCopyReadGlobal,   // copy, global, bytes: row by row, once though several CTAs get them; barrier that is told
  kCopyWriteGlobal,  // copy, global, bytes: likewise
  kCopyReadMap,      // copy, global, bytes: its tensor map, if that is in global memory; barrier (loads)
  kCopyDone,         // copy
  kGroupCommit,      // thread
  kGroupPass,        // thread, value: groups that may still be pending; scope kCta: sources read only
  kRole,             // thread, text: the role's name
  kMmaIssue,       // copy: the operation, thread: lane 0 of a warp (each of four), address: M << 16 | N and bytes
                   // read of shared memory, of one SM; value 1: tcgen05, issued by this thread, text: its name
  kMmaReadShared,  // copy: the operation, address, bytes: part of an operand, read through the async proxy
  kMmaDone,        // copy: the operation
  kMmaFence,       // thread: lane 0 of the warp
  kMmaCommit,      // thread: lane 0 of the warp
  kMmaPass,        // copy: an operation that a warp has waited for, thread: its lane 0, value: groups pending
  kClusterCancel,  // copy: the request, cta that asked, value: linear index of the cancelled cluster's first CTA,
                   // or ~0: refused
  kRegisterCount,  // thread: lane 0 of the warp, value: registers that each thread has now
  kMmaTouchTmem,   // copy: the operation, cta, address: in tensor memory, bytes: columns, value: TmemTouch,
                   // text: which operand it is
  kMmaTell,        // copy: the commit, thread: tcgen05.commit, for what this thread has issued so far
  kTmemAlloc,      // thread: lane 0 of the warp, address: in tensor memory, bytes: columns, value: the cta_group
  kTmemDealloc,    // likewise
  kTmemIssue,      // copy: the load or store, thread: lane 0 of the warp, value: 1 if it stores
  kTmemTouch,      // copy: the load or store, cta, address: in tensor memory, bytes: columns, value: TmemTouch
  kTmemPass,       // thread: lane 0 of the warp, value: 1: it has waited for stores, 0: for loads, or for `copy`
  kAsyncCopy,      // thread, address, bytes, copy: which of the thread's, from 1; global: as kCopyWriteShared
  kAsyncPass,      // thread, copy: how many of its cp.async are over
  kAsyncArrive,    // thread, barrier, address, phase, copy: the barrier is told when so many of its cp.async are
                   // over
  kCount
};

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
  kGridWait,         // griddepcontrol.wait: the launches that this one depends on are complete
  kLaunchDependents  // griddepcontrol.launch_dependents
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
};

struct Event {
  EventKind kind;
  EventScope scope = EventScope::kCta;
  bool orders = false;  // memory accesses of those who meet
  Strong strong = {};
  std::uint32_t cta = 0;     // linear index in the grid
  std::uint32_t thread = 0;  // linear index in the CTA
  std::uint32_t barrier = 0;
  std::uint32_t address = 0;
  std::uint32_t bytes = 0;
  std::uint64_t phase = 0;  // counted from 0; its parity is what a kernel sees
  std::uint64_t value = 0;
  std::uint64_t copy = 0;  // counted from 1 over the launch, copies and MMA operations each on their own
  std::uint64_t global = 0;
  const char* text = "";
  CallSite site = {};
};

using EventMask = std::uint64_t;

constexpr EventMask mask_of(EventKind kind) { return EventMask{1} << static_cast<unsigned>(kind); }

constexpr EventMask mask_of(std::initializer_list<EventKind> kinds) {
  EventMask mask = 0;
  for (EventKind kind : kinds) mask |= mask_of(kind);
  return mask;
}

inline constexpr EventMask kAllEvents = (EventMask{1} << static_cast<unsigned>(EventKind::kCount)) - 1;

class Observer {
 public:
  virtual ~Observer() = default;
  virtual EventMask wants() const { return kAllEvents; }
  virtual void on_event(const Event& event) = 0;
};

}  // namespace heddle::sim
