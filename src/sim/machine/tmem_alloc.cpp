// SPDX-License-Identifier: Apache-2.0
//
// PTX: tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit.
//
// Model: one CTA has the tensor memory of its SM to itself, so that an allocation waits only for the columns of
// its own CTA. The lowest columns that are free are handed out, at a multiple of 32. Unverified: where
// allocations start is not documented beyond lane 0.
#include "sim/machine/tmem_unit.h"

#include "sim/machine/mbarrier_unit.h"
#include "sim/machine/tcgen05_unit.h"
#include "sim/machine/warp_unit.h"

#include <heddle/isa/warp.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim::machine {

namespace {

constexpr std::uint32_t kUninitialisedCell = 0xA5A5'A5A5;

std::uint32_t next_size(std::uint32_t cols) {
  std::uint32_t size = kMinTmemAllocCols;
  while (size < cols && size < kTmemCols) size *= 2;
  return size;
}

// What has been issued and not carried out. What has been carried out is judged by order.
void check_not_multiplying(Core& core, Tcgen05Unit& tcgen05, const Thread& thread, const TmemOperands& operands,
                           CallSite site) {
  for (const Cta* cta : thread.cta->cluster->ctas) {
    if (cta != thread.cta && (operands.cta_group != 2 || cta->rank / 2 != thread.cta->rank / 2)) continue;
    for (const Tcgen05Queue& queue : cta->tcgen05_queues) {
      for (const Tcgen05Operation& operation : queue.operations) {
        if (operation.kind == Tcgen05Operation::Kind::kCommit) continue;
        const bool is_copy = operation.kind == Tcgen05Operation::Kind::kCopy;
        const std::uint32_t column = (is_copy ? operation.copy.taddr : operation.operands.d) & 0xFFFF;
        if (cta != thread.cta && (is_copy ? operation.copy.cta_group : operation.operands.cta_group) != 2)
          continue;
        if (column < operands.taddr || column >= operands.taddr + operands.cols) continue;
        const char* what = is_copy ? "tcgen05.cp" : "tcgen05.mma";
        const CallSite issued = operation.site;
        // It may come at any time until now. What it does to others, seen by those who watch, says more.
        tcgen05.run_on(*thread.cta, operands.taddr, operands.cols);
        core.judge(
            &thread, site,
            {.code = FaultCode::kTmemDealloc,
             .headline = fmt::format("tcgen05.dealloc of columns {} to {}, which a {} may still use",
                                     operands.taddr, operands.taddr + operands.cols - 1, what),
             .details = {fmt::format("{:<62} {}",
                                     fmt::format("{}: {}", core.describe(queue.cta->threads[queue.tid]), what),
                                     place(issued)),
                         "it has not been carried out, so that the warp that frees has not waited for it"},
             .places = {.second = issued}});
        return;
      }
    }
  }
}

}  // namespace

void TmemUnit::require_sm100(const Thread& thread, CallSite site, const char* instruction) const {
  if (core_.options().arch == Arch::kSm100) return;
  core_.fault(
      &thread, site, FaultCode::kUnsupported,
      fmt::format("{} on sm_90; the instruction exists on sm_100a only, and wgmma takes its place", instruction));
}

Cta* TmemUnit::join_cta_group(Thread& thread, int cta_group, CallSite site, const char* instruction) {
  require_sm100(thread, site, instruction);
  Cta& cta = *thread.cta;
  if (cta_group == 2 && core_.cluster_size() % 2 != 0) {
    core_.fault(
        &thread, site, FaultCode::kBadCtaGroup,
        fmt::format(
            "{}.cta_group::2 in a cluster of {}; the CTAs of a pair differ in the lowest bit of their rank, so "
            "that a cluster of {} would pass",
            instruction, core_.cluster_size(), core_.cluster_size() + 1));
  }
  if (cta.tmem.cta_group != 0 && cta.tmem.cta_group != cta_group) {
    core_.fault(
        &thread, site, FaultCode::kBadCtaGroup,
        fmt::format(
            "{}.cta_group::{} in a kernel that uses cta_group::{}; all of its tcgen05 instructions have the "
            "same",
            instruction, cta_group, cta.tmem.cta_group));
  }
  cta.tmem.cta_group = cta_group;
  if (cta_group == 1) return nullptr;
  Cta* peer = cta.cluster->ctas[cta.rank ^ 1];
  if (peer->exited) {
    core_.fault(&thread, site, FaultCode::kExitedCta,
                fmt::format("{}.cta_group::2 needs {}, which has exited", instruction, core_.describe(*peer)),
                {"likely: no cluster barrier before the end; both CTAs of a pair stay until the other is done"});
  }
  return peer;
}

bool TmemUnit::meet(Thread& thread, WarpOp op, const TmemOperands& operands, CallSite site) {
  const char* instruction = name_of(op);
  if ((thread.warp() + 1) * 32 > core_.threads_per_cta()) {
    core_.fault(&thread, site, FaultCode::kDivergence,
                fmt::format("{} in warp {}, which has {} of 32 threads", instruction, thread.warp(),
                            core_.threads_per_cta() - thread.warp() * 32));
  }
  thread.tmem = &operands;
  if (!warps_.meet(thread, op, isa::kFullMask, 0, 0, site)) return false;
  for (std::uint32_t l = 0; l < 32; ++l) {
    const TmemOperands& other = *thread.cta->threads[thread.warp() * 32 + l].tmem;
    if (other.is_same_instruction(operands)) continue;
    core_.fault(
        &thread, site, FaultCode::kDivergence,
        fmt::format(
            "{} differs within a warp: address {:#010x} and {} columns in lane {}, {:#010x} and {} in lane {}",
            instruction, operands.taddr, operands.cols + operands.count, thread.lane(), other.taddr,
            other.cols + other.count, l),
        {"likely: the address depends on the lane; all threads of a warp pass the same"});
  }
  return true;
}

void TmemUnit::check_cols(const Thread& thread, const Cta& cta, std::uint32_t column, std::uint32_t cols,
                          const std::string& what, CallSite site) const {
  if (cta.tmem.allocation_of(column, cols) != nullptr) return;
  std::vector<std::string> details;
  for (const TmemAllocation& taken : cta.tmem.allocations) {
    details.push_back(fmt::format(
        "{:<62} {}", fmt::format("allocated: columns {} to {}", taken.column, taken.column + taken.cols - 1),
        place(taken.site)));
  }
  if (details.empty()) details.push_back("likely: used before tcgen05_alloc, or after tcgen05_dealloc");
  core_.fault(&thread, site, FaultCode::kTmemOutOfBounds,
              fmt::format("{} touches columns {} to {}{}, which are not within an allocation", what, column,
                          column + cols - 1, &cta == thread.cta ? std::string() : " of " + core_.describe(cta)),
              std::move(details));
}

// What is carried out after its columns were freed.
void TmemUnit::check_not_freed(const Thread& by, bool was_awaited, const Cta& cta, std::uint32_t column,
                               std::uint32_t cols, const std::string& what, CallSite site) {
  if (cta.tmem.allocation_of(column, cols) != nullptr) return;
  const auto freed = std::find_if(cta.tmem.freed.rbegin(), cta.tmem.freed.rend(), [&](const TmemFreed& f) {
    return column < f.column + f.cols && f.column < column + cols;
  });
  const std::string where = freed == cta.tmem.freed.rend() ? std::string() : place(freed->site);
  if (was_awaited || freed == cta.tmem.freed.rend() || freed->warp != by.warp()) {
    core_.judge(&by, site,
                {.code = FaultCode::kTmemDealloc,
                 .headline = fmt::format("columns {} to {} were freed while a {} may still use them", column,
                                         column + cols - 1, what),
                 .details = {fmt::format("{:<62} {}", "tcgen05.dealloc", where),
                             "likely: the warp that frees does not wait for those who still read or multiply"},
                 .places = {.second = freed == cta.tmem.freed.rend() ? CallSite{} : freed->site}});
    return;
  }
  core_.judge(&by, site,
              {.code = FaultCode::kMissingTmemWait,
               .headline = fmt::format("columns {} to {} were freed before the warp has waited for its {}",
                                       column, column + cols - 1, what),
               .details = {fmt::format("{:<62} {}", "tcgen05.dealloc", where)},
               .places = {.second = freed->site}});
}

bool TmemUnit::alloc(Thread& thread, const TmemOperands& operands, CallSite site) {
  join_cta_group(thread, operands.cta_group, site, "tcgen05.alloc");
  if (!meet(thread, WarpOp::kTmemAlloc, operands, site)) return false;
  Tmem& tmem = thread.cta->tmem;
  if (!is_tmem_alloc_size(operands.cols)) {
    core_.fault(
        &thread, site, FaultCode::kTmemAlloc,
        fmt::format("tcgen05.alloc of {} columns; a power of two from 32 to 512 is allocated, and {} would pass",
                    operands.cols, next_size(operands.cols)));
  }
  if (tmem.relinquished) {
    core_.fault(&thread, site, FaultCode::kTmemAlloc,
                "tcgen05.alloc after the CTA has given up its permit to allocate",
                {fmt::format("{:<62} {}", "tcgen05.relinquish_alloc_permit", place(*tmem.relinquished))});
  }
  if (operands.cols > tmem.last_cols) {
    core_.fault(
        &thread, site, FaultCode::kTmemAlloc,
        fmt::format("tcgen05.alloc of {} columns after one of {}; the sizes of a CTA's allocations must not grow",
                    operands.cols, tmem.last_cols),
        {"likely: allocate the largest first"});
  }
  for (const TmemRequest& other : tmem.requests) {
    if (!other.is_alloc) continue;
    core_.fault(&thread, site, FaultCode::kTmemAlloc,
                fmt::format("tcgen05.alloc in warp {} while one in warp {} waits; one warp at a time allocates",
                            thread.warp(), other.warp),
                {fmt::format("{:<62} {}", "the other", place(other.site))});
  }
  Thread& first = thread.cta->threads[thread.warp() * 32];
  if (operands.slot >> kRankShift != thread.cta->rank) {
    core_.fault(
        &first, site, FaultCode::kBadRank,
        fmt::format("tcgen05.alloc writes the address to shared memory of rank {}; a CTA uses its own (rank {})",
                    operands.slot >> kRankShift, thread.cta->rank));
  }
  core_.shared_bytes(first, operands.slot, 4, site, "tcgen05.alloc");
  tmem.last_cols = operands.cols;
  tmem.requests.push_back({true, operands.cta_group, operands.cols, 0, operands.slot, thread.warp(), site});
  core_.changed();
  serve_requests(*thread.cta);
  return true;
}

bool TmemUnit::dealloc(Thread& thread, const TmemOperands& operands, CallSite site) {
  join_cta_group(thread, operands.cta_group, site, "tcgen05.dealloc");
  if (!meet(thread, WarpOp::kTmemDealloc, operands, site)) return false;
  Tmem& tmem = thread.cta->tmem;
  const auto is_it = [&](const TmemAllocation& taken) {
    return taken.column == operands.taddr && taken.cols == operands.cols;
  };
  if (std::none_of(tmem.allocations.begin(), tmem.allocations.end(), is_it)) {
    std::vector<std::string> details;
    for (const TmemAllocation& taken : tmem.allocations) {
      details.push_back(fmt::format("{:<62} {}",
                                    fmt::format("allocated: {} columns at {:#010x}", taken.cols, taken.column),
                                    place(taken.site)));
    }
    if (details.empty()) details.push_back("likely: it was freed before");
    core_.fault(
        &thread, site, FaultCode::kTmemDealloc,
        fmt::format(
            "tcgen05.dealloc of {} columns at {:#010x}, which is not an allocation; it frees exactly what one "
            "tcgen05.alloc has given",
            operands.cols, operands.taddr),
        std::move(details));
  }
  check_not_multiplying(core_, tcgen05_, thread, operands, site);
  tmem.requests.push_back({false, operands.cta_group, operands.cols, operands.taddr, 0, thread.warp(), site});
  core_.changed();
  serve_requests(*thread.cta);
  return true;
}

bool TmemUnit::relinquish_alloc_permit(Thread& thread, const TmemOperands& operands, CallSite site) {
  join_cta_group(thread, operands.cta_group, site, "tcgen05.relinquish_alloc_permit");
  if (!meet(thread, WarpOp::kTmemRelinquish, operands, site)) return false;
  thread.cta->tmem.relinquished = site;
  return true;
}

bool TmemUnit::request_wait(Thread& thread, CallSite site) {
  const Tmem& tmem = thread.cta->tmem;
  for (const TmemRequest& request : tmem.requests) {
    if (request.warp != thread.warp()) continue;
    core_.block(thread, {.kind = request.is_alloc ? WaitKind::kTmemColumns : WaitKind::kTmemPeer,
                         .groups = request.cols,
                         .site = site});
    return false;
  }
  return true;
}

void TmemUnit::serve_requests(Cta& cta) {
  for (std::size_t i = 0; i < cta.tmem.requests.size();) {
    const TmemRequest request = cta.tmem.requests[i];
    if (!serve(cta, request)) {
      ++i;
    } else {
      i = 0;  // a deallocation may have made room for what came before it
    }
  }
}

// Serves a request together with the one of the other CTA, if the group is a pair. False if it must wait.
bool TmemUnit::serve(Cta& cta, const TmemRequest& request) {
  std::vector<Cta*> ctas = {&cta};
  std::vector<TmemRequest> requests = {request};
  if (request.cta_group == 2) {
    Cta& peer = *cta.cluster->ctas[cta.rank ^ 1];
    const auto other = std::find_if(peer.tmem.requests.begin(), peer.tmem.requests.end(),
                                    [&](const TmemRequest& asked) { return asked.is_alloc == request.is_alloc; });
    if (other == peer.tmem.requests.end()) return false;
    if (other->cols != request.cols || other->taddr != request.taddr) {
      core_.fault(&cta.threads[request.warp * 32], request.site,
                  request.is_alloc ? FaultCode::kTmemAlloc : FaultCode::kTmemDealloc,
                  fmt::format("{} of {} columns in {}, and of {} in {}; the CTAs of a pair ask for the same",
                              request.is_alloc ? "tcgen05.alloc" : "tcgen05.dealloc", request.cols,
                              core_.describe(cta), other->cols, core_.describe(peer)));
    }
    ctas.push_back(&peer);
    requests.push_back(*other);
  }
  std::uint32_t column = request.taddr;
  if (request.is_alloc) {
    const auto is_free = [&](std::uint32_t first) {
      return std::all_of(ctas.begin(), ctas.end(), [&](Cta* c) { return c->tmem.is_free(first, request.cols); });
    };
    column = 0;
    while (column + request.cols <= kTmemCols && !is_free(column)) column += kMinTmemAllocCols;
    if (column + request.cols > kTmemCols) return false;
  }
  for (std::size_t i = 0; i < ctas.size(); ++i) {
    Tmem& tmem = ctas[i]->tmem;
    const TmemRequest& asked = requests[i];
    Thread& first = ctas[i]->threads[asked.warp * 32];
    if (request.is_alloc) {
      if (tmem.cells.empty()) tmem.cells.assign(std::size_t{kTmemLanes} * kTmemCols, kUninitialisedCell);
      tmem.allocations.push_back({column, request.cols, asked.site});
    } else {
      std::erase_if(tmem.allocations, [&](const TmemAllocation& taken) { return taken.column == column; });
      tmem.freed.push_back({column, request.cols, asked.warp, asked.site});
    }
    std::erase_if(tmem.requests, [&](const TmemRequest& r) { return r.warp == asked.warp; });
    if (request.is_alloc) {
      core_.emit(event::TmemAlloc{.cta = ctas[i]->linear,
                                  .thread = first.tid,
                                  .address = column,
                                  .cols = request.cols,
                                  .cta_group = request.cta_group,
                                  .site = asked.site});
      store_allocation(first, asked.slot, column, asked.site);
    } else {
      core_.emit(event::TmemDealloc{.cta = ctas[i]->linear,
                                    .thread = first.tid,
                                    .address = column,
                                    .cols = request.cols,
                                    .cta_group = request.cta_group,
                                    .site = asked.site});
    }
    wake_warp(*ctas[i], asked.warp);
  }
  core_.changed();
  if (!request.is_alloc && ctas.size() == 2) serve_requests(*ctas[1]);
  return true;
}

void TmemUnit::store_allocation(Thread& thread, SharedAddress slot, std::uint32_t column, CallSite site) {
  constexpr const char* kInstruction = "tcgen05.alloc";
  std::byte* target = core_.shared_bytes(thread, slot, 4, site, kInstruction);
  mbarriers_.check_none_in(thread, *thread.cta, slot & kOffsetMask, 4, site, kInstruction);
  std::memcpy(target, &column, 4);
  core_.emit(event::SharedWrite{.cta = thread.cta->linear,
                                .thread = thread.tid,
                                .address = slot,
                                .bytes = 4,
                                .is_alloc = true,
                                .site = site});
}

void TmemUnit::wake_warp(const Cta& cta, std::uint32_t warp) {
  for (std::uint32_t l = 0; l < 32; ++l) {
    Thread& waiter = cta.threads[warp * 32 + l];
    const WaitKind kind = waiter.wait.kind;
    if (waiter.state == ThreadState::kBlocked &&
        (kind == WaitKind::kTmemColumns || kind == WaitKind::kTmemPeer || kind == WaitKind::kTmemLoads ||
         kind == WaitKind::kTmemStores)) {
      core_.make_ready(waiter);
    }
  }
}

}  // namespace heddle::sim::machine
