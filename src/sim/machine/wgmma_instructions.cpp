// SPDX-License-Identifier: Apache-2.0
//
// PTX: wgmma.fence, wgmma.mma_async, wgmma.commit_group, wgmma.wait_group.
//
// Model: the lanes of a warp meet at each of these, as .sync asks; the four warps do not wait for one another.
// A warp that comes first leaves its part of the operation behind, and the multiplication can run when the
// last warp has come. Hardware may hold the first warps back; a kernel must not rely on it.
#include "sim/machine/wgmma_unit.h"

#include "sim/machine/sparse_operand.h"

#include "sim/machine/warp_unit.h"

#include <heddle/isa/warp.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle::sim::machine {

namespace {

constexpr const char* kMma = "wgmma.mma_async";

std::string text_of(const WgmmaShape& shape) {
  const auto type_name = [](OperandType type) {
    switch (type) {
      case OperandType::kF16: return "f16";
      case OperandType::kBf16: return "bf16";
      case OperandType::kTf32: return "tf32";
      case OperandType::kE4m3: return "e4m3";
      case OperandType::kE5m2: return "e5m2";
      case OperandType::kS8: return "s8";
      case OperandType::kU8: return "u8";
      default: return "other";
    }
  };
  const char* d = shape.d == AccumulatorType::kF16 ? "f16" : shape.d == AccumulatorType::kS32 ? "s32" : "f32";
  return fmt::format("m64n{}k{}.{}.{}.{}", shape.n, shape.k(), d, type_name(shape.a), type_name(shape.b));
}

std::string text_of(const WgmmaOperands& operands) {
  const std::string a = operands.a_in_registers ? "registers" : fmt::format("{:#x}", operands.a_descriptor);
  return fmt::format("{}{} (A {}, B {:#x}, scale-d {})", operands.is_sparse ? "sparse " : "",
                     text_of(operands.shape), a, operands.b_descriptor, operands.scale_d ? 1 : 0);
}

// PTX: wgmma.mma_async: integers have their own list of N, and nothing to choose beside it.
void check_integer_shape(const Core& core, const Thread& thread, const WgmmaShape& shape, CallSite site) {
  const std::uint32_t step = shape.n <= 32 ? 8 : 16;
  if (shape.n >= 8 && shape.n <= 256 && shape.n % step == 0) return;
  core.fault(&thread, site, FaultCode::kBadShape,
             fmt::format("{} with N = {}; N of integers is 8, 16, 24, 32, or a multiple of 16 up to 256", kMma,
                         shape.n));
}

void check_shape(const Core& core, const Thread& thread, const WgmmaOperands& operands, CallSite site) {
  if (is_integer(operands.shape.a)) return check_integer_shape(core, thread, operands.shape, site);
  switch (check(operands.shape)) {
    case WgmmaShapeFault::kNone: break;
    case WgmmaShapeFault::kN:
      core.fault(&thread, site, FaultCode::kBadShape,
                 fmt::format("{} with N = {}; N is 8 to 256, a multiple of 8", kMma, operands.shape.n));
    case WgmmaShapeFault::kOperandTypes:
      core.fault(&thread, site, FaultCode::kBadShape,
                 fmt::format("{}: A and B are both bf16, both f16, both tf32, or any mix of e4m3 and e5m2",
                             text_of(operands.shape)));
    case WgmmaShapeFault::kAccumulatorType:
      core.fault(
          &thread, site, FaultCode::kBadShape,
          fmt::format("{}: D is f32; for f16, e4m3 and e5m2 operands it may be f16", text_of(operands.shape)));
    case WgmmaShapeFault::kMajor:
      core.fault(&thread, site, FaultCode::kBadDescriptor,
                 fmt::format("{} with an MN-major operand; operands of 8 or 32 bits are K-major",
                             text_of(operands.shape)));
  }
  if (operands.a_in_registers && operands.shape.a_major != Major::kK) {
    core.fault(&thread, site, FaultCode::kBadDescriptor,
               fmt::format("{} with an MN-major A in registers, where A is always K-major", kMma));
  }
}

// Everything that a descriptor can get wrong, found before anything is read through it.
void check_descriptor(const Core& core, const Thread& thread, char operand, std::uint64_t descriptor, Major major,
                      OperandType type, std::uint32_t rows, std::uint32_t row_bytes, CallSite site) {
  const DecodedSmemDescriptor decoded = decode_wgmma_descriptor(descriptor);
  const SmemDescriptor& fields = decoded.fields;
  const auto refuse = [&](const std::string& why, const char* likely) {
    std::vector<std::string> details;
    if (*likely != '\0') details.push_back(fmt::format("likely: {}", likely));
    core.fault(&thread, site, FaultCode::kBadDescriptor,
               fmt::format("{} with the descriptor {:#018x} of {}: {}", kMma, descriptor, operand, why),
               std::move(details));
  };
  if (!decoded.is_well_formed()) {
    refuse(
        fmt::format("the reserved bits {:#x} are set; bits 14-15, 30-31, 46-48 and 52-61 are 0",
                    decoded.wrong_bits),
        descriptor == ~std::uint64_t{0}
            ? "it was built from a field that does not fit: addresses and offsets are multiples of 16 below 2^18"
        : decode_tcgen05_descriptor(descriptor).is_well_formed() ? "it is a tcgen05 descriptor"
                                                                 : "a byte count was not divided by 16");
  }
  if (fields.base_offset >= std::max(repeat_lines(fields.swizzle), 1u) ||
      (fields.swizzle == Swizzle::kNone && fields.base_offset != 0)) {
    refuse(fields.swizzle == Swizzle::kNone
               ? fmt::format("base offset {} without a swizzle; 0 would pass", fields.base_offset)
               : fmt::format("base offset {}, but a {}-byte swizzle repeats after {} lines; 0 to {} would pass",
                             fields.base_offset, span_bytes(fields.swizzle), repeat_lines(fields.swizzle),
                             repeat_lines(fields.swizzle) - 1),
           "");
  }
  const Cta& cta = *thread.cta;
  const std::string shared =
      fmt::format("the CTA's shared memory is [{:#x}, {:#x})", kSharedBase, cta.shared_end);
  if (fields.start_address < kSharedBase || fields.start_address >= cta.shared_end) {
    refuse(fmt::format("the start address is {:#x}; {}", fields.start_address, shared),
           "the address is a pointer's and not that of shared_address()");
  }
  const SharedRange extent = operand_extent(fields, major, type, rows, row_bytes);
  if (extent.address < kSharedBase || extent.address + extent.bytes > cta.shared_end) {
    refuse(fmt::format("with start address {:#x}, leading byte offset {} and stride byte offset {} its {} x {} "
                       "elements reach to {:#x}; {}",
                       fields.start_address, fields.leading_bytes, fields.stride_bytes, rows,
                       row_bytes / stored_bytes(type), extent.address + extent.bytes, shared),
           "");
  }
}

// Of the warp's threads that have just met; they still stand at the instruction.
std::span<Thread, 32> lanes_of(const Thread& thread) {
  return std::span<Thread, 32>(thread.cta->threads + std::size_t{thread.warp()} * 32, 32);
}

// A with its zeros. Of the four lanes of row r two, those of the selector, have the metadata of 16- and 32-bit
// types; all four have that of 8-bit types.
// PTX: wgmma.mma_async.sp, Sparse matrix storage.
std::vector<std::byte> expand_rows(const WgmmaOperation& operation, const std::vector<std::byte>& stored) {
  const std::uint32_t bytes = stored_bytes(operation.operands.shape.a);
  const auto metadata = [&](std::uint32_t row, std::uint32_t chunk) {
    const std::uint32_t in_warp = row % kWarpRows;
    const MetadataPlace place = bytes == 1 ? word_place(in_warp, chunk) : half_word_place(in_warp, chunk);
    const std::uint32_t lane =
        4 * (in_warp % 8) +
        (bytes == 1 ? in_warp / 8 + 2 * place.column : 2 * operation.operands.selector + place.lane / 8);
    return operation.metadata[32 * (row / kWarpRows) + lane] >> place.bit & 15;
  };
  return expand({kWgmmaM, 32, bytes}, stored.data(), metadata);
}

// A warp that has issued the operation.
std::uint32_t first_warp(const Warpgroup& group, const WgmmaOperation& operation) {
  return group.index * kWarpgroupWarps + static_cast<std::uint32_t>(std::countr_zero(operation.arrived));
}

}  // namespace

bool WgmmaUnit::fence(Thread& thread, CallSite site) {
  Warpgroup& group = warps_.whole_warpgroup(thread, site, "wgmma.fence");
  if (!warps_.meet(thread, WarpOp::kWgmmaFence, isa::kFullMask, 0, 0, site)) return false;
  WgmmaWarp& warp = group.warps[thread.warp() % kWarpgroupWarps];
  warp.has_fenced = true;
  std::erase_if(warp.accumulators, [](const auto& accumulator) { return !accumulator->in_flight; });
  core_.emit(event::MmaFence{.cta = thread.cta->linear, .thread = thread.warp() * 32, .site = site});
  return true;
}

bool WgmmaUnit::commit_group(Thread& thread, CallSite site) {
  Warpgroup& group = warps_.whole_warpgroup(thread, site, "wgmma.commit_group");
  if (!warps_.meet(thread, WarpOp::kWgmmaCommit, isa::kFullMask, 0, 0, site)) return false;
  WgmmaWarp& warp = group.warps[thread.warp() % kWarpgroupWarps];
  warp.groups.push_back(warp.issued);
  core_.emit(event::MmaCommit{.cta = thread.cta->linear, .thread = thread.warp() * 32, .site = site});
  return true;
}

bool WgmmaUnit::mma_async(Thread& thread, const WgmmaOperands& operands, CallSite site) {
  if (core_.options().arch != Arch::kSm90) {
    core_.fault(
        &thread, site, FaultCode::kUnsupported,
        fmt::format("{} on sm_100; the instruction exists on sm_90a only, and tcgen05.mma takes its place",
                    kMma));
  }
  Warpgroup& group = warps_.whole_warpgroup(thread, site, kMma);
  check_shape(core_, thread, operands, site);
  thread.wgmma = &operands;
  if (!warps_.meet(thread, WarpOp::kWgmmaMma, isa::kFullMask, 0, 0, site)) return false;
  for (const Thread& lane : lanes_of(thread)) {
    if (is_same_instruction(*lane.wgmma, operands)) continue;
    core_.fault(&thread, site, FaultCode::kDivergence,
                fmt::format("{} differs within a warp: {} in lane {}, {} in lane {}", kMma, text_of(operands),
                            thread.lane(), text_of(*lane.wgmma), lane.lane()));
  }
  issue(group, thread, operands, site);
  return true;
}

void WgmmaUnit::issue(Warpgroup& group, const Thread& thread, const WgmmaOperands& operands, CallSite site) {
  const std::uint32_t in_group = thread.warp() % kWarpgroupWarps;
  WgmmaWarp& warp = group.warps[in_group];
  for (std::uint32_t w = 0; w < kWarpgroupWarps; ++w) {
    const std::uint32_t other = group.index * kWarpgroupWarps + w;
    if (thread.cta->warps[other].live == 0 && group.warps[w].issued <= warp.issued) {
      core_.fault(&thread, site, FaultCode::kDivergence,
                  fmt::format("{} in warp {}, but warp {} of the same warpgroup has exited without it", kMma,
                              thread.warp(), other),
                  {"likely: a warp returns early; all four warps of a warpgroup execute it"});
    }
  }
  const std::size_t place = warp.issued - group.done;
  if (place == group.operations.size()) {
    const WgmmaShape& shape = operands.shape;
    if (!operands.a_in_registers) {
      check_descriptor(core_, thread, 'A', operands.a_descriptor, shape.a_major, shape.a, kWgmmaM, 32, site);
    }
    check_descriptor(core_, thread, 'B', operands.b_descriptor, shape.b_major, shape.b, shape.n,
                     operands.b_row_bytes(), site);
    WgmmaOperation operation;
    operation.id = next_id_++;
    operation.operands = operands;
    operation.site = site;
    if (operands.a_in_registers) operation.a.resize(std::size_t{kWgmmaM} * 32);
    group.operations.push_back(std::move(operation));
    ++core_.stats().mmas;
  } else if (const WgmmaOperation& other = group.operations[place];
             !is_same_instruction(other.operands, operands)) {
    core_.fault(&thread, site, FaultCode::kDivergence,
                fmt::format("{} differs within a warpgroup: {} in warp {}, {} in warp {}", kMma,
                            text_of(operands), thread.warp(), text_of(other.operands), first_warp(group, other)),
                {"likely: the warps of the warpgroup run through different stages or steps"});
  }
  WgmmaOperation& operation = group.operations[place];
  operation.d[in_group] = &use_accumulator(warp, thread, operands, site);
  operation.arrived |= 1u << in_group;
  if (operands.a_in_registers) {
    for (const Thread& lane : lanes_of(thread)) {
      place_fragment(operands.shape.a, lane.lane(), lane.wgmma->a,
                     operation.a.data() + std::size_t{in_group} * kWarpRows * 32);
    }
  }
  if (operands.is_sparse) {
    for (const Thread& lane : lanes_of(thread)) {
      operation.metadata[32 * in_group + lane.lane()] = lane.wgmma->metadata;
    }
  }
  warp.ids.push_back(operation.id);
  warp.last_issue = site;
  ++warp.issued;
  core_.changed();
  core_.emit(event::MmaIssue{
      .cta = thread.cta->linear,
      .thread = thread.warp() * 32,
      .operation = operation.id,
      .m = kWgmmaM,
      .n = operands.shape.n,
      .operand_bytes = (operands.a_in_registers ? 0 : kWgmmaM * 32) + operands.shape.n * operands.b_row_bytes(),
      .site = site});
  if (place == 0 && group.can_step()) ready_.push_back(&group);
}

WgmmaAccumulator& WgmmaUnit::use_accumulator(WgmmaWarp& warp, const Thread& thread, const WgmmaOperands& operands,
                                             CallSite site) {
  auto used = std::make_unique<WgmmaAccumulator>();
  used->n = operands.shape.n;
  used->type = operands.shape.d;
  for (const Thread& lane : lanes_of(thread)) used->registers[lane.lane()] = lane.wgmma->d;
  if (!warp.has_fenced) {
    core_.fault(
        &thread, site, FaultCode::kMissingWgmmaFence,
        fmt::format("{} in a warp that has executed no wgmma.fence; the first one comes before the first {}",
                    kMma, kMma));
  }
  for (const std::unique_ptr<WgmmaAccumulator>& known : warp.accumulators) {
    if (!known->overlaps(*used)) continue;
    if (known->in_flight && known->has_registers_of(*used)) {
      // Operations on the same registers are ordered by the hardware.
      known->end = warp.issued + 1;
      known->site = site;
      return *known;
    }
    if (known->in_flight) {
      core_.fault(
          &thread, site, FaultCode::kAccumulatorInFlight,
          fmt::format("{} {} with registers that another {} still adds to, as accumulators of another shape",
                      kMma, text_of(operands.shape), kMma),
          {fmt::format("the other: {}", place(known->site)), "likely: no wgmma_wait_group between the two"});
    }
    // Given back, and not fenced since. Whoever overwrites a result has read it, or it was for nothing.
    if (!operands.scale_d || !known->equals_registers()) {
      core_.fault(&thread, site, FaultCode::kMissingWgmmaFence,
                  fmt::format("{} {} that wgmma.wait_group gave back, with no wgmma.fence since", kMma,
                              operands.scale_d ? "adds to accumulators, changed by other code,"
                                               : "overwrites accumulators"),
                  {fmt::format("given back at {}", place(known->site))});
    }
  }
  std::erase_if(warp.accumulators, [&](const auto& known) { return known->overlaps(*used); });
  used->values.resize(std::size_t{kWarpRows} * used->n);
  if (operands.scale_d) used->take_registers();
  used->poison_registers();
  used->end = warp.issued + 1;
  used->site = site;
  warp.accumulators.push_back(std::move(used));
  return *warp.accumulators.back();
}

bool WgmmaUnit::wait_arrive(Thread& thread, std::uint32_t pending, CallSite site) {
  warps_.whole_warpgroup(thread, site, "wgmma.wait_group");
  if (!warps_.meet(thread, WarpOp::kWgmmaWait, isa::kFullMask, pending, 0, site)) return false;
  for (const Thread& lane : lanes_of(thread)) {
    if (lane.result == pending) continue;
    core_.fault(&thread, site, FaultCode::kDivergence,
                fmt::format("wgmma.wait_group differs within a warp: {} in lane {}, {} in lane {}", pending,
                            thread.lane(), lane.result, lane.lane()));
  }
  return true;
}

bool WgmmaUnit::wait_group(Thread& thread, std::uint32_t pending, CallSite site) {
  Warpgroup& group = thread.cta->warpgroups[thread.warp() / kWarpgroupWarps];
  WgmmaWarp& warp = group.warps[thread.warp() % kWarpgroupWarps];
  // The first lane that passes does so for its warp; the others find nothing left to wait for.
  if (warp.groups.size() <= pending) return true;
  const std::size_t covered = warp.groups.size() - pending;
  const std::uint64_t end = warp.groups[covered - 1];
  if (group.done < end) {
    core_.block(thread, {.kind = WaitKind::kWgmmaGroup, .phase = end, .groups = pending, .site = site});
    return false;
  }
  warp.groups.erase(warp.groups.begin(), warp.groups.begin() + static_cast<std::ptrdiff_t>(covered));
  for (; warp.waited < end; ++warp.waited) {
    core_.emit(event::MmaPass{.cta = thread.cta->linear,
                              .thread = thread.warp() * 32,
                              .operation = warp.ids.front(),
                              .pending = pending,
                              .site = site});
    warp.ids.pop_front();
  }
  for (const std::unique_ptr<WgmmaAccumulator>& accumulator : warp.accumulators) {
    if (!accumulator->in_flight || accumulator->end > end) continue;
    accumulator->give_registers();
    accumulator->in_flight = false;
    accumulator->site = site;
  }
  return true;
}

void WgmmaUnit::step(std::size_t index) {
  Warpgroup& group = *ready_[index];
  const WgmmaOperation& operation = group.operations.front();
  const WgmmaOperands& operands = operation.operands;
  const WgmmaShape& shape = operands.shape;
  const Cta& cta = *group.cta;
  const SmemDescriptor a_fields = decode_wgmma_descriptor(operands.a_descriptor).fields;
  const SmemDescriptor b_fields = decode_wgmma_descriptor(operands.b_descriptor).fields;
  if (core_.wants<event::MmaReadShared>()) {
    const auto tell = [&](const SmemDescriptor& fields, Major major, OperandType type, std::uint32_t rows,
                          std::uint32_t row_bytes) {
      for (const SharedRange& range : operand_ranges(fields, major, type, rows, row_bytes)) {
        core_.emit(event::MmaReadShared{.cta = cta.linear,
                                        .operation = operation.id,
                                        .address = range.address | cta.rank << kRankShift,
                                        .bytes = range.bytes,
                                        .site = operation.site});
      }
    };
    if (!operands.a_in_registers) tell(a_fields, shape.a_major, shape.a, kWgmmaM, 32);
    tell(b_fields, shape.b_major, shape.b, shape.n, operands.b_row_bytes());
  }
  std::vector<std::byte> a_rows =
      operands.a_in_registers ? operation.a : read_operand(cta.shared, a_fields, shape.a_major, shape.a, kWgmmaM);
  if (operands.is_sparse) a_rows = expand_rows(operation, a_rows);
  const std::vector<std::byte> b_rows =
      read_operand(cta.shared, b_fields, shape.b_major, shape.b, shape.n, operands.b_row_bytes());
  if (!operands.scale_d) {
    for (WgmmaAccumulator* d : operation.d) std::fill(d->values.begin(), d->values.end(), 0);
  }
  if (is_integer(shape.a)) {
    const IntegerOperand b{shape.b, shape.n, b_rows.data()};
    for (std::uint32_t warp = 0; warp < kWarpgroupWarps; ++warp) {
      const std::byte* rows = a_rows.data() + std::size_t{warp} * kWarpRows * operands.k();
      multiply_add(IntegerOperand{shape.a, kWarpRows, rows}, b, operands.k(), operands.saturates,
                   operation.d[warp]->values.data());
    }
  } else {
    const MmaOperand a(MmaOperand::Side::kA, shape.a, shape.negate_a, kWgmmaM, operands.k(), a_rows.data());
    const MmaOperand b(MmaOperand::Side::kB, shape.b, shape.negate_b, shape.n, operands.k(), b_rows.data());
    const MmaArithmetic arithmetic = mma_arithmetic(core_.options().arch, shape.a);
    for (std::uint32_t warp = 0; warp < kWarpgroupWarps; ++warp) {
      multiply_add(arithmetic, a, warp * kWarpRows, kWarpRows, b, shape.d, operation.d[warp]->values.data());
    }
  }
  core_.emit(event::MmaDone{.cta = cta.linear, .operation = operation.id, .site = operation.site});
  group.operations.pop_front();
  ++group.done;
  if (!group.can_step()) ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(index));
  for (std::uint32_t t = 0; t < kWarpgroupThreads; ++t) {
    Thread& waiter = cta.threads[group.index * kWarpgroupThreads + t];
    if (waiter.state == ThreadState::kBlocked && waiter.wait.kind == WaitKind::kWgmmaGroup &&
        waiter.wait.phase <= group.done) {
      core_.make_ready(waiter);
    }
  }
}

void WgmmaUnit::thread_exit(const Thread& thread) {
  const std::size_t index = thread.warp() / kWarpgroupWarps;
  if (index >= thread.cta->warpgroups.size()) return;
  Warpgroup& group = thread.cta->warpgroups[index];
  const WgmmaWarp& warp = group.warps[thread.warp() % kWarpgroupWarps];
  if (warp.issued > warp.waited) {
    // What they read, if others write it, says more.
    for (auto ready = ready_.begin();
         (ready = std::find(ready_.begin(), ready_.end(), &group)) != ready_.end();) {
      step(static_cast<std::size_t>(ready - ready_.begin()));
    }
    const bool committed = !warp.groups.empty() && warp.groups.back() == warp.issued;
    // Nobody sees what they make: the registers are gone, and shared memory is only read.
    core_.judge(
        &thread, warp.last_issue,
        {.code = FaultCode::kExitInFlight,
         .headline = fmt::format("a thread exits while {} {} of its warpgroup have not been waited for",
                                 warp.issued - warp.waited, kMma),
         .details =
             {committed ? "likely: no wgmma_wait_group<0>() before the end"
                        : "likely: no wgmma_commit_group() behind them, so that no wgmma_wait_group covers them"},
         .verdict = Verdict::kFormal});
  }
  if (group.done + group.operations.size() > warp.issued) {
    const WgmmaOperation& other = group.operations[warp.issued - group.done];
    core_.fault(&thread, other.site, FaultCode::kDivergence,
                fmt::format("warp {} exits without a {} that warp {} of the same warpgroup has issued",
                            thread.warp(), kMma, first_warp(group, other)));
  }
}

}  // namespace heddle::sim::machine
