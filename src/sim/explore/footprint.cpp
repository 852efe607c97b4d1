// SPDX-License-Identifier: Apache-2.0
#include "sim/explore/footprint.h"

#include <algorithm>

namespace heddle::sim::explore {

namespace {

// The high bits of an object say what it is.
constexpr int kWhatShift = 56;
enum What : std::uint64_t { kBarrier = 1, kNamed, kClusterRound, kGroups, kShared, kGlobal };

std::uint64_t object_of(What what, std::uint64_t number) { return std::uint64_t{what} << kWhatShift ^ number; }

std::uint64_t thread_of(const Event& event) { return std::uint64_t{event.cta} << 10 | event.thread; }

bool clash(const Touch& a, const Touch& b) {
  if (a.object != b.object) return false;
  const auto [low, high] = std::minmax(a.kind, b.kind);
  switch (low) {
    case TouchKind::kRead: return high != TouchKind::kRead;
    case TouchKind::kWrite: return true;
    case TouchKind::kSignal: return high != TouchKind::kSignal || a.phase != b.phase;
    case TouchKind::kWait:
    case TouchKind::kTest: return false;
  }
  return true;
}

bool enables(const Touch& a, const Touch& b) {
  if (a.object != b.object) return false;
  return (a.kind == TouchKind::kSignal && b.kind == TouchKind::kWait) ||
         (a.kind == TouchKind::kSignal && b.kind == TouchKind::kTest && a.phase == b.phase);
}

}  // namespace

bool are_dependent(const Footprint& first, const Footprint& second) {
  for (const Touch& a : first) {
    for (const Touch& b : second) {
      if (clash(a, b)) return true;
    }
  }
  return false;
}

bool does_enable(const Footprint& first, const Footprint& second) {
  for (const Touch& a : first) {
    for (const Touch& b : second) {
      if (enables(a, b)) return true;
    }
  }
  return false;
}

EventMask FootprintRecorder::wants() const {
  const EventMask always =
      mask_of({EventKind::kBarrierInit, EventKind::kBarrierInval, EventKind::kBarrierArrive,
               EventKind::kBarrierExpect, EventKind::kBarrierComplete, EventKind::kBarrierBlock,
               EventKind::kBarrierPass, EventKind::kNamedArrive, EventKind::kNamedPass, EventKind::kClusterArrive,
               EventKind::kClusterPass, EventKind::kSharedStrong, EventKind::kGlobalStrong, EventKind::kCopyIssue,
               EventKind::kCopyReadShared, EventKind::kCopyDone, EventKind::kGroupPass});
  const EventMask data =
      mask_of({EventKind::kSharedRead, EventKind::kSharedWrite, EventKind::kGlobalRead, EventKind::kGlobalWrite,
               EventKind::kCopyWriteShared, EventKind::kCopyReadGlobal, EventKind::kCopyWriteGlobal});
  return has_data_ ? always | data : always;
}

void FootprintRecorder::forget_all() {
  touched_.clear();
  issued_.clear();
  issuers_.clear();
}

void FootprintRecorder::touch_bytes(std::uint64_t space, std::uint64_t first, std::uint64_t bytes, bool writes) {
  for (std::uint64_t word = first / 4; word <= (first + std::max<std::uint64_t>(bytes, 1) - 1) / 4; ++word) {
    touch(space ^ word, writes ? TouchKind::kWrite : TouchKind::kRead);
  }
}

void FootprintRecorder::on_event(const Event& event) {
  const std::uint64_t barrier = object_of(kBarrier, event.barrier);
  // A cluster's shared memory: the rank is in the address. One cluster is not another's peer, and small launches
  // have one; taking theirs for the same costs executions, no more.
  const std::uint64_t shared = object_of(kShared, 0);
  const std::uint64_t global = object_of(kGlobal, 0);
  switch (event.kind) {
    case EventKind::kBarrierInit:
    case EventKind::kBarrierInval: return touch(barrier, TouchKind::kWrite);
    case EventKind::kBarrierArrive:
    case EventKind::kBarrierExpect:
    case EventKind::kBarrierComplete: return touch(barrier, TouchKind::kSignal, event.phase);
    case EventKind::kBarrierBlock:
    case EventKind::kBarrierPass: return touch(barrier, TouchKind::kTest, event.phase);
    // Rounds of these barriers follow one another: none begins before all have come to the last.
    case EventKind::kNamedArrive:
      return touch(object_of(kNamed, std::uint64_t{event.cta} << 8 | event.value), TouchKind::kSignal);
    case EventKind::kNamedPass:
      return touch(object_of(kNamed, std::uint64_t{event.cta} << 8 | event.value), TouchKind::kWait);
    case EventKind::kClusterArrive: return touch(object_of(kClusterRound, 0), TouchKind::kSignal);
    case EventKind::kClusterPass: return touch(object_of(kClusterRound, 0), TouchKind::kWait);
    case EventKind::kCopyIssue:
      issued_.push_back(event.copy);
      issuers_[event.copy] = thread_of(event);
      return;
    case EventKind::kCopyReadShared:
      if (has_data_) touch_bytes(shared, event.address, event.bytes, false);
      [[fallthrough]];
    case EventKind::kCopyDone: return touch(object_of(kGroups, issuers_[event.copy]), TouchKind::kSignal);
    case EventKind::kGroupPass: return touch(object_of(kGroups, thread_of(event)), TouchKind::kWait);
    case EventKind::kSharedStrong: return touch_bytes(shared, event.address, event.bytes, event.strong.writes);
    case EventKind::kGlobalStrong: return touch_bytes(global, event.global, event.bytes, event.strong.writes);
    case EventKind::kSharedRead: return touch_bytes(shared, event.address, event.bytes, false);
    case EventKind::kSharedWrite:
    case EventKind::kCopyWriteShared: return touch_bytes(shared, event.address, event.bytes, true);
    case EventKind::kGlobalRead:
    case EventKind::kCopyReadGlobal: return touch_bytes(global, event.global, event.bytes, false);
    case EventKind::kGlobalWrite:
    case EventKind::kCopyWriteGlobal: return touch_bytes(global, event.global, event.bytes, true);
    default: return;
  }
}

}  // namespace heddle::sim::explore
