// SPDX-License-Identifier: Apache-2.0
//
// PTX: tcgen05.mma, tcgen05.cp, tcgen05.commit, tcgen05.fence. What they compute is in tcgen05_multiply.cpp.
//
// Model: what one thread issues runs in order, whatever it is. The manual promises this order for multiplications
// of one shape that add to the same accumulator, and for copies before multiplications; kernels rely on it for
// copies behind multiplications too.
#include "sim/machine/machine.h"

#include "sim/machine/wgmma.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim::machine {

namespace {

constexpr const char* kMma = "tcgen05.mma";

}  // namespace

void Machine::tcgen05_fence(Thread& thread, FenceKind kind, CallSite site) {
  require_sm100(thread, site,
                kind == FenceKind::kTcgen05Before ? "tcgen05.fence::before_thread_sync"
                                                  : "tcgen05.fence::after_thread_sync");
  fence(thread, kind, site);
}

void Machine::enqueue(Thread& thread, Tcgen05Operation operation) {
  if (thread.tcgen05 == nullptr) {
    thread.tcgen05 = &thread.cta->tcgen05_queues.emplace_back();
    thread.tcgen05->cta = thread.cta;
    thread.tcgen05->tid = thread.tid;
  }
  Tcgen05Queue& queue = *thread.tcgen05;
  if (queue.operations.empty()) tcgen05_ready_.push_back(&queue);
  queue.operations.push_back(std::move(operation));
  changed();
}

void Machine::check_tcgen05_operand(const Thread& thread, char operand, std::uint64_t descriptor, Major major,
                                    OperandType type, std::uint32_t rows, CallSite site) const {
  const SmemDescriptor fields = decode_tcgen05_descriptor(descriptor).fields;
  const Cta& cta = *thread.cta;
  const std::string shared =
      fmt::format("the CTA's shared memory is [{:#x}, {:#x})", kSharedBase, cta.shared_end);
  if (fields.start_address < kSharedBase || fields.start_address >= cta.shared_end) {
    fault(&thread, site, FaultCode::kBadDescriptor,
          fmt::format("{} with the descriptor {:#018x} of {}: the start address is {:#x}; {}", kMma, descriptor,
                      operand, fields.start_address, shared),
          {"likely: the address is a pointer's and not that of shared_address()"});
  }
  const SharedRange extent = operand_extent(fields, major, type, rows);
  if (extent.address < kSharedBase || extent.address + extent.bytes > cta.shared_end) {
    fault(
        &thread, site, FaultCode::kBadDescriptor,
        fmt::format(
            "{} with the descriptor {:#018x} of {}: with start address {:#x}, leading byte offset {} and stride "
            "byte offset {} its {} x {} elements reach to {:#x}; {}",
            kMma, descriptor, operand, fields.start_address, fields.leading_bytes, fields.stride_bytes, rows,
            32 / stored_bytes(type), extent.address + extent.bytes, shared));
  }
}

void Machine::tcgen05_mma(Thread& thread, const Tcgen05Operands& operands, CallSite site) {
  const Cta* peer = join_cta_group(thread, operands.cta_group, site, kMma);
  refuse_tcgen05(thread, sim::machine::check(operands), site);
  const Tcgen05Fields fields = fields_of(operands);
  const auto group = static_cast<std::uint32_t>(operands.cta_group);
  if (!operands.a_in_tmem) {
    check_tcgen05_operand(thread, 'A', operands.a_descriptor, fields.a_major, fields.a_type, fields.m / group,
                          site);
  }
  check_tcgen05_operand(thread, 'B', operands.b_descriptor, fields.b_major, fields.b_type, fields.n / group,
                        site);
  const Tcgen05Layout layout = layout_of(operands.cta_group, fields.m, fields.n);
  const std::uint32_t lane = tmem_lane(operands.d);
  if (lane != 0 && !(layout.is_spread && lane == 16)) {
    fault(&thread, site, FaultCode::kTmemLane,
          fmt::format("{} with D at {:#010x}: the lane is {}; it is 0{}", text_of(operands), operands.d, lane,
                      layout.is_spread ? " or 16" : ""));
  }
  if (operands.a_in_tmem && tmem_lane(operands.a) != lane) {
    fault(&thread, site, FaultCode::kTmemLane,
          fmt::format("{} with A at {:#010x} and D at {:#010x}; A has the lane of D", text_of(operands),
                      operands.a, operands.d));
  }
  const auto check_cols = [&](const char* what, std::uint32_t taddr, std::uint32_t cols) {
    for (const Cta* cta : {static_cast<const Cta*>(thread.cta), peer}) {
      if (cta == nullptr) continue;
      check_tmem_cols(thread, *cta, tmem_column(taddr), cols, text_of(operands) + what, site);
    }
  };
  check_cols("", operands.d, layout.cols());
  if (operands.a_in_tmem) check_cols(", for A,", operands.a, kTmemACols);
  const auto check_scales = [&](char side, std::uint32_t taddr, std::uint32_t cols) {
    check_cols(side == 'A' ? ", for the scales of A," : ", for the scales of B,", taddr, cols);
    // The upper two bits may hold the byte that the instruction descriptor names; the hardware does not look.
    if ((tmem_lane(taddr) & 0x3FFF) != 0) {
      fault(&thread, site, FaultCode::kTmemLane,
            fmt::format("{} with the scales of {} at {:#010x}: the lane is {}; it is 0", text_of(operands), side,
                        taddr, tmem_lane(taddr) & 0x3FFF));
    }
    const std::uint32_t first = tmem_column(operands.d);
    if (tmem_column(taddr) < first + layout.cols() && first < tmem_column(taddr) + cols) {
      fault(
          &thread, site, FaultCode::kTmemOverlap,
          fmt::format("{}: D takes columns {} to {}, and the scales of {} columns {} to {}", text_of(operands),
                      first, first + layout.cols() - 1, side, tmem_column(taddr), tmem_column(taddr) + cols - 1));
    }
  };
  if (operands.scale_vec != 0) {
    check_scales('A', operands.sfa, scale_cols(layout.rows));
    check_scales('B', operands.sfb, scale_cols(fields.n));
  }
  Tcgen05Operation operation{.kind = Tcgen05Operation::Kind::kMma, .id = next_mma_id_++, .site = site};
  operation.operands = operands;
  ++stats_.mmas;
  tell_issue(thread, operation.id, kMma, site);
  enqueue(thread, std::move(operation));
}

void Machine::tcgen05_cp(Thread& thread, const Tcgen05Copy& copy, CallSite site) {
  constexpr const char* kCopy = "tcgen05.cp";
  const Cta* peer = join_cta_group(thread, copy.cta_group, site, kCopy);
  refuse_tcgen05(thread, sim::machine::check(copy), site);
  const SmemDescriptor fields = decode_tcgen05_descriptor(copy.descriptor).fields;
  for (const SharedRange& range : copy_ranges(copy)) {
    if (range.address >= kSharedBase && range.address + range.bytes <= thread.cta->shared_end) continue;
    fault(&thread, site, FaultCode::kBadDescriptor,
          fmt::format(
              "{}.{} with the descriptor {:#018x}: with start address {:#x}, leading byte offset {} and stride "
              "byte offset {} its {} rows of {} bytes reach {:#x}; the CTA's shared memory is [{:#x}, {:#x})",
              kCopy, sim::machine::name_of(copy.shape), copy.descriptor, fields.start_address,
              fields.leading_bytes, fields.stride_bytes, copy.rows(), copy.row_bytes(),
              range.address + range.bytes, kSharedBase, thread.cta->shared_end));
  }
  for (const Cta* cta : {static_cast<const Cta*>(thread.cta), peer}) {
    if (cta == nullptr) continue;
    check_tmem_cols(thread, *cta, tmem_column(copy.taddr), copy.cols(),
                    fmt::format("{}.{}", kCopy, sim::machine::name_of(copy.shape)), site);
  }
  Tcgen05Operation operation{.kind = Tcgen05Operation::Kind::kCopy, .id = next_mma_id_++, .site = site};
  operation.operands.cta_group = copy.cta_group;
  operation.copy = copy;
  tell_issue(thread, operation.id, kCopy, site);
  enqueue(thread, std::move(operation));
}

void Machine::refuse_tcgen05(const Thread& thread, Tcgen05Fault wrong, CallSite site) const {
  if (!wrong.code) return;
  std::vector<std::string> details;
  if (!wrong.likely.empty()) details.push_back("likely: " + wrong.likely);
  fault(&thread, site, *wrong.code, std::move(wrong.headline), std::move(details));
}

void Machine::tell_issue(const Thread& thread, std::uint64_t id, const char* name, CallSite site) {
  if (!wants(EventKind::kMmaIssue)) return;
  emit({.kind = EventKind::kMmaIssue,
        .cta = thread.cta->linear,
        .thread = thread.tid,
        .value = 1,
        .copy = id,
        .text = name,
        .site = site});
}

void Machine::tcgen05_commit(Thread& thread, int cta_group, SharedAddress barrier, CallSite site) {
  commit(thread, cta_group, barrier, {barrier >> kRankShift}, site);
}

void Machine::tcgen05_commit_multicast(Thread& thread, int cta_group, SharedAddress barrier, std::uint16_t mask,
                                       CallSite site) {
  if (mask == 0 || mask >> cluster_size_ != 0) {
    fault(&thread, site, FaultCode::kBadRank,
          fmt::format(
              "tcgen05.commit with the mask {:#06x}, but the cluster has {} CTAs: bits 0 to {}, at least one",
              mask, cluster_size_, cluster_size_ - 1));
  }
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < cluster_size_; ++rank) {
    if ((mask & 1u << rank) != 0) ranks.push_back(rank);
  }
  commit(thread, cta_group, barrier, std::move(ranks), site);
}

void Machine::commit(Thread& thread, int cta_group, SharedAddress barrier, std::vector<std::uint32_t> ranks,
                     CallSite site) {
  constexpr const char* kInstruction = "tcgen05.commit";
  join_cta_group(thread, cta_group, site, kInstruction);
  const std::uint32_t offset = barrier & kOffsetMask;
  for (const std::uint32_t rank : ranks) live_barrier(thread, offset | rank << kRankShift, site, kInstruction);
  Tcgen05Operation operation{.kind = Tcgen05Operation::Kind::kCommit, .id = next_commit_id_++, .site = site};
  operation.operands.cta_group = cta_group;
  operation.barrier = offset;
  operation.ranks = std::move(ranks);
  if (wants(EventKind::kMmaTell)) {
    emit({.kind = EventKind::kMmaTell,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .copy = operation.id,
          .site = site});
  }
  enqueue(thread, std::move(operation));
}

void Machine::step_tcgen05(std::size_t index) {
  Tcgen05Queue& queue = *tcgen05_ready_[index];
  const Tcgen05Operation operation = std::move(queue.operations.front());
  queue.operations.pop_front();
  if (queue.operations.empty()) tcgen05_ready_.erase(tcgen05_ready_.begin() + static_cast<std::ptrdiff_t>(index));
  if (operation.kind == Tcgen05Operation::Kind::kCommit) return run_tcgen05_commit(queue, operation);
  if (operation.kind == Tcgen05Operation::Kind::kCopy) {
    run_tcgen05_cp(queue, operation);
  } else {
    run_tcgen05_mma(queue, operation);
  }
  if (wants(EventKind::kMmaDone)) {
    emit({.kind = EventKind::kMmaDone, .cta = queue.cta->linear, .copy = operation.id, .site = operation.site});
  }
}

namespace {

bool touches(const Tcgen05Operation& operation, std::uint32_t column, std::uint32_t cols) {
  const auto overlaps = [&](std::uint32_t taddr, std::uint32_t count) {
    return tmem_column(taddr) < column + cols && column < tmem_column(taddr) + count;
  };
  if (operation.kind == Tcgen05Operation::Kind::kCommit) return false;
  if (operation.kind == Tcgen05Operation::Kind::kCopy) {
    return overlaps(operation.copy.taddr, operation.copy.cols());
  }
  const Tcgen05Operands& operands = operation.operands;
  const Tcgen05Fields fields = fields_of(operands);
  const Tcgen05Layout layout = layout_of(operands.cta_group, fields.m, fields.n);
  if (overlaps(operands.d, layout.cols()) || (operands.a_in_tmem && overlaps(operands.a, kTmemACols)))
    return true;
  return operands.scale_vec != 0 &&
         (overlaps(operands.sfa, scale_cols(layout.rows)) || overlaps(operands.sfb, scale_cols(fields.n)));
}

}  // namespace

void Machine::run_tcgen05_on(const Cta& cta, std::uint32_t column, std::uint32_t cols) {
  for (Cta* issuer : cta.cluster->ctas) {
    for (Tcgen05Queue& queue : issuer->tcgen05_queues) {
      const auto is_one = [&](const Tcgen05Operation& operation) {
        const bool is_here =
            issuer == &cta || (operation.operands.cta_group == 2 && (issuer->rank ^ 1) == cta.rank);
        return is_here && touches(operation, column, cols);
      };
      while (std::any_of(queue.operations.begin(), queue.operations.end(), is_one)) {
        const auto ready = std::find(tcgen05_ready_.begin(), tcgen05_ready_.end(), &queue);
        step_tcgen05(static_cast<std::size_t>(ready - tcgen05_ready_.begin()));
      }
    }
  }
}

// PTX: tcgen05.commit makes an arrive-on operation with a count of 1, at cluster scope.
void Machine::run_tcgen05_commit(const Tcgen05Queue& queue, const Tcgen05Operation& operation) {
  const Thread& issuer = queue.cta->threads[queue.tid];
  std::uint32_t left = static_cast<std::uint32_t>(operation.ranks.size());
  for (const std::uint32_t rank : operation.ranks) {
    const Cta& cta = *queue.cta->cluster->ctas[rank];
    Barrier* barrier = find_barrier(cta, operation.barrier);
    if (barrier == nullptr || !barrier->live) {
      fault(&issuer, operation.site, FaultCode::kUninitialisedBarrier,
            fmt::format("tcgen05.commit arrives on {}, which is not initialised",
                        describe_shared(cta, operation.barrier)));
    }
    const std::uint64_t phase = barrier->state.phase;
    check(barrier->state.arrive(1), issuer, *barrier, 1, operation.site, "tcgen05.commit");
    changed();
    --left;
    if (wants(EventKind::kBarrierArrive)) {
      emit({.kind = EventKind::kBarrierArrive,
            .scope = EventScope::kCluster,
            .cta = queue.cta->linear,
            .thread = queue.tid,
            .barrier = barrier->id,
            .address = barrier->offset | cta.rank << kRankShift,
            .bytes = left,
            .phase = phase,
            .value = 1,
            .copy = operation.id,
            .site = operation.site});
    }
    settle(*barrier);
  }
}

}  // namespace heddle::sim::machine
