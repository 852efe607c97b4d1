// SPDX-License-Identifier: Apache-2.0
#include "sim/check/barrier_history.h"

#include <algorithm>
#include <utility>

namespace heddle::sim::check {

void BarrierHistory::on(const event::BarrierInit& event) {
  if (records_.size() <= event.barrier) records_.resize(event.barrier + 1);
  records_[event.barrier] = {};
  records_[event.barrier].init_count = event.count;
  records_[event.barrier].init = event.site;
}

void BarrierHistory::on(const event::BarrierArrive& event) {
  BarrierRecord& record = records_[event.barrier];
  record.arrived.push_back({event.cta, event.thread});
  record.last_arrive = event.site;
}

void BarrierHistory::on(const event::BarrierExpect& event) {
  BarrierRecord& record = records_[event.barrier];
  record.bytes_expected += event.bytes;
  record.last_expect = event.site;
  record.last_expect_bytes = event.bytes;
}

void BarrierHistory::on(const event::BarrierComplete& event) {
  records_[event.barrier].bytes_landed += event.bytes;
}

void BarrierHistory::on(const event::BarrierPhase& event) {
  BarrierRecord& record = records_[event.barrier];
  std::swap(record.arrived, record.arrived_before);
  record.arrived.clear();
  record.bytes_expected = 0;
  record.bytes_landed = 0;
  ++record.phases;
}

void BarrierHistory::on(const event::BarrierPass& event) {
  BarrierRecord& record = records_[event.barrier];
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
}

}  // namespace heddle::sim::check
