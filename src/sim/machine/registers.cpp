// SPDX-License-Identifier: Apache-2.0
//
// PTX: setmaxnreg.
//
// Model: a CTA's pool holds what its warps have given back, and nothing at the start. Where the kernel does not
// state its registers, only the operands are checked, and that whole warpgroups execute the instruction.
#include "sim/machine/register_unit.h"

#include "sim/machine/warp_unit.h"

#include <heddle/isa/registers.h>
#include <heddle/isa/warp.h>

#include <fmt/format.h>

namespace heddle::sim::machine {

namespace {

const char* direction(bool increases) { return increases ? "inc" : "dec"; }

}  // namespace

bool RegisterUnit::setmaxnreg(Thread& thread, bool increases, std::uint32_t count, CallSite site) {
  if (!isa::is_register_count(count)) {
    core_.fault(
        &thread, site, FaultCode::kRegisterBudget,
        fmt::format("setmaxnreg.{} {}; 24 to 256 registers, a multiple of 8", direction(increases), count));
  }
  Warpgroup& group = warps_.whole_warpgroup(thread, site, "setmaxnreg");
  const std::uint32_t value = count | (increases ? 1u << 16 : 0u);
  if (!warps_.meet(thread, WarpOp::kSetmaxnreg, isa::kFullMask, value, 0, site)) return false;
  WgmmaWarp& warp = group.warps[thread.warp() % kWarpgroupWarps];
  if (warp.register_changes == group.register_changes.size())
    group.register_changes.push_back({increases, count});
  const RegisterChange& first = group.register_changes[warp.register_changes++];
  for (std::uint32_t l = 0; l < 32; ++l) {
    if (thread.cta->threads[thread.warp() * 32 + l].result == value) continue;
    core_.fault(&thread, site, FaultCode::kDivergence,
                fmt::format("setmaxnreg.{} {} in lane {} of warp {}, but another lane executes another one; all "
                            "of them execute the same",
                            direction(increases), count, thread.lane(), thread.warp()));
  }
  // The pool is one of warps: chips grant each of them its own number (CUTLASS's attention for Blackwell).
  if (first.increases != increases || first.count != count) {
    core_.judge(&thread, site,
                {.code = FaultCode::kDivergence,
                 .headline = fmt::format("setmaxnreg.{} {} in warp {}, but others of its warpgroup execute "
                                         "setmaxnreg.{} {}; all of them execute the same",
                                         direction(increases), count, thread.warp(), direction(first.increases),
                                         first.count),
                 .details = {},
                 .verdict = Verdict::kFormal});
  }
  if (warp.registers != 0 && (increases ? warp.registers > count : warp.registers < count)) {
    core_.fault(&thread, site, FaultCode::kRegisterBudget,
                fmt::format("setmaxnreg.{} {} in a warp that has {} registers for each thread; {} {} would pass",
                            direction(increases), count, warp.registers, increases ? "at least" : "at most",
                            warp.registers));
  }
  warp.wanted_registers = count;
  return true;
}

bool RegisterUnit::setmaxnreg_wait(Thread& thread, CallSite site) {
  Cta& cta = *thread.cta;
  WgmmaWarp& warp = cta.warpgroups[thread.warp() / kWarpgroupWarps].warps[thread.warp() % kWarpgroupWarps];
  // The first lane that passes does so for its warp.
  if (warp.registers == warp.wanted_registers || core_.start_registers() == 0) return true;
  if (warp.wanted_registers > warp.registers) {
    const std::uint32_t needed = 32 * (warp.wanted_registers - warp.registers);
    if (cta.free_registers < needed) {
      core_.block(thread, {.kind = WaitKind::kRegisters, .groups = warp.wanted_registers, .site = site});
      return false;
    }
    cta.free_registers -= needed;
  } else {
    cta.free_registers += 32 * (warp.registers - warp.wanted_registers);
    for (std::uint32_t t = 0; t < core_.threads_per_cta(); ++t) {
      Thread& waiter = cta.threads[t];
      if (waiter.state == ThreadState::kBlocked && waiter.wait.kind == WaitKind::kRegisters)
        core_.make_ready(waiter);
    }
  }
  warp.registers = warp.wanted_registers;
  core_.changed();
  core_.emit(event::RegisterCount{
      .cta = cta.linear, .thread = thread.warp() * 32, .registers = warp.registers, .site = site});
  return true;
}

void RegisterUnit::check_waits() const {
  for (const Thread& thread : core_.threads()) {
    if (thread.cta == nullptr || thread.state != ThreadState::kBlocked ||
        thread.wait.kind != WaitKind::kRegisters) {
      continue;
    }
    const Cta& cta = *thread.cta;
    // Where a warp has left out what the rest of its warpgroup gave back, that is the mistake, not the sum.
    cta_exit(cta);
    std::string held;
    std::uint32_t asked = 0;
    for (const Warpgroup& group : cta.warpgroups) {
      std::uint32_t before = 0;
      for (const WgmmaWarp& warp : group.warps) {
        const std::uint32_t wanted = warp.wanted_registers == 0 ? warp.registers : warp.wanted_registers;
        if (wanted != before) held += fmt::format("{}{}", before != 0 ? "/" : held.empty() ? "" : " + ", wanted);
        before = wanted;
        asked += wanted;
      }
    }
    asked = (asked + kWarpgroupWarps - 1) / kWarpgroupWarps;
    const std::size_t groups = cta.warpgroups.size();
    core_.fault(
        &thread, thread.wait.site, FaultCode::kRegisterBudget,
        fmt::format(
            "setmaxnreg.inc {} waits for registers that nobody gives back: the warpgroups ask for {} = {}, "
            "but the CTA has {} * {} = {}",
            thread.wait.groups, held, asked, groups, core_.start_registers(), groups * core_.start_registers()),
        {fmt::format("the sum of all setmaxnreg must be {} or less", groups * core_.start_registers())});
  }
}

void RegisterUnit::cta_exit(const Cta& cta) const {
  for (const Warpgroup& group : cta.warpgroups) {
    for (std::uint32_t w = 0; w < kWarpgroupWarps; ++w) {
      if (group.warps[w].register_changes == group.register_changes.size()) continue;
      core_.fault(
          nullptr, {}, FaultCode::kDivergence,
          fmt::format("warp {} has executed {} setmaxnreg, but its warpgroup {}; all four warps execute each",
                      group.index * kWarpgroupWarps + w, group.warps[w].register_changes,
                      group.register_changes.size()));
    }
  }
}

}  // namespace heddle::sim::machine
