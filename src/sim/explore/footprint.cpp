// SPDX-License-Identifier: Apache-2.0
#include "sim/explore/footprint.h"

#include <algorithm>

namespace heddle::sim::explore {

namespace {

// The high bits of an object say what it is.
constexpr int kWhatShift = 56;
enum What : std::uint64_t { kBarrier = 1, kNamed, kClusterRound, kGroups, kShared, kGlobal };

constexpr std::uint64_t object_of(What what, std::uint64_t number) {
  return std::uint64_t{what} << kWhatShift ^ number;
}

// A cluster's shared memory: the rank is in the address. One cluster is not another's peer, and small launches
// have one; taking theirs for the same costs executions, no more.
constexpr std::uint64_t kSharedSpace = object_of(kShared, 0);
constexpr std::uint64_t kGlobalSpace = object_of(kGlobal, 0);

template <class Kind>
std::uint64_t thread_of(const Kind& event) {
  return std::uint64_t{event.cta} << 10 | event.thread;
}

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
  constexpr EventMask kData =
      mask_of<event::SharedRead, event::SharedWrite, event::GlobalRead, event::GlobalWrite,
              event::CopyWriteShared, event::CopyReadGlobal, event::CopyWriteGlobal>();
  return has_data_ ? Watcher::wants() : Watcher::wants() & ~kData;
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

void FootprintRecorder::on(const event::BarrierInit& event) {
  touch(object_of(kBarrier, event.barrier), TouchKind::kWrite);
}

void FootprintRecorder::on(const event::BarrierInval& event) {
  touch(object_of(kBarrier, event.barrier), TouchKind::kWrite);
}

void FootprintRecorder::on(const event::BarrierArrive& event) {
  touch(object_of(kBarrier, event.barrier), TouchKind::kSignal, event.phase);
}

void FootprintRecorder::on(const event::BarrierExpect& event) {
  touch(object_of(kBarrier, event.barrier), TouchKind::kSignal, event.phase);
}

void FootprintRecorder::on(const event::BarrierComplete& event) {
  touch(object_of(kBarrier, event.barrier), TouchKind::kSignal, event.phase);
}

void FootprintRecorder::on(const event::BarrierBlock& event) {
  touch(object_of(kBarrier, event.barrier), TouchKind::kTest, event.phase);
}

void FootprintRecorder::on(const event::BarrierPass& event) {
  touch(object_of(kBarrier, event.barrier), TouchKind::kTest, event.phase);
}

// Rounds of these barriers follow one another: none begins before all have come to the last.
void FootprintRecorder::on(const event::NamedArrive& event) {
  touch(object_of(kNamed, std::uint64_t{event.cta} << 8 | event.id), TouchKind::kSignal);
}

void FootprintRecorder::on(const event::NamedPass& event) {
  touch(object_of(kNamed, std::uint64_t{event.cta} << 8 | event.id), TouchKind::kWait);
}

void FootprintRecorder::on(const event::ClusterArrive&) {
  touch(object_of(kClusterRound, 0), TouchKind::kSignal);
}

void FootprintRecorder::on(const event::ClusterPass&) { touch(object_of(kClusterRound, 0), TouchKind::kWait); }

void FootprintRecorder::on(const event::CopyIssue& event) {
  issued_.push_back(event.copy);
  issuers_[event.copy] = thread_of(event);
}

void FootprintRecorder::on(const event::CopyReadShared& event) {
  if (has_data_) touch_bytes(kSharedSpace, event.address, event.bytes, false);
  touch(object_of(kGroups, issuers_[event.copy]), TouchKind::kSignal);
}

void FootprintRecorder::on(const event::CopyDone& event) {
  touch(object_of(kGroups, issuers_[event.copy]), TouchKind::kSignal);
}

void FootprintRecorder::on(const event::GroupPass& event) {
  touch(object_of(kGroups, thread_of(event)), TouchKind::kWait);
}

void FootprintRecorder::on(const event::SharedStrong& event) {
  touch_bytes(kSharedSpace, event.address, event.bytes, event.strong.writes);
}

void FootprintRecorder::on(const event::GlobalStrong& event) {
  touch_bytes(kGlobalSpace, event.global, event.bytes, event.strong.writes);
}

void FootprintRecorder::on(const event::SharedRead& event) {
  touch_bytes(kSharedSpace, event.address, event.bytes, false);
}

void FootprintRecorder::on(const event::SharedWrite& event) {
  touch_bytes(kSharedSpace, event.address, event.bytes, true);
}

void FootprintRecorder::on(const event::CopyWriteShared& event) {
  touch_bytes(kSharedSpace, event.address, event.bytes, true);
}

void FootprintRecorder::on(const event::GlobalRead& event) {
  touch_bytes(kGlobalSpace, event.global, event.bytes, false);
}

void FootprintRecorder::on(const event::CopyReadGlobal& event) {
  touch_bytes(kGlobalSpace, event.global, event.bytes, false);
}

void FootprintRecorder::on(const event::GlobalWrite& event) {
  touch_bytes(kGlobalSpace, event.global, event.bytes, true);
}

void FootprintRecorder::on(const event::CopyWriteGlobal& event) {
  touch_bytes(kGlobalSpace, event.global, event.bytes, true);
}

}  // namespace heddle::sim::explore
