// SPDX-License-Identifier: Apache-2.0
//
// PTX: tcgen05.mma, tcgen05.commit, tcgen05.fence.
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
    fault(&thread, site, "bad_descriptor",
          fmt::format("{} with the descriptor {:#018x} of {}: the start address is {:#x}; {}", kMma, descriptor,
                      operand, fields.start_address, shared),
          {"likely: the address is a pointer's and not that of shared_address()"});
  }
  const SharedRange extent = operand_extent(fields, major, type, rows);
  if (extent.address < kSharedBase || extent.address + extent.bytes > cta.shared_end) {
    fault(
        &thread, site, "bad_descriptor",
        fmt::format(
            "{} with the descriptor {:#018x} of {}: with start address {:#x}, leading byte offset {} and stride "
            "byte offset {} its {} x {} elements reach to {:#x}; {}",
            kMma, descriptor, operand, fields.start_address, fields.leading_bytes, fields.stride_bytes, rows,
            32 / stored_bytes(type), extent.address + extent.bytes, shared));
  }
}

void Machine::tcgen05_mma(Thread& thread, const Tcgen05Operands& operands, CallSite site) {
  const Cta* peer = join_cta_group(thread, operands.cta_group, site, kMma);
  if (Tcgen05Fault wrong = sim::machine::check(operands); !wrong.code.empty()) {
    std::vector<std::string> details;
    if (!wrong.likely.empty()) details.push_back("likely: " + wrong.likely);
    fault(&thread, site, wrong.code, std::move(wrong.headline), std::move(details));
  }
  const InstructionDescriptor fields = fields_of(operands);
  const auto group = static_cast<std::uint32_t>(operands.cta_group);
  check_tcgen05_operand(thread, 'A', operands.a_descriptor, fields.a_major, fields.a_type, fields.m / group,
                        site);
  check_tcgen05_operand(thread, 'B', operands.b_descriptor, fields.b_major, fields.b_type, fields.n / group,
                        site);
  const Tcgen05Layout layout = layout_of(operands.cta_group, fields.m, fields.n);
  const std::uint32_t lane = tmem_lane(operands.d);
  if (lane != 0 && !(layout.is_spread && lane == 16)) {
    fault(&thread, site, "tmem_lane",
          fmt::format("{} {} with D at {:#010x}: the lane is {}; it is 0{}", kMma,
                      text_of(operands.kind, operands.instruction_descriptor), operands.d, lane,
                      layout.is_spread ? " or 16" : ""));
  }
  for (const Cta* cta : {static_cast<const Cta*>(thread.cta), peer}) {
    if (cta == nullptr) continue;
    check_tmem_cols(thread, *cta, tmem_column(operands.d), layout.cols(),
                    fmt::format("{} {}", kMma, text_of(operands.kind, operands.instruction_descriptor)), site);
  }
  Tcgen05Operation operation{.kind = Tcgen05Operation::Kind::kMma, .id = next_mma_id_++, .site = site};
  operation.operands = operands;
  ++stats_.mmas;
  if (wants(EventKind::kMmaIssue)) {
    emit({.kind = EventKind::kMmaIssue,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .value = 1,
          .copy = operation.id,
          .text = kMma,
          .site = site});
  }
  enqueue(thread, std::move(operation));
}

void Machine::tcgen05_commit(Thread& thread, int cta_group, SharedAddress barrier, CallSite site) {
  commit(thread, cta_group, barrier, {barrier >> kRankShift}, site);
}

void Machine::tcgen05_commit_multicast(Thread& thread, int cta_group, SharedAddress barrier, std::uint16_t mask,
                                       CallSite site) {
  if (mask == 0 || mask >> cluster_size_ != 0) {
    fault(&thread, site, "bad_rank",
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
  run_tcgen05_mma(queue, operation);
  if (wants(EventKind::kMmaDone)) {
    emit({.kind = EventKind::kMmaDone, .cta = queue.cta->linear, .copy = operation.id, .site = operation.site});
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
      fault(&issuer, operation.site, "uninitialised_barrier",
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

void Machine::run_tcgen05_mma(const Tcgen05Queue& queue, const Tcgen05Operation& operation) {
  const Tcgen05Operands& operands = operation.operands;
  const InstructionDescriptor fields = fields_of(operands);
  const auto group = static_cast<std::uint32_t>(operands.cta_group);
  const Tcgen05Layout layout = layout_of(operands.cta_group, fields.m, fields.n);
  const SmemDescriptor a_fields = decode_tcgen05_descriptor(operands.a_descriptor).fields;
  const SmemDescriptor b_fields = decode_tcgen05_descriptor(operands.b_descriptor).fields;
  // The even CTA of a pair has the first half of everything.
  std::vector<Cta*> ctas = {queue.cta};
  if (group == 2) {
    const std::uint32_t even = queue.cta->rank & ~1u;
    ctas = {queue.cta->cluster->ctas[even], queue.cta->cluster->ctas[even + 1]};
  }
  std::vector<std::byte> b_rows;
  for (const Cta* cta : ctas) {
    check_not_freed(queue.cta->threads[queue.tid], true, *cta, tmem_column(operands.d), layout.cols(), kMma,
                    operation.site);
    if (wants(EventKind::kMmaReadShared)) {
      const auto tell = [&](const SmemDescriptor& from, Major major, OperandType type, std::uint32_t rows) {
        for (const SharedRange& range : operand_ranges(from, major, type, rows)) {
          emit({.kind = EventKind::kMmaReadShared,
                .cta = cta->linear,
                .address = range.address | cta->rank << kRankShift,
                .bytes = range.bytes,
                .copy = operation.id,
                .site = operation.site});
        }
      };
      tell(a_fields, fields.a_major, fields.a_type, fields.m / group);
      tell(b_fields, fields.b_major, fields.b_type, fields.n / group);
    }
    if (wants(EventKind::kMmaTouchTmem)) {
      emit({.kind = EventKind::kMmaTouchTmem,
            .cta = cta->linear,
            .address = operands.d,
            .bytes = layout.cols(),
            .value = lane_groups(layout, tmem_lane(operands.d)) | TmemTouch::kWrites |
                     (operands.accumulate ? TmemTouch::kNeedsOld : 0),
            .copy = operation.id,
            .site = operation.site});
    }
    const std::vector<std::byte> rows =
        read_operand(cta->shared, b_fields, fields.b_major, fields.b_type, fields.n / group);
    b_rows.insert(b_rows.end(), rows.begin(), rows.end());
  }
  const std::uint32_t depth = 32 / stored_bytes(fields.b_type);
  const MmaOperand b(MmaOperand::Side::kB, fields.b_type, fields.negate_b, fields.n, depth, b_rows.data());
  const MmaArithmetic arithmetic = mma_arithmetic(options_.arch, fields.a_type);
  std::vector<std::uint32_t> d(std::size_t{layout.rows} * fields.n);
  for (Cta* cta : ctas) {
    const std::vector<std::byte> a_rows =
        read_operand(cta->shared, a_fields, fields.a_major, fields.a_type, layout.rows);
    const MmaOperand a(MmaOperand::Side::kA, fields.a_type, fields.negate_a, layout.rows, depth, a_rows.data());
    const auto for_each_part = [&](auto&& body) {
      for (std::uint32_t row = 0; row < layout.rows; ++row) {
        for (std::uint32_t half = 0; half < layout.halves; ++half) {
          body(cta->tmem.cell(tmem_lane(operands.d) + layout.lane_of(row) + 64 * half, tmem_column(operands.d)),
               &d[std::size_t{row} * fields.n + half * layout.cols()]);
        }
      }
    };
    const std::size_t bytes = std::size_t{4} * layout.cols();
    if (operands.accumulate) {
      for_each_part([&](std::uint32_t* cells, std::uint32_t* values) { std::memcpy(values, cells, bytes); });
    } else {
      std::fill(d.begin(), d.end(), 0);
    }
    multiply_add(arithmetic, a, 0, layout.rows, b, fields.d_type, d.data());
    for_each_part([&](std::uint32_t* cells, std::uint32_t* values) { std::memcpy(cells, values, bytes); });
  }
}

}  // namespace heddle::sim::machine
