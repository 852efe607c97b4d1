// SPDX-License-Identifier: Apache-2.0
//
// PTX: tcgen05.mma, tcgen05.cp, tcgen05.commit, tcgen05.fence. What they compute is in tcgen05_multiply.cpp.
//
// Model: what one thread issues runs in order, whatever it is. The manual promises this order for multiplications
// of one shape that add to the same accumulator, and for copies before multiplications; kernels rely on it for
// copies behind multiplications too.
#include "sim/machine/tcgen05_unit.h"

#include "sim/machine/mbarrier_unit.h"
#include "sim/machine/memory_unit.h"
#include "sim/machine/tmem_unit.h"

#include "sim/machine/wgmma.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim::machine {

namespace {

constexpr const char* kMma = "tcgen05.mma";

event::MmaIssue issue_of(const Thread& thread, std::uint64_t id, const char* name, CallSite site) {
  return {.cta = thread.cta->linear,
          .thread = thread.tid,
          .operation = id,
          .is_tcgen05 = true,
          .name = name,
          .site = site};
}

}  // namespace

void Tcgen05Unit::fence(Thread& thread, FenceKind kind, CallSite site) {
  tmem_.require_sm100(thread, site,
                      kind == FenceKind::kTcgen05Before ? "tcgen05.fence::before_thread_sync"
                                                        : "tcgen05.fence::after_thread_sync");
  memory_.fence(thread, kind, site);
}

void Tcgen05Unit::enqueue(Thread& thread, Tcgen05Operation operation) {
  if (thread.tcgen05 == nullptr) {
    thread.tcgen05 = &thread.cta->tcgen05_queues.emplace_back();
    thread.tcgen05->cta = thread.cta;
    thread.tcgen05->tid = thread.tid;
  }
  Tcgen05Queue& queue = *thread.tcgen05;
  if (queue.operations.empty()) ready_.push_back(&queue);
  queue.operations.push_back(std::move(operation));
  core_.changed();
}

void Tcgen05Unit::check_operand(const Thread& thread, char operand, std::uint64_t descriptor, Major major,
                                OperandType type, std::uint32_t rows, std::uint32_t row_bytes,
                                CallSite site) const {
  const SmemDescriptor fields = decode_tcgen05_descriptor(descriptor).fields;
  const Cta& cta = *thread.cta;
  const std::string shared =
      fmt::format("the CTA's shared memory is [{:#x}, {:#x})", kSharedBase, cta.shared_end);
  if (fields.start_address < kSharedBase || fields.start_address >= cta.shared_end) {
    core_.fault(&thread, site, FaultCode::kBadDescriptor,
                fmt::format("{} with the descriptor {:#018x} of {}: the start address is {:#x}; {}", kMma,
                            descriptor, operand, fields.start_address, shared),
                {"likely: the address is a pointer's and not that of shared_address()"});
  }
  const SharedRange extent = operand_extent(fields, major, type, rows, row_bytes);
  if (extent.address < kSharedBase || extent.address + extent.bytes > cta.shared_end) {
    core_.fault(
        &thread, site, FaultCode::kBadDescriptor,
        fmt::format(
            "{} with the descriptor {:#018x} of {}: with start address {:#x}, leading byte offset {} and stride "
            "byte offset {} its {} x {} elements reach to {:#x}; {}",
            kMma, descriptor, operand, fields.start_address, fields.leading_bytes, fields.stride_bytes, rows,
            row_bytes / stored_bytes(type), extent.address + extent.bytes, shared));
  }
}

void Tcgen05Unit::mma(Thread& thread, const Tcgen05Operands& operands, CallSite site) {
  const Cta* peer = tmem_.join_cta_group(thread, operands.cta_group, site, kMma);
  refuse(thread, check(operands), site);
  const Tcgen05Fields fields = fields_of(operands);
  const auto group = static_cast<std::uint32_t>(operands.cta_group);
  if (!operands.a_in_tmem) {
    check_operand(thread, 'A', operands.a_descriptor, fields.a_major, fields.a_type, fields.m / group, 32, site);
  }
  check_operand(thread, 'B', operands.b_descriptor, fields.b_major, fields.b_type, fields.n / group,
                operands.b_row_bytes(), site);
  const Tcgen05Layout layout = layout_of(operands, fields);
  const std::uint32_t lane = tmem_lane(operands.d);
  if (lane != 0 && !(layout.is_spread && lane == 16)) {
    core_.fault(&thread, site, FaultCode::kTmemLane,
                fmt::format("{} with D at {:#010x}: the lane is {}; it is 0{}", text_of(operands), operands.d,
                            lane, layout.is_spread ? " or 16" : ""));
  }
  if (operands.a_in_tmem && tmem_lane(operands.a) != lane) {
    core_.fault(&thread, site, FaultCode::kTmemLane,
                fmt::format("{} with A at {:#010x} and D at {:#010x}; A has the lane of D", text_of(operands),
                            operands.a, operands.d));
  }
  const auto check_cols = [&](const char* what, std::uint32_t taddr, std::uint32_t cols) {
    for (const Cta* cta : {static_cast<const Cta*>(thread.cta), peer}) {
      if (cta == nullptr) continue;
      tmem_.check_cols(thread, *cta, tmem_column(taddr), cols, text_of(operands) + what, site);
    }
  };
  check_cols("", operands.d, layout.cols());
  if (operands.a_in_tmem) check_cols(", for A,", operands.a, kTmemACols);
  if (operands.is_sparse) {
    check_cols(", for the metadata of A,", operands.metadata + fields.sparsity_selector, metadata_cols(fields));
  }
  const auto check_scales = [&](char side, std::uint32_t taddr, std::uint32_t cols) {
    check_cols(side == 'A' ? ", for the scales of A," : ", for the scales of B,", taddr, cols);
    // The upper two bits may hold the byte that the instruction descriptor names; the hardware does not look.
    if ((tmem_lane(taddr) & 0x3FFF) != 0) {
      core_.fault(&thread, site, FaultCode::kTmemLane,
                  fmt::format("{} with the scales of {} at {:#010x}: the lane is {}; it is 0", text_of(operands),
                              side, taddr, tmem_lane(taddr) & 0x3FFF));
    }
    const std::uint32_t first = tmem_column(operands.d);
    if (tmem_column(taddr) < first + layout.cols() && first < tmem_column(taddr) + cols) {
      core_.fault(
          &thread, site, FaultCode::kTmemOverlap,
          fmt::format("{}: D takes columns {} to {}, and the scales of {} columns {} to {}", text_of(operands),
                      first, first + layout.cols() - 1, side, tmem_column(taddr), tmem_column(taddr) + cols - 1));
    }
  };
  if (operands.scale_vec != 0) {
    check_scales('A', operands.sfa, scale_cols(layout.rows));
    check_scales('B', operands.sfb, scale_cols(fields.n));
  }
  Tcgen05Operation operation{.kind = Tcgen05Operation::Kind::kMma, .id = next_id_++, .site = site};
  operation.operands = operands;
  ++core_.stats().mmas;
  event::MmaIssue issue = issue_of(thread, operation.id, kMma, site);
  issue.m = layout.rows;
  issue.n = fields.n;
  issue.operand_bytes = (operands.a_in_tmem ? 0 : layout.rows * 32) + fields.n / group * operands.b_row_bytes();
  core_.emit(issue);
  enqueue(thread, std::move(operation));
}

void Tcgen05Unit::cp(Thread& thread, const Tcgen05Copy& copy, CallSite site) {
  constexpr const char* kCopy = "tcgen05.cp";
  const Cta* peer = tmem_.join_cta_group(thread, copy.cta_group, site, kCopy);
  refuse(thread, check(copy), site);
  const SmemDescriptor fields = decode_tcgen05_descriptor(copy.descriptor).fields;
  for (const SharedRange& range : copy_ranges(copy)) {
    if (range.address >= kSharedBase && range.address + range.bytes <= thread.cta->shared_end) continue;
    core_.fault(
        &thread, site, FaultCode::kBadDescriptor,
        fmt::format(
            "{}.{} with the descriptor {:#018x}: with start address {:#x}, leading byte offset {} and stride "
            "byte offset {} its {} rows of {} bytes reach {:#x}; the CTA's shared memory is [{:#x}, {:#x})",
            kCopy, name_of(copy.shape), copy.descriptor, fields.start_address, fields.leading_bytes,
            fields.stride_bytes, copy.rows(), copy.row_bytes(), range.address + range.bytes, kSharedBase,
            thread.cta->shared_end));
  }
  for (const Cta* cta : {static_cast<const Cta*>(thread.cta), peer}) {
    if (cta == nullptr) continue;
    tmem_.check_cols(thread, *cta, tmem_column(copy.taddr), copy.cols(),
                     fmt::format("{}.{}", kCopy, name_of(copy.shape)), site);
  }
  Tcgen05Operation operation{.kind = Tcgen05Operation::Kind::kCopy, .id = next_id_++, .site = site};
  operation.operands.cta_group = copy.cta_group;
  operation.copy = copy;
  tell_issue(thread, operation.id, kCopy, site);
  enqueue(thread, std::move(operation));
}

void Tcgen05Unit::refuse(const Thread& thread, Tcgen05Fault wrong, CallSite site) const {
  if (!wrong.code) return;
  std::vector<std::string> details;
  if (!wrong.likely.empty()) details.push_back("likely: " + wrong.likely);
  core_.fault(&thread, site, *wrong.code, std::move(wrong.headline), std::move(details));
}

void Tcgen05Unit::tell_issue(const Thread& thread, std::uint64_t id, const char* name, CallSite site) {
  core_.emit(issue_of(thread, id, name, site));
}

void Tcgen05Unit::commit(Thread& thread, int cta_group, SharedAddress barrier, CallSite site) {
  commit_to(thread, cta_group, barrier, {barrier >> kRankShift}, site);
}

void Tcgen05Unit::commit_multicast(Thread& thread, int cta_group, SharedAddress barrier, std::uint16_t mask,
                                   CallSite site) {
  if (mask == 0 || mask >> core_.cluster_size() != 0) {
    core_.fault(
        &thread, site, FaultCode::kBadRank,
        fmt::format(
            "tcgen05.commit with the mask {:#06x}, but the cluster has {} CTAs: bits 0 to {}, at least one", mask,
            core_.cluster_size(), core_.cluster_size() - 1));
  }
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < core_.cluster_size(); ++rank) {
    if ((mask & 1u << rank) != 0) ranks.push_back(rank);
  }
  commit_to(thread, cta_group, barrier, std::move(ranks), site);
}

void Tcgen05Unit::commit_to(Thread& thread, int cta_group, SharedAddress barrier,
                            std::vector<std::uint32_t> ranks, CallSite site) {
  constexpr const char* kInstruction = "tcgen05.commit";
  tmem_.join_cta_group(thread, cta_group, site, kInstruction);
  const std::uint32_t offset = barrier & kOffsetMask;
  for (const std::uint32_t rank : ranks) mbarriers_.live(thread, offset | rank << kRankShift, site, kInstruction);
  Tcgen05Operation operation{.kind = Tcgen05Operation::Kind::kCommit, .id = next_commit_id_++, .site = site};
  operation.operands.cta_group = cta_group;
  operation.barrier = offset;
  operation.ranks = std::move(ranks);
  core_.emit(
      event::MmaTell{.cta = thread.cta->linear, .thread = thread.tid, .commit = operation.id, .site = site});
  enqueue(thread, std::move(operation));
}

void Tcgen05Unit::step(std::size_t index) {
  Tcgen05Queue& queue = *ready_[index];
  const Tcgen05Operation operation = std::move(queue.operations.front());
  queue.operations.pop_front();
  if (queue.operations.empty()) ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(index));
  if (operation.kind == Tcgen05Operation::Kind::kCommit) return run_commit(queue, operation);
  if (operation.kind == Tcgen05Operation::Kind::kCopy) {
    run_cp(queue, operation);
  } else {
    run_mma(queue, operation);
  }
  core_.emit(event::MmaDone{.cta = queue.cta->linear, .operation = operation.id, .site = operation.site});
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
  const Tcgen05Layout layout = layout_of(operands, fields);
  if (operands.is_sparse && overlaps(operands.metadata + fields.sparsity_selector, metadata_cols(fields)))
    return true;
  if (overlaps(operands.d, layout.cols()) || (operands.a_in_tmem && overlaps(operands.a, kTmemACols)))
    return true;
  return operands.scale_vec != 0 &&
         (overlaps(operands.sfa, scale_cols(layout.rows)) || overlaps(operands.sfb, scale_cols(fields.n)));
}

}  // namespace

void Tcgen05Unit::run_on(const Cta& cta, std::uint32_t column, std::uint32_t cols) {
  for (Cta* issuer : cta.cluster->ctas) {
    for (Tcgen05Queue& queue : issuer->tcgen05_queues) {
      const auto is_one = [&](const Tcgen05Operation& operation) {
        const bool is_here =
            issuer == &cta || (operation.operands.cta_group == 2 && (issuer->rank ^ 1) == cta.rank);
        return is_here && touches(operation, column, cols);
      };
      while (std::any_of(queue.operations.begin(), queue.operations.end(), is_one)) {
        const auto ready = std::find(ready_.begin(), ready_.end(), &queue);
        step(static_cast<std::size_t>(ready - ready_.begin()));
      }
    }
  }
}

void Tcgen05Unit::run_commit(const Tcgen05Queue& queue, const Tcgen05Operation& operation) {
  auto left = static_cast<std::uint32_t>(operation.ranks.size());
  for (const std::uint32_t rank : operation.ranks) {
    mbarriers_.arrive_by_commit(queue.cta->threads[queue.tid], *queue.cta->cluster->ctas[rank], operation.barrier,
                                operation.id, --left, operation.site);
  }
}

}  // namespace heddle::sim::machine
