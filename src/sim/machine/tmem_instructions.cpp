// SPDX-License-Identifier: Apache-2.0
//
// PTX: tcgen05.ld, tcgen05.st, tcgen05.wait.
//
// Model: a load or store happens at one moment between its instruction and the wait for it. Until that wait the
// registers of a load hold a pattern, though hardware would honour a true dependence on them: every library
// waits.
#include "sim/machine/tmem_unit.h"

#include "sim/machine/tcgen05_unit.h"
#include "sim/machine/warp_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim::machine {

namespace {

const char* transfer_name(bool is_store) { return is_store ? "tcgen05.st" : "tcgen05.ld"; }

const char* shape_name(TmemShape shape) {
  constexpr const char* kNames[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
  return kNames[static_cast<int>(shape)];
}

}  // namespace

// PTX: Access restrictions of tcgen05.ld and tcgen05.st: a warp reaches the lanes of its quarter.
// Model: published kernels leave the quarter out of the address and rely on the hardware putting in the warp's
// own, so that a quarter of 0 passes in every warp.
std::uint32_t TmemUnit::own_lanes(const Thread& thread, TmemShape shape, std::uint32_t taddr, CallSite site,
                                  const char* instruction) const {
  const std::uint32_t lane = tmem_lane(taddr);
  const std::uint32_t quarter = 32 * (thread.warp() % 4);
  const std::uint32_t step = shape == TmemShape::k32x32b ? 32 : 16;
  if (lane % step != 0) {
    core_.fault(
        &thread, site, FaultCode::kTmemLane,
        fmt::format("{}.{} at {:#010x}: lane {} is not a multiple of {}; {:#010x} would pass", instruction,
                    shape_name(shape), taddr, lane, step, (quarter << 16) | tmem_column(taddr)));
  }
  if (lane >= kTmemLanes || (lane / 32 * 32 != 0 && lane / 32 * 32 != quarter)) {
    core_.fault(
        &thread, site, FaultCode::kTmemLane,
        fmt::format("{}.{} at {:#010x}: lane {} in warp {}, which reaches lanes {} to {}; {:#010x} would pass",
                    instruction, shape_name(shape), taddr, lane, thread.warp(), quarter, quarter + 31,
                    ((quarter + lane % 32) << 16) | tmem_column(taddr)),
        {"likely: the warp's index in its role was used; the lanes go by the warp's index in the CTA, modulo 4"});
  }
  return ((quarter + lane % 32) << 16) | tmem_column(taddr);
}

bool TmemUnit::ld(Thread& thread, const TmemOperands& operands, CallSite site) {
  return transfer(thread, false, operands, site);
}

bool TmemUnit::st(Thread& thread, const TmemOperands& operands, CallSite site) {
  return transfer(thread, true, operands, site);
}

bool TmemUnit::transfer(Thread& thread, bool is_store, const TmemOperands& operands, CallSite site) {
  const char* instruction = transfer_name(is_store);
  require_sm100(thread, site, instruction);
  if (!meet(thread, is_store ? WarpOp::kTmemSt : WarpOp::kTmemLd, operands, site)) return false;
  Cta& cta = *thread.cta;
  auto transfer = std::make_unique<TmemTransfer>();
  transfer->cta = &cta;
  transfer->warp = thread.warp();
  transfer->is_store = is_store;
  transfer->shape = operands.shape;
  transfer->count = operands.count;
  transfer->has_halves = operands.has_halves;
  transfer->site = site;
  transfer->taddr[0] = own_lanes(thread, operands.shape, operands.taddr, site, instruction);
  transfer->taddr[1] = transfer->taddr[0];
  if (operands.shape == TmemShape::k16x32bx2) {
    transfer->taddr[1] = own_lanes(thread, operands.shape, operands.taddr + operands.offset, site, instruction);
  }
  const std::uint32_t cols = transfer->cols();
  const std::string what = fmt::format("{}.{}", instruction, shape_name(operands.shape));
  check_cols(thread, cta, tmem_column(transfer->taddr[0]), cols, what, site);
  check_cols(thread, cta, tmem_column(transfer->taddr[1]), cols, what, site);
  for (std::uint32_t l = 0; l < 32; ++l) {
    Thread& lane = cta.threads[thread.warp() * 32 + l];
    std::uint32_t* registers = lane.tmem->registers;
    transfer->registers[l] = registers;
    if (is_store) {
      check_stored_value(lane, registers, 4 * operands.count, site);
      transfer->values.insert(transfer->values.end(), registers, registers + operands.count);
    } else {
      std::fill_n(registers, operands.count, kTmemInFlight);
      ++lane.tmem_loads;
    }
  }
  transfer->id = next_id_++;
  core_.changed();
  core_.emit(event::TmemIssue{.cta = cta.linear,
                              .thread = thread.warp() * 32,
                              .transfer = transfer->id,
                              .is_store = is_store,
                              .site = site});
  ready_.push_back(transfer.get());
  cta.tmem.transfers.push_back(std::move(transfer));
  return true;
}

void TmemUnit::step(std::size_t index) {
  TmemTransfer& transfer = *ready_[index];
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(index));
  Cta& cta = *transfer.cta;
  for (const std::uint32_t taddr : transfer.taddr) {
    check_not_freed(cta.threads[transfer.warp * 32], false, cta, tmem_column(taddr), transfer.cols(),
                    transfer_name(transfer.is_store), transfer.site);
  }
  cta.tmem.move(transfer);
  transfer.is_done = true;
  if (core_.wants<event::TmemMove>()) {
    const bool is_whole = transfer.shape == TmemShape::k32x32b;
    const std::uint32_t last = transfer.shape == TmemShape::k16x32bx2 ? 1 : 0;
    for (std::uint32_t half = 0; half <= last; ++half) {
      const std::uint64_t lanes = std::uint64_t{is_whole ? 3u : 1u} << tmem_lane(transfer.taddr[half]) / 16;
      core_.emit(event::TmemMove{.cta = cta.linear,
                                 .transfer = transfer.id,
                                 .address = transfer.taddr[half],
                                 .cols = transfer.cols(),
                                 .how = lanes | (transfer.is_store ? TmemTouch::kWrites : 0),
                                 .site = transfer.site});
    }
  }
  wake_warp(cta, transfer.warp);
}

// PTX: tcgen05.ld: a true dependence on a register is honoured. Who has the value knows that the load is over.
void TmemUnit::deliver(const Thread& thread, const std::uint32_t* registers) {
  for (const std::unique_ptr<TmemTransfer>& transfer : thread.cta->tmem.transfers) {
    if (transfer->warp != thread.warp() || transfer->is_store || transfer->is_delivered ||
        transfer->registers[0] != registers) {
      continue;
    }
    const auto waiting = std::find(ready_.begin(), ready_.end(), transfer.get());
    if (waiting != ready_.end()) step(static_cast<std::size_t>(waiting - ready_.begin()));
    for (std::uint32_t l = 0; l < 32; ++l) {
      std::copy_n(&transfer->values[std::size_t{l} * transfer->count], transfer->count, transfer->registers[l]);
    }
    transfer->is_delivered = true;
    core_.emit(event::TmemPass{.cta = thread.cta->linear,
                               .thread = thread.warp() * 32,
                               .transfer = transfer->id,
                               .is_store = false,
                               .site = transfer->site});
  }
}

bool TmemUnit::wait_arrive(Thread& thread, bool for_stores, CallSite site) {
  const char* instruction = for_stores ? "tcgen05.wait::st" : "tcgen05.wait::ld";
  require_sm100(thread, site, instruction);
  static constexpr TmemOperands kNone{};
  return meet(thread, for_stores ? WarpOp::kTmemWaitSt : WarpOp::kTmemWaitLd, kNone, site);
}

bool TmemUnit::wait(Thread& thread, bool for_stores, CallSite site) {
  Tmem& tmem = thread.cta->tmem;
  const auto is_awaited = [&](const std::unique_ptr<TmemTransfer>& transfer) {
    return transfer->warp == thread.warp() && transfer->is_store == for_stores;
  };
  bool is_first = false;
  for (const std::unique_ptr<TmemTransfer>& transfer : tmem.transfers) {
    if (!is_awaited(transfer)) continue;
    is_first = true;
    if (transfer->is_done) continue;
    core_.block(thread, {.kind = for_stores ? WaitKind::kTmemStores : WaitKind::kTmemLoads, .site = site});
    return false;
  }
  // The first lane that passes does so for its warp; the others find nothing left to wait for.
  if (!is_first) return true;
  for (const std::unique_ptr<TmemTransfer>& transfer : tmem.transfers) {
    if (!is_awaited(transfer) || for_stores) continue;
    for (std::uint32_t l = 0; l < 32; ++l) {
      std::uint32_t* registers = transfer->registers[l];
      Thread& lane = thread.cta->threads[thread.warp() * 32 + l];
      lane.tmem_loads = 0;
      if (transfer->is_delivered) continue;
      if (std::any_of(registers, registers + transfer->count,
                      [](std::uint32_t r) { return r != kTmemInFlight; })) {
        core_.judge(
            &lane, transfer->site,
            {.code = FaultCode::kMissingTmemWait,
             .headline =
                 "registers that a tcgen05.ld was to fill were used for something else before tcgen05.wait::ld",
             .details = {fmt::format("{:<62} {}", "the wait", place(site)),
                         "likely: no tcgen05_wait_ld() where the registers were last needed"},
             .places = {.second = site}});
        continue;  // they hold something else now
      }
      std::copy_n(&transfer->values[std::size_t{l} * transfer->count], transfer->count, registers);
    }
  }
  std::erase_if(tmem.transfers, is_awaited);
  core_.emit(event::TmemPass{
      .cta = thread.cta->linear, .thread = thread.warp() * 32, .is_store = for_stores, .site = site});
  return true;
}

// A value that a load has not delivered, on its way to memory.
void TmemUnit::check_stored_value(const Thread& thread, const void* registers, std::uint32_t bytes,
                                  CallSite site) {
  if (thread.tmem_loads == 0) return;
  for (std::uint32_t at = 0; at + 4 <= bytes; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(registers) + at, 4);
    if (word != kTmemInFlight) continue;
    std::vector<std::string> details;
    for (const std::unique_ptr<TmemTransfer>& transfer : thread.cta->tmem.transfers) {
      if (transfer->warp != thread.warp() || transfer->is_store) continue;
      details.push_back(fmt::format("{:<62} {}", "tcgen05.ld", place(transfer->site)));
      break;
    }
    details.emplace_back("likely: tcgen05_wait_ld() is missing between the two");
    core_.judge(
        &thread, site,
        {FaultCode::kMissingTmemWait, "a register that a tcgen05.ld is to fill is stored before tcgen05.wait::ld",
         std::move(details)});
  }
}

void TmemUnit::thread_exit(const Thread& thread) {
  for (const std::unique_ptr<TmemTransfer>& transfer : thread.cta->tmem.transfers) {
    // A load whose values were used is over, and was told where they were.
    if (transfer->warp != thread.warp() || transfer->is_delivered) continue;
    core_.judge(&thread, transfer->site,
                {FaultCode::kMissingTmemWait,
                 fmt::format("a thread exits while a {} of its warp has not been waited for",
                             transfer_name(transfer->is_store)),
                 {fmt::format("likely: no {} behind it",
                              transfer->is_store ? "tcgen05_wait_st()" : "tcgen05_wait_ld()")}});
  }
}

void TmemUnit::cta_exit(const Cta& cta) {
  const std::string who = core_.has_one_cta() ? std::string("the CTA") : core_.describe(cta);
  for (const Cta* issuer : cta.cluster->ctas) {
    for (const Tcgen05Queue& queue : issuer->tcgen05_queues) {
      for (const Tcgen05Operation& operation : queue.operations) {
        const bool is_commit = operation.kind == Tcgen05Operation::Kind::kCommit;
        const bool touches =
            is_commit ? std::count(operation.ranks.begin(), operation.ranks.end(), cta.rank) != 0
                      : issuer == &cta || (operation.operands.cta_group == 2 && (issuer->rank ^ 1) == cta.rank);
        if (!touches) continue;
        const CallSite site = operation.site;
        tcgen05_.run_on(cta, 0, kTmemCols);  // whatever it does to others says more
        core_.fault(nullptr, site, FaultCode::kExitInFlight,
                    is_commit ? fmt::format("{} exits before a tcgen05.commit has arrived on its barrier", who)
                              : fmt::format("{} exits while a tcgen05 operation on its memory is in flight", who),
                    {"likely: nobody waits for the last commits before the end; drain the pipeline"});
      }
    }
  }
  if (cta.tmem.allocations.empty()) return;
  const TmemAllocation& leak = cta.tmem.allocations.front();
  core_.fault(
      nullptr, leak.site, FaultCode::kTmemLeak,
      fmt::format("{} exits with {} columns of tensor memory at {:#010x} allocated", who, leak.cols, leak.column),
      {"likely: no tcgen05_dealloc() before the end, by one whole warp"});
}

void TmemUnit::finish_transfers(const Cta& cta) {
  for (std::size_t i = ready_.size(); i-- > 0;) {
    if (ready_[i]->cta == &cta) step(i);
  }
}

}  // namespace heddle::sim::machine
