// SPDX-License-Identifier: Apache-2.0
#include "sim/check/barrier_history.h"

#include <algorithm>
#include <utility>

namespace heddle::sim::check {

EventMask BarrierHistory::wants() const {
  return mask_of({EventKind::kBarrierInit, EventKind::kBarrierArrive, EventKind::kBarrierExpect,
                  EventKind::kBarrierComplete, EventKind::kBarrierPhase, EventKind::kBarrierPass});
}

void BarrierHistory::on_event(const Event& event) {
  if (event.kind == EventKind::kBarrierInit) {
    if (records_.size() <= event.barrier) records_.resize(event.barrier + 1);
    records_[event.barrier] = {};
    records_[event.barrier].init_count = event.value;
    records_[event.barrier].init = event.site;
    return;
  }
  BarrierRecord& record = records_[event.barrier];
  switch (event.kind) {
    case EventKind::kBarrierArrive:
      record.arrived.push_back({event.cta, event.thread});
      record.last_arrive = event.site;
      break;
    case EventKind::kBarrierExpect:
      record.bytes_expected += event.value;
      record.last_expect = event.site;
      record.last_expect_bytes = event.value;
      break;
    case EventKind::kBarrierComplete: record.bytes_landed += event.value; break;
    case EventKind::kBarrierPhase:
      std::swap(record.arrived, record.arrived_before);
      record.arrived.clear();
      record.bytes_expected = 0;
      record.bytes_landed = 0;
      ++record.phases;
      break;
    case EventKind::kBarrierPass: {
      const Actor warp{event.cta, event.thread / 32};
      if (std::find(record.waiters.begin(), record.waiters.end(), warp) == record.waiters.end()) {
        record.waiters.push_back(warp);
      }
      if (record.passed.size() <= event.thread) record.passed.resize(event.thread + 1);
      const std::uint64_t over = event.phase + 1;
      const std::uint64_t steps = over - std::exchange(record.passed[event.thread], over);
      if (steps >= 3 && steps % 2 == 1 && record.phases_lost == 0) {
        record.phases_lost = steps - 1;
        record.loser = warp;
        record.lost_at = event.site;
      }
      break;
    }
    default: break;
  }
}

}  // namespace heddle::sim::check
