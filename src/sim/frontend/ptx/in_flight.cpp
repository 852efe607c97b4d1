// SPDX-License-Identifier: Apache-2.0
//
// Registers that an instruction fills, or reads, after it was issued. The accumulators of a wgmma may not be
// touched before the wait that covers it; compilers of PTX copy them all the same, and the assembler removes the
// copies, so that a copy follows its register. What a tcgen05.ld fills is there for whoever needs it.
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::sim::ptx {

std::uint32_t Accumulators::element_of(std::uint32_t row) const {
  const auto own = std::find(rows.begin(), rows.end(), row);
  if (own != rows.end()) return static_cast<std::uint32_t>(own - rows.begin());
  for (const auto& [alias, element] : aliases) {
    if (alias == row) return element;
  }
  return kNone;
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

void note_copy(Warp& warp, const Instruction& i) {
  Frame& frame = *warp.frame;
  if (is_in_flight(frame, i.d, kFragment)) note_fragment_writer(warp, i, i.d);
  const bool to_result = is_in_flight(frame, i.d, kResult);
  const bool from_result = is_in_flight(frame, i.a, kResult);
  if (!to_result && !from_result) return;
  if (to_result) land(frame, i.d);
  for (const std::unique_ptr<Accumulators>& set : warp.accumulators) {
    if (!set->in_flight || set->frame != warp.frame) continue;
    const std::uint32_t from = set->element_of(i.a);
    if (const auto own = std::find(set->rows.begin(), set->rows.end(), i.d); own != set->rows.end()) {
      // The register's own value, from a copy of it; nothing else may come here.
      const bool is_same = from == static_cast<std::uint32_t>(own - set->rows.begin());
      if (!is_same && !set->is_tmem_load) refuse_touch(warp, i, *set, "mov overwrites an accumulator");
      mark_in_flight(frame, i.d, kResult);
      if (!is_same) {
        // The load comes first, then what is written over it.
        warp.machine->tcgen05_deliver(warp.thread(0), set->words.data());
        take_back(warp, *set);
      }
      continue;
    }
    std::erase_if(set->aliases, [&](const auto& alias) { return alias.first == i.d; });
    if (from == kNone) continue;
    set->aliases.emplace_back(i.d, from);
    mark_in_flight(frame, i.d, kResult);
  }
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
    const auto is_one = [&](std::uint32_t row) { return set->element_of(row) != kNone; };
    if ((i.guard != kNone && is_one(i.guard)) || std::any_of(flow.reads.begin(), flow.reads.end(), is_one)) {
      refuse_touch(warp, i, *set, "an instruction reads an accumulator");
    }
    if (i.takes_accumulators) continue;
    for (const std::uint32_t row : flow.writes) {
      if (std::find(set->rows.begin(), set->rows.end(), row) != set->rows.end()) {
        refuse_touch(warp, i, *set, "an instruction overwrites an accumulator");
      }
      // A copy that is overwritten no longer follows.
      if (std::erase_if(set->aliases, [&](const auto& alias) { return alias.first == row; }) != 0)
        land(frame, row);
    }
  }
}

void take_back(Warp& warp, Accumulators& set) {
  set.in_flight = false;
  --warp.accumulators_in_flight;
  const std::size_t count = set.rows.size();
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::size_t e = 0; e < count; ++e) set.frame->rows[set.rows[e]][l] = set.words[l * count + e];
    for (const auto& [row, element] : set.aliases) set.frame->rows[row][l] = set.words[l * count + element];
  }
  for (const std::uint32_t row : set.rows) land(*set.frame, row);
  for (const auto& alias : set.aliases) land(*set.frame, alias.first);
  set.aliases.clear();
}

}  // namespace heddle::sim::ptx
