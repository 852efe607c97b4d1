// SPDX-License-Identifier: Apache-2.0
//
// Who did what to each mbarrier: what a report needs to say what is missing and who could supply it.
#pragma once

#include <heddle/sim/event.h>

#include <cstdint>
#include <vector>

namespace heddle::sim::check {

// A thread or a warp, anywhere in the grid.
struct Actor {
  std::uint32_t cta = 0;
  std::uint32_t index = 0;

  friend bool operator==(const Actor&, const Actor&) = default;
  friend auto operator<=>(const Actor&, const Actor&) = default;
};

struct BarrierRecord {
  std::vector<Actor> arrived;         // threads, in the current phase
  std::vector<Actor> arrived_before;  // threads, in the last phase that is over
  std::vector<Actor> waiters;         // warps that have waited on it successfully, at any time
  std::vector<std::uint64_t> passed;  // by thread of the CTA: how many phases were over at its last wait
  // The first wait that passed though more than one phase was over since the warp's last: parities alternate, so
  // it took a later phase for the one it waited for.
  std::uint64_t phases_lost = 0;
  Actor loser = {};
  CallSite lost_at = {};
  std::uint64_t bytes_expected = 0;  // in the current phase
  std::uint64_t bytes_landed = 0;
  std::uint64_t phases = 0;
  std::uint64_t init_count = 0;
  CallSite init = {};
  CallSite last_arrive = {};
  CallSite last_expect = {};
  std::uint64_t last_expect_bytes = 0;
};

class BarrierHistory final : public Watcher<BarrierHistory> {
 public:
  void on(const event::BarrierInit& event);
  void on(const event::BarrierArrive& event);
  void on(const event::BarrierExpect& event);
  void on(const event::BarrierComplete& event);
  void on(const event::BarrierPhase& event);
  void on(const event::BarrierPass& event);

  const BarrierRecord& of(std::uint32_t barrier) const { return records_[barrier]; }

 private:
  std::vector<BarrierRecord> records_;  // by barrier id
};

}  // namespace heddle::sim::check
