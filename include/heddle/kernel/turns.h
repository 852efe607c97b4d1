// SPDX-License-Identifier: Apache-2.0
//
// WarpgroupTurns: warpgroups that do a part of their work one after the other, as two that multiply in turn, each
// while the other stores (ping-pong). Warpgroup 0 goes first, then 1, and after the last 0 again. A turn is a
// linear handle: one that is not passed on does not build.
//
//   WarpgroupTurns<2, Barriers::first("turns")> turns(warpgroup);     // kernel/named_barriers.h
//   for (...) {
//     auto turn = turns.wait();
//     multiply();
//     std::move(turn).pass_if(has_next);
//     store();
//   }
#pragma once

#include <heddle/isa/annotate.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/target.h>
#include <heddle/isa/wgmma.h>
#include <heddle/linear.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

template <std::uint32_t count, std::uint32_t first_barrier>
class WarpgroupTurns;

// The turn of the warpgroup that holds it. All its threads do the same.
template <std::uint32_t count, std::uint32_t first_barrier>
class HEDDLE_LINEAR WarpgroupTurn {
 public:
  WarpgroupTurn(WarpgroupTurn&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED WarpgroupTurn& operator=(WarpgroupTurn&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~WarpgroupTurn() {}

  // The next warpgroup may go on.
  // Orders: what this warpgroup did before, ahead of what the next does in its turn.
  HEDDLE_ENDS HEDDLE_DEVICE void pass(CallSite site = HEDDLE_HERE) && { std::move(*this).pass_if(true, site); }

  // The same unless this was the last turn of all, after which nobody waits for one.
  HEDDLE_ENDS HEDDLE_DEVICE void pass_if(bool someone_waits, CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
    if (count > 1 && someone_waits) isa::bar_arrive(next_barrier_, 2 * kWarpgroupThreads, site);
  }

 private:
  friend class WarpgroupTurns<count, first_barrier>;

  HEDDLE_DEVICE WarpgroupTurn(std::uint32_t warpgroup, CallSite site)
      : obligation_("turn", warpgroup, site),
        next_barrier_(first_barrier + (warpgroup + 1 == count ? 0 : warpgroup + 1)) {}

  Obligation obligation_;
  std::uint32_t next_barrier_;
};

// Each thread of the `count` warpgroups constructs one. Takes `count` named barriers from `first_barrier` on, and
// none where it is one warpgroup's turn all the time. Not copyable: a copy would take the first turn twice.
template <std::uint32_t count, std::uint32_t first_barrier>
class WarpgroupTurns {
  static_assert(count >= 1, "turns are those of warpgroups: make their number 1 or more");
  static_assert(
      first_barrier >= 1 && first_barrier + count <= isa::kNamedBarriers,
      "named barriers 1 to 15 are free for turns: let them begin at NamedBarriers::first of a use with a "
      "barrier for each warpgroup");

 public:
  using Turn = WarpgroupTurn<count, first_barrier>;

  HEDDLE_DEVICE explicit WarpgroupTurns(std::uint32_t warpgroup) : warpgroup_(warpgroup) {
    if constexpr (count > 1) isa::annotate_named_barriers(first_barrier, count, "turns");
  }
  WarpgroupTurns(const WarpgroupTurns&) = delete;
  WarpgroupTurns& operator=(const WarpgroupTurns&) = delete;

  // Waits until the warpgroup before this one has passed its turn on.
  [[nodiscard]] HEDDLE_DEVICE Turn wait(CallSite site = HEDDLE_HERE) {
    if (count > 1 && (!is_first_ || warpgroup_ != 0)) {
      isa::bar_sync(first_barrier + warpgroup_, 2 * kWarpgroupThreads, site);
    }
    is_first_ = false;
    return Turn(warpgroup_, site);
  }

 private:
  std::uint32_t warpgroup_;
  bool is_first_ = true;
};

}  // namespace heddle::inline HEDDLE_TARGET
