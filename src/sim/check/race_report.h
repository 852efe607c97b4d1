// SPDX-License-Identifier: Apache-2.0
//
// The words for what the race checker finds: which code, both sides with role, warp and line, and one cause.
#pragma once

#include "sim/check/finding_sink.h"
#include "sim/check/order.h"
#include "sim/check/shadow.h"

#include <heddle/sim/event.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim::machine {
class Machine;
}

namespace heddle::sim::check {

// Source places by number, so that a recorded access stays small.
class Sites {
 public:
  std::uint16_t number(CallSite site) {
    const std::size_t key = (reinterpret_cast<std::uintptr_t>(site.file) / 8 + site.line) % recent_.size();
    const std::uint16_t recent = recent_[key];
    const CallSite& known = sites_[recent];
    return known.file == site.file && known.line == site.line ? recent : find(site, key);
  }
  CallSite of(std::uint16_t number) const { return sites_[number]; }

 private:
  std::uint16_t find(CallSite site, std::size_t key);

  std::vector<CallSite> sites_{1};
  std::array<std::uint16_t, 256> recent_{};
};

// One side of a conflict: an access, and who made it.
struct Side {
  Access access;
  std::uint32_t lane;  // threads: the lane; MMAs: which of the warps that issued it
};

class RaceReport {
 public:
  RaceReport(const machine::Machine& machine, Order& order, const Sites& sites)
      : machine_(machine), order_(order), sites_(sites) {}

  // Two accesses to the bytes at `offset` of the CTA's shared memory; `now` was made second.
  FaultCode code_of_conflict(const Side& before, const Side& now, const CtaOrder& cta,
                             const Granule& granule) const;
  Finding conflict(const Side& before, const Side& now, const CtaOrder& cta, std::uint32_t offset,
                   const Granule& granule) const;
  // Two accesses to the granule at the global address; `view` is of who makes the second.
  Finding not_coherent(const Side& write, const Side& read, std::uint64_t address) const;
  Finding global_conflict(const Side& before, const Side& now, const View& view, std::uint64_t address) const;
  Finding missing_proxy_fence(const Side& write, const Side& copy, const CtaOrder& cta,
                              std::uint32_t offset) const;
  // A copy that touches global memory after a thread did.
  Finding missing_global_fence(const Side& before, const Side& copy, std::uint64_t address) const;
  Finding read_too_early(const Side& reader, const Side& copy, const CtaOrder& cta, std::uint32_t offset) const;
  // `made`: who stored there what comes of memory that nobody has written, if somebody did.
  Finding unwritten(const Side& read, const CtaOrder& cta, std::uint32_t offset, std::uint16_t bytes,
                    const std::optional<Side>& made) const;
  Finding narrow_wait(const BarrierOrder& barrier, const event::BarrierPass& wait) const;
  Finding init_not_visible(const BarrierOrder& barrier, const ThreadOrder& user, CallSite site,
                           bool met_relaxed) const;
  Finding init_not_fenced(const BarrierOrder& barrier, const IssuedCopy& copy, CallSite site,
                          bool is_ordered) const;

  CallSite site_of(const Side& side) const;
  std::string name_of(const BarrierOrder& barrier) const;
  // Whether the thread that reads has waited for the barrier that the copy completes on, for whichever phase.
  bool has_waited(const Side& reader, const Side& copy, const CtaOrder& cta) const;
  // Whether the side knows that the copy was issued.
  bool knows_issue(const Side& side, const Side& copy, const ClusterOrder& cluster) const {
    return knows_issue(view_of(side, cluster), copy, cluster);
  }
  // The fill of these bytes by a copy that is in flight; it touches none if there is none.
  Access fill_in_flight(const CtaOrder& cta, std::uint32_t offset, std::uint16_t bytes) const;

  // For other reports: a line that says who did what and where, and the name of a CTA.
  std::string line(const ThreadOrder& thread, const std::string& what, CallSite site) const;
  std::string block(std::uint32_t linear) const;
  bool has_one_cta() const;

 private:
  enum class Mistake : std::uint8_t { kRace, kReadBeforeFull, kOverwritten, kSourceOverwritten };

  Mistake judge(const Side& before, const Side& now, const CtaOrder& cta, const Granule& granule) const;
  bool knows_issue(const View& view, const Side& side, const ClusterOrder& cluster) const;  // of a copy or an MMA
  View view_of(const Side& side, const ClusterOrder& cluster) const;
  std::string likely_source_overwritten(const Side& write, const Side& reader, const CtaOrder& cta) const;
  std::string likely_overwritten(const Side& copy, const Side& reader, const CtaOrder& cta) const;
  std::string likely_too_early(const Side& reader, const Side& copy, const CtaOrder& cta) const;
  Departed who_made(const Side& side, std::uint32_t& lane) const;
  std::string global_deed(const Side& side) const;
  std::string global_line(const Side& side) const;
  std::string why_unordered(const Side& before, const Side& now, const View& view) const;
  std::string why_race(const Side& before, const Side& now, const CtaOrder& cta) const;
  std::string knowledge(const Side& before, const Side& now, const CtaOrder& cta) const;

  const ThreadOrder& thread_of(const Side& side, const ClusterOrder& cluster) const;
  const BarrierOrder* barrier_of(const Side& copy, const CtaOrder& cta) const;
  const char* no_mma_wait(const Side& mma) const;
  std::string name_of(const ThreadOrder& thread) const;
  std::string stage_of(const Side& copy, const CtaOrder& cta, std::uint32_t offset) const;
  std::string bytes_at(const CtaOrder& cta, std::uint32_t offset, std::uint16_t bytes) const;
  std::string deed(const Side& side) const;
  std::string line(const Side& side, const ClusterOrder& cluster) const;

  const machine::Machine& machine_;
  Order& order_;
  const Sites& sites_;
};

}  // namespace heddle::sim::check
