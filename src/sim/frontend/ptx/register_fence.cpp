// SPDX-License-Identifier: Apache-2.0
//
// PTX: wgmma.fence: it stands between an access of a thread to a register and a wgmma.mma_async that takes the
// register as an accumulator or as a part of A; wgmmas of one shape that add to the same accumulators need none.
//
// Compilers of PTX give a value many names: a move carries along when its value was made, and makes none itself.
// Neither does a constant, which they write wherever they like. Model: a thread that has only read its
// accumulators may go on adding to them, and a wgmma that does not add takes any.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace heddle::sim::ptx {

namespace {

bool is_move(const Flow& flow) {
  return flow.kind == FlowKind::kCopy || flow.kind == FlowKind::kPack || flow.kind == FlowKind::kUnpack;
}

const RegisterChange& newer(const RegisterChange& a, const RegisterChange& b) {
  return a.fence < b.fence ? b : a;
}

}  // namespace

void mark_wgmma_operands(Function& function) {
  std::vector<bool> is_taken(function.row_count);
  std::vector<std::uint32_t> open;
  const auto take = [&](const std::vector<std::uint32_t>& rows) {
    for (const std::uint32_t row : rows) {
      if (is_taken[row]) continue;
      is_taken[row] = true;
      open.push_back(row);
    }
  };
  for (const Instruction& i : function.code) {
    if (!i.takes_accumulators) continue;
    take(i.rows);
    take(i.more);
  }
  if (open.empty()) return;
  std::vector<std::vector<std::uint32_t>> movers(function.row_count);  // by the row that they write
  for (std::uint32_t pc = 0; pc < function.code.size(); ++pc) {
    if (!is_move(function.flows[pc])) continue;
    for (const std::uint32_t row : function.flows[pc].writes) movers[row].push_back(pc);
  }
  while (!open.empty()) {
    const std::uint32_t row = open.back();
    open.pop_back();
    for (const std::uint32_t pc : movers[row]) take(function.flows[pc].reads);
  }
  for (std::uint32_t pc = 0; pc < function.code.size(); ++pc) {
    const std::vector<std::uint32_t>& writes = function.flows[pc].writes;
    function.code[pc].feeds_wgmma =
        !function.code[pc].takes_accumulators &&
        std::any_of(writes.begin(), writes.end(), [&](auto row) { return is_taken[row]; });
  }
}

void note_change(Warp& warp, const Instruction& i, const Flow& flow, std::uint32_t mask) {
  Frame& frame = *warp.frame;
  if (frame.changes.size() < frame.rows.size()) frame.changes.resize(frame.rows.size());
  RegisterChange change;
  if (is_move(flow)) {
    for (const std::uint32_t row : flow.reads) change = newer(change, frame.changes[row]);
  } else if (!flow.reads.empty()) {
    change = {&i, warp.wgmma_fences + 1};
  }
  for (const std::uint32_t row : flow.writes) {
    RegisterChange& own = frame.changes[row];
    own = mask == warp.exist ? change : newer(own, change);
  }
}

void check_fenced(Warp& warp, const Instruction& i, const std::vector<std::uint32_t>& rows, const char* what) {
  const Frame& frame = *warp.frame;
  for (const std::uint32_t row : rows) {
    if (row >= frame.changes.size() || frame.changes[row].fence <= warp.wgmma_fences) continue;
    const CallSite changed = frame.changes[row].by->site;
    warp.machine->judge(
        &warp.thread(static_cast<std::uint32_t>(std::countr_zero(warp.active))), i.site,
        {.code = FaultCode::kMissingWgmmaFence,
         .headline = fmt::format("wgmma.mma_async {} that was written since the last wgmma.fence", what),
         .details = {fmt::format("{:<62} {}", "written", machine::place(changed)),
                     "wgmma.fence stands between the two, in all warps of the warpgroup"},
         .places = {.first = changed, .second = i.site}});
    return;
  }
}

}  // namespace heddle::sim::ptx
