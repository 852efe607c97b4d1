// SPDX-License-Identifier: Apache-2.0
#include "sim/check/barrier_history.h"

#include <algorithm>

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
    case EventKind::kBarrierComplete:
      record.bytes_landed += event.value;
      break;
    case EventKind::kBarrierPhase:
      std::swap(record.arrived, record.arrived_before);
      record.arrived.clear();
      record.bytes_expected = 0;
      record.bytes_landed = 0;
      ++record.phases;
      break;
    case EventKind::kBarrierPass: {
      const Actor warp{event.cta, event.thread / 32};
      const auto known = std::find(record.waiters.begin(), record.waiters.end(), warp);
      if (known == record.waiters.end()) {
        record.waiters.push_back(warp);
        record.passed.push_back(event.phase);
      } else {
        record.passed[static_cast<std::size_t>(known - record.waiters.begin())] = event.phase;
      }
      break;
    }
    default: break;
  }
}

}  // namespace heddle::sim::check
