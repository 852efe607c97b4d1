// SPDX-License-Identifier: Apache-2.0
//
// Registers that an instruction fills, or reads, after it was issued. The accumulators of a wgmma may not be
// touched before the wait that covers it; compilers of PTX copy them all the same, and the assembler removes the
// copies, so that a copy follows its register. What a tcgen05.ld fills is there for whoever needs it.
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::sim::ptx {

std::vector<Accumulators::Part> Accumulators::parts_of(std::uint32_t row) const {
  const auto own = std::find(rows.begin(), rows.end(), row);
  if (own != rows.end()) return {{static_cast<std::uint32_t>(own - rows.begin())}};
  std::vector<Part> parts;
  for (const Alias& alias : aliases) {
    if (alias.row == row) parts.push_back(alias.part);
  }
  return parts;
}

bool Accumulators::has(std::uint32_t row) const {
  return std::find(rows.begin(), rows.end(), row) != rows.end() ||
         std::any_of(aliases.begin(), aliases.end(), [&](const Alias& alias) { return alias.row == row; });
}

std::uint32_t Accumulators::element_of(std::uint32_t row) const {
  const std::vector<Part> parts = parts_of(row);
  return parts.size() == 1 && parts[0] == Part{parts[0].element} ? parts[0].element : kNone;
}

void mark_in_flight(Frame& frame, std::uint32_t row, InFlight what) {
  if (frame.in_flight.size() < frame.rows.size()) frame.in_flight.resize(frame.rows.size());
  frame.in_flight[row] |= what;
}

namespace {

bool is_in_flight(const Frame& frame, std::uint32_t row, InFlight what) {
  return row < frame.in_flight.size() && (frame.in_flight[row] & what) != 0;
}

void land(Frame& frame, std::uint32_t row) {
  if (row < frame.in_flight.size()) frame.in_flight[row] &= static_cast<std::uint8_t>(~kResult);
}

void note_fragment_writer(Warp& warp, const Instruction& i, std::uint32_t row) {
  for (Fragment& kept : warp.fragments) {
    const std::vector<std::uint32_t>& rows = kept.wgmma->more;
    if (kept.frame == warp.frame && std::find(rows.begin(), rows.end(), row) != rows.end()) kept.writer = &i;
  }
}

}  // namespace

void refuse_touch(Warp& warp, const Instruction& i, const Accumulators& set, const char* what) {
  warp.machine->fault(&warp.thread(static_cast<std::uint32_t>(std::countr_zero(warp.active))), i.site,
                      FaultCode::kAccumulatorInFlight,
                      fmt::format("{} of a wgmma that has not been waited for", what),
                      {fmt::format("{:<62} {}", "wgmma.mma_async", machine::place(set.instruction->site)),
                       "likely: no wgmma.wait_group that covers it before this"});
}

namespace {

using Part = Accumulators::Part;

// Those of the bits [from, from + bits) of a register, moved to `to` in another.
void take_parts(const Accumulators& set, std::uint32_t row, std::uint32_t from, std::uint32_t bits,
                std::uint32_t to, std::vector<Part>& taken) {
  for (const Part& part : set.parts_of(row)) {
    const std::uint32_t first = std::max(part.to, from);
    const std::uint32_t last = std::min(part.to + part.bits, from + bits);
    if (first >= last) continue;
    Part moved{part.element, part.from + first - part.to, last - first, to + first - from};
    // What was taken apart may come together again.
    if (!taken.empty()) {
      Part& before = taken.back();
      if (before.element == moved.element && before.from + before.bits == moved.from &&
          before.to + before.bits == moved.to) {
        before.bits += moved.bits;
        continue;
      }
    }
    taken.push_back(moved);
  }
}

// What of `set` a move leaves in the register `to`, which is the n-th that it writes.
std::vector<Part> moved_parts(const Accumulators& set, const Instruction& i, const Flow& flow, std::uint32_t n) {
  std::vector<Part> parts;
  if (flow.kind == FlowKind::kUnpack) {
    take_parts(set, i.a, n * i.flags, i.flags, 0, parts);
  } else if (flow.kind == FlowKind::kPack) {
    for (std::uint32_t e = 0; e < i.rows.size(); ++e) take_parts(set, i.rows[e], 0, i.flags, e * i.flags, parts);
  } else {
    take_parts(set, i.a, 0, 64, 0, parts);
  }
  return parts;
}

void note_move(Warp& warp, const Instruction& i, const Flow& flow, std::uint32_t to, std::uint32_t n) {
  Frame& frame = *warp.frame;
  if (is_in_flight(frame, to, kResult)) land(frame, to);
  for (const std::unique_ptr<Accumulators>& set : warp.accumulators) {
    if (!set->in_flight || set->frame != warp.frame) continue;
    const std::vector<Part> parts = moved_parts(*set, i, flow, n);
    if (const auto own = std::find(set->rows.begin(), set->rows.end(), to); own != set->rows.end()) {
      // The register's own value, from a copy of it; nothing else may come here.
      const bool is_same = parts == std::vector<Part>{{static_cast<std::uint32_t>(own - set->rows.begin())}};
      if (!is_same && !set->is_tmem_load) refuse_touch(warp, i, *set, "mov overwrites an accumulator");
      mark_in_flight(frame, to, kResult);
      if (!is_same) {
        // The load comes first, then what is written over it.
        warp.machine->tmem.deliver(warp.thread(0), set->words.data());
        take_back(warp, *set);
      }
      continue;
    }
    std::erase_if(set->aliases, [&](const Accumulators::Alias& alias) { return alias.row == to; });
    for (const Part& part : parts) set->aliases.push_back({to, part});
    if (!parts.empty()) mark_in_flight(frame, to, kResult);
  }
}

}  // namespace

void note_move(Warp& warp, const Instruction& i, const Flow& flow) {
  Frame& frame = *warp.frame;
  const auto flies = [&](std::uint32_t row) { return is_in_flight(frame, row, kResult); };
  for (const std::uint32_t row : flow.writes) {
    if (is_in_flight(frame, row, kFragment)) note_fragment_writer(warp, i, row);
  }
  if (std::none_of(flow.reads.begin(), flow.reads.end(), flies) &&
      std::none_of(flow.writes.begin(), flow.writes.end(), flies)) {
    return;
  }
  if (flow.kind != FlowKind::kUnpack) return note_move(warp, i, flow, i.d, 0);
  for (std::uint32_t e = 0; e < i.rows.size(); ++e) note_move(warp, i, flow, i.rows[e], e);
}

void touch_in_flight(Warp& warp, const Instruction& i, const Flow& flow) {
  Frame& frame = *warp.frame;
  const auto flies = [&](std::uint32_t row) { return is_in_flight(frame, row, kResult); };
  for (const std::uint32_t row : flow.writes) {
    if (is_in_flight(frame, row, kFragment)) note_fragment_writer(warp, i, row);
  }
  const bool touches = (i.guard != kNone && flies(i.guard)) ||
                       std::any_of(flow.reads.begin(), flow.reads.end(), flies) ||
                       std::any_of(flow.writes.begin(), flow.writes.end(), flies);
  if (!touches) return;
  deliver_loads(warp, i, flow);
  for (const std::unique_ptr<Accumulators>& set : warp.accumulators) {
    if (!set->in_flight || set->is_tmem_load || set->frame != warp.frame) continue;
    const auto is_one = [&](std::uint32_t row) { return set->has(row); };
    if ((i.guard != kNone && is_one(i.guard)) || std::any_of(flow.reads.begin(), flow.reads.end(), is_one)) {
      refuse_touch(warp, i, *set, "an instruction reads an accumulator");
    }
    if (i.takes_accumulators) continue;
    for (const std::uint32_t row : flow.writes) {
      if (std::find(set->rows.begin(), set->rows.end(), row) != set->rows.end()) {
        refuse_touch(warp, i, *set, "an instruction overwrites an accumulator");
      }
      // A copy that is overwritten no longer follows.
      if (std::erase_if(set->aliases, [&](const Accumulators::Alias& alias) { return alias.row == row; }) != 0)
        land(frame, row);
    }
  }
}

namespace {

// PTX: wgmma: an element of D is made of one row of A and one column of B: of others it takes nothing over.
// Calls mark(lane, word, bits, byte) for the elements that unwritten bytes went into, with the first of these.
template <class Mark>
void mark_products(const Warp& warp, const machine::WgmmaOperands& operands, const check::Spoil& by,
                   std::uint32_t cta, std::uint32_t words, const Mark& mark) {
  const WgmmaShape& shape = operands.shape;
  const machine::FindBytes find = [&](std::uint32_t at, std::uint32_t bytes) {
    return by.find_byte(cta, at, bytes);
  };
  const auto in_rows = [&](std::uint64_t descriptor, Major major, OperandType type, std::uint32_t rows,
                           std::uint32_t row_bytes) {
    return machine::find_in_rows(decode_wgmma_descriptor(descriptor).fields, major, type, rows, row_bytes, find);
  };
  std::vector<std::uint32_t> a(kWgmmaM, machine::kNoByte);
  if (!operands.a_in_registers) {
    a = in_rows(operands.a_descriptor, shape.a_major, shape.a, kWgmmaM, machine::kWgmmaRowBytes);
  }
  const std::vector<std::uint32_t> b =
      in_rows(operands.b_descriptor, shape.b_major, shape.b, shape.n, operands.b_row_bytes());
  const std::uint32_t first_row = warp.threads[0].warp() % machine::kWarpgroupWarps * machine::kWarpRows;
  const bool is_half = shape.d == AccumulatorType::kF16;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    machine::for_each_element(
        shape.d, words, lane,
        [&](std::uint32_t row, std::uint32_t column, std::uint32_t word, std::uint32_t half) {
          const std::uint32_t byte = b[column] != machine::kNoByte ? b[column] : a[first_row + row];
          if (byte != machine::kNoByte) mark(lane, word, is_half ? 0xffffu << 16 * half : 0xffffffffu, byte);
        });
  }
}

}  // namespace

void take_back_undefined(Warp& warp, const Accumulators& set) {
  if (set.operations.empty()) return;
  const auto mark = [&](std::uint32_t lane, std::uint32_t element, const Origin& origin,
                        std::uint64_t bits = 0xffffffffu) {
    const std::uint16_t number = note_origin(warp, origin);
    const auto add = [&](std::uint32_t row, std::uint64_t more) {
      if (more != 0)
        set_undefined(warp, *set.frame, row, lane, {undefined_of(*set.frame, row, lane).bits | more, number});
    };
    add(set.rows[element], bits);
    for (const auto& [row, part] : set.aliases) {
      if (part.element == element)
        add(row, (bits >> part.from & ((std::uint64_t{1} << part.bits) - 1)) << part.to);
    }
  };
  const std::uint32_t count = static_cast<std::uint32_t>(set.rows.size());
  const std::uint32_t first = warp.thread(0).tid;
  for (std::size_t number = 0; number < set.operations.size(); ++number) {
    const std::uint64_t operation = set.operations[number];
    if (set.is_tmem_load) {
      const check::UndefinedCells* brought = warp.interpreter->undefined_load(operation);
      if (brought == nullptr) continue;
      for (std::uint32_t at = 0; at < 32 * count; ++at) {
        const machine::TmemCell cell = machine::cell_of(set.shape, at / count, at % count);
        const std::uint32_t base = set.taddr[cell.half];
        const std::uint32_t lane = machine::tmem_lane(base) + cell.lane;
        std::uint32_t column = machine::tmem_column(base) + cell.column * (set.has_halves ? 2 : 1);
        if (brought->find(lane, column) == nullptr && set.has_halves) ++column;
        if (brought->find(lane, column) == nullptr) continue;
        mark(at / count, at % count,
             {.kind = Origin::Kind::kTmem,
              .tid = first + at / count,
              .cta = brought->cta,
              .offset = lane << 16 | column,
              .load = operation,
              .instruction = set.instruction});
      }
    } else if (const check::Spoil* by = warp.interpreter->spoil_of(operation); by != nullptr) {
      const std::uint32_t cta = warp.thread(0).cta->linear;
      mark_products(warp, set.operands[number], *by, cta, count,
                    [&](std::uint32_t lane, std::uint32_t word, std::uint32_t bits, std::uint32_t byte) {
                      mark(lane, word,
                           {.kind = Origin::Kind::kShared,
                            .tid = first,
                            .cta = cta,
                            .offset = byte,
                            .instruction = set.instruction},
                           bits);
                    });
    }
  }
}

void take_back(Warp& warp, Accumulators& set) {
  set.in_flight = false;
  --warp.accumulators_in_flight;
  const std::size_t count = set.rows.size();
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::size_t e = 0; e < count; ++e) set.frame->rows[set.rows[e]][l] = set.words[l * count + e];
    for (const auto& [row, part] : set.aliases) {
      const std::uint64_t ones = (std::uint64_t{1} << part.bits) - 1;
      const std::uint64_t bits = set.words[l * count + part.element] >> part.from & ones;
      std::uint64_t& value = set.frame->rows[row][l];
      value = (value & ~(ones << part.to)) | bits << part.to;
    }
  }
  take_back_undefined(warp, set);
  for (const std::uint32_t row : set.rows) land(*set.frame, row);
  for (const Accumulators::Alias& alias : set.aliases) land(*set.frame, alias.row);
  set.aliases.clear();
  set.operations.clear();
  set.operands.clear();
}

}  // namespace heddle::sim::ptx
