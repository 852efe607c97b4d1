// SPDX-License-Identifier: Apache-2.0
//
// PTX: bar.warp.sync, elect.sync, shfl.sync, vote.sync.
#include "sim/machine/warp_unit.h"

#include <heddle/isa/warp.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace heddle::sim::machine {

const char* name_of(WarpOp op) {
  switch (op) {
    case WarpOp::kSync: return "bar.warp.sync";
    case WarpOp::kElect: return "elect.sync";
    case WarpOp::kShflIdx: return "shfl.sync.idx";
    case WarpOp::kShflUp: return "shfl.sync.up";
    case WarpOp::kShflDown: return "shfl.sync.down";
    case WarpOp::kShflBfly: return "shfl.sync.bfly";
    case WarpOp::kBallot: return "vote.sync.ballot";
    case WarpOp::kShfl: return "shfl.sync";
    case WarpOp::kVote: return "vote.sync";
    case WarpOp::kMatch: return "match.sync";
    case WarpOp::kRedux: return "redux.sync";
    case WarpOp::kStmatrix: return "stmatrix";
    case WarpOp::kLdmatrix: return "ldmatrix";
    case WarpOp::kMma: return "mma.sync";
    case WarpOp::kMovmatrix: return "movmatrix";
    case WarpOp::kWmma: return "wmma";
    case WarpOp::kWgmmaFence: return "wgmma.fence";
    case WarpOp::kWgmmaMma: return "wgmma.mma_async";
    case WarpOp::kWgmmaCommit: return "wgmma.commit_group";
    case WarpOp::kWgmmaWait: return "wgmma.wait_group";
    case WarpOp::kSetmaxnreg: return "setmaxnreg";
    case WarpOp::kTmemAlloc: return "tcgen05.alloc";
    case WarpOp::kTmemDealloc: return "tcgen05.dealloc";
    case WarpOp::kTmemRelinquish: return "tcgen05.relinquish_alloc_permit";
    case WarpOp::kTmemLd: return "tcgen05.ld";
    case WarpOp::kTmemSt: return "tcgen05.st";
    case WarpOp::kTmemWaitLd: return "tcgen05.wait::ld";
    case WarpOp::kTmemWaitSt: return "tcgen05.wait::st";
  }
  return "";
}

bool is_aligned(WarpOp op) {
  switch (op) {
    case WarpOp::kSync:
    case WarpOp::kElect:
    case WarpOp::kShflIdx:
    case WarpOp::kShflUp:
    case WarpOp::kShflDown:
    case WarpOp::kShflBfly:
    case WarpOp::kBallot:
    case WarpOp::kShfl:
    case WarpOp::kVote:
    case WarpOp::kMatch:
    case WarpOp::kRedux: return false;
    default: return true;
  }
}

namespace {

// The lane whose register a shuffle reads; the own one where that lane does not exist.
std::uint32_t source_lane(WarpOp op, std::uint32_t lane, std::uint32_t operand) {
  switch (op) {
    case WarpOp::kShflIdx: return operand % 32;
    case WarpOp::kShflUp: return operand % 32 > lane ? lane : lane - operand % 32;
    case WarpOp::kShflDown: return lane + operand % 32 > 31 ? lane : lane + operand % 32;
    default: return lane ^ operand % 32;
  }
}

}  // namespace

std::uint32_t Rendezvous::result(std::uint32_t lane) const {
  switch (op) {
    case WarpOp::kSync: return 0;
    // The lowest lane of the mask, as an H200 elects.
    case WarpOp::kElect: return static_cast<std::uint32_t>(std::countr_zero(arrived));
    case WarpOp::kBallot: {
      std::uint32_t ballot = 0;
      for (std::uint32_t l = 0; l < 32; ++l) {
        if ((arrived & 1u << l) != 0 && value[l] != 0) ballot |= 1u << l;
      }
      return ballot;
    }
    default: {
      const std::uint32_t from = source_lane(op, lane, operand[lane]);
      return (arrived & 1u << from) != 0 ? value[from] : kNoValue;
    }
  }
}

// Masks may overlap: a lane that one meeting waits for may first have to leave another. Only where two wait for
// each other, at once or through further ones, can neither end.
const Rendezvous* Warp::crossed(const Rendezvous& meeting) const {
  std::uint32_t awaited = meeting.mask & live & ~meeting.arrived;
  for (std::uint32_t before = 0; before != awaited;) {
    before = awaited;
    for (const Rendezvous& other : meetings) {
      if (&other == &meeting || (other.arrived & awaited) == 0) continue;
      const std::uint32_t missing = other.mask & live & ~other.arrived;
      if ((missing & meeting.arrived) != 0) return &other;
      awaited |= missing;
    }
  }
  return nullptr;
}

// PTX: barrier: with .aligned, all threads of the warp must execute the same instruction.
void WarpUnit::check_aligned(const Thread& thread, std::uint32_t lanes, std::uint32_t id, const char* instruction,
                             CallSite site) const {
  const Cta& cta = *thread.cta;
  const std::uint32_t first = thread.warp() * 32;
  for (std::uint32_t left = cta.warps[thread.warp()].live & ~lanes; left != 0; left &= left - 1) {
    const Thread& other = cta.threads[first + static_cast<std::uint32_t>(std::countr_zero(left))];
    const bool waits_here =
        other.state == ThreadState::kBlocked && other.wait.kind == WaitKind::kNamedBarrier && other.wait.id == id;
    if (!waits_here) continue;
    const CallSite& at = other.wait.site;
    if (at.line == site.line && (at.file == site.file || std::string_view(at.file) == site.file)) continue;
    core_.fault(
        &thread, site, FaultCode::kDivergence,
        fmt::format("{} is executed by lanes of one warp at different places; a warp executes it as a whole",
                    instruction),
        {fmt::format("{:<62} {}", core_.describe(other) + ": waits", place(at))});
  }
}

bool WarpUnit::meet(Thread& thread, WarpOp op, std::uint32_t mask, std::uint32_t value, std::uint32_t operand,
                    CallSite site) {
  const std::uint32_t lane = thread.lane();
  Cta& cta = *thread.cta;
  Warp& warp = cta.warps[thread.warp()];
  if ((mask & 1u << lane) == 0) {
    core_.fault(
        &thread, site, FaultCode::kDivergence,
        fmt::format("{} with mask {:#010x}, which does not name the lane that executes it", name_of(op), mask));
  }
  if (is_aligned(op) && warp.exist != isa::kFullMask) {
    core_.fault(
        &thread, site, FaultCode::kDivergence,
        fmt::format("{} in a warp of {} threads; all 32 must execute it", name_of(op), std::popcount(warp.exist)),
        {fmt::format("likely: a CTA of {} threads; {} would fill its last warp", core_.threads_per_cta(),
                     core_.whole_cta())});
  }
  if (is_aligned(op) && (mask & ~warp.live) != 0) {
    core_.fault(&thread, site, FaultCode::kDivergence,
                fmt::format("{} with mask {:#010x}, but of these lanes only {:#010x} have not exited",
                            name_of(op), mask, warp.live & mask),
                {"likely: some lanes return early, before the warp is done together"});
  }
  auto meeting = std::find_if(warp.meetings.begin(), warp.meetings.end(),
                              [&](const Rendezvous& other) { return other.op == op && other.mask == mask; });
  if (meeting == warp.meetings.end()) {
    meeting = warp.meetings.insert(warp.meetings.end(), Rendezvous{.op = op, .mask = mask, .site = site});
  }
  if ((op == WarpOp::kShflIdx || op == WarpOp::kShflUp || op == WarpOp::kShflDown || op == WarpOp::kShflBfly) &&
      (mask & 1u << source_lane(op, lane, operand)) == 0) {
    core_.fault(&thread, site, FaultCode::kDivergence,
                fmt::format("{} reads lane {}, which is not in its mask {:#010x}", name_of(op),
                            source_lane(op, lane, operand), mask));
  }
  meeting->arrived |= 1u << lane;
  meeting->value[lane] = value;
  meeting->operand[lane] = operand;
  core_.lane_met();
  if ((mask & warp.live & ~meeting->arrived) != 0) {
    if (const Rendezvous* other = warp.crossed(*meeting)) {
      core_.fault(
          &thread, site, FaultCode::kDivergence,
          fmt::format("{} with mask {:#010x}, while lanes {:#010x} of the warp wait at {} with mask {:#010x}",
                      name_of(op), mask, other->arrived, name_of(other->op), other->mask),
          {fmt::format("{:<62} {}", "the others", place(other->site))});
    }
    core_.block(thread, {.kind = WaitKind::kWarp, .mask = mask, .site = site});
    return false;
  }
  finish_meeting(thread, *meeting, site);
  warp.meetings.erase(meeting);
  return true;
}

// `thread` is the last one to come; if that is one that exits, the others wait.
void WarpUnit::finish_meeting(const Thread& thread, const Rendezvous& meeting, CallSite site) {
  Cta& cta = *thread.cta;
  for (std::uint32_t l = 0; l < 32; ++l) {
    if ((meeting.arrived & 1u << l) == 0) continue;
    Thread& other = cta.threads[thread.warp() * 32 + l];
    other.result = meeting.result(l);
    if (other.state == ThreadState::kBlocked) core_.make_ready(other);
  }
  core_.emit(event::WarpMeet{
      .cta = cta.linear,
      .thread = thread.warp() * 32 + static_cast<std::uint32_t>(std::countr_zero(meeting.arrived)),
      .lanes = meeting.arrived,
      .orders = meeting.op == WarpOp::kSync,
      .site = site});
}

Warpgroup& WarpUnit::whole_warpgroup(const Thread& thread, CallSite site, const char* instruction) const {
  const std::uint32_t index = thread.warp() / kWarpgroupWarps;
  if ((index + 1) * kWarpgroupThreads > core_.threads_per_cta()) {
    core_.fault(
        &thread, site, FaultCode::kDivergence,
        fmt::format("{} in warp {}, whose warpgroup has {} of 128 threads; a CTA of {} threads would pass",
                    instruction, thread.warp(), core_.threads_per_cta() - index * kWarpgroupThreads,
                    (index + 1) * kWarpgroupThreads));
  }
  return thread.cta->warpgroups[index];
}

void WarpUnit::did_for_warp(const Thread& thread, CallSite site) {
  if (!core_.wants<event::WarpMeet>()) return;
  core_.emit(event::WarpMeet{.cta = thread.cta->linear,
                             .thread = thread.warp() * 32,
                             .lanes = isa::kFullMask,
                             .orders = true,
                             .site = site});
}

// Lanes that wait for this one go on without it, unless all 32 are needed.
void WarpUnit::thread_exit(const Thread& thread) {
  Warp& warp = thread.cta->warps[thread.warp()];
  for (auto meeting = warp.meetings.begin(); meeting != warp.meetings.end();) {
    if ((meeting->mask & 1u << thread.lane()) == 0) {
      ++meeting;
      continue;
    }
    if (is_aligned(meeting->op)) {
      core_.fault(
          &thread, {}, FaultCode::kDivergence,
          fmt::format("a lane exits, while lanes {:#010x} of its warp wait at {}, which all 32 must execute",
                      meeting->arrived, name_of(meeting->op)),
          {fmt::format("{:<62} {}", "the others", place(meeting->site))});
    }
    if ((meeting->mask & warp.live & ~meeting->arrived) != 0) {
      ++meeting;
      continue;
    }
    finish_meeting(thread, *meeting, meeting->site);
    meeting = warp.meetings.erase(meeting);
  }
}

}  // namespace heddle::sim::machine
