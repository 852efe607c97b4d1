// SPDX-License-Identifier: Apache-2.0
//
// PTX: cp.async, cp.async.commit_group, cp.async.wait_group, cp.async.wait_all, cp.async.mbarrier.arrive.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

namespace heddle::sim::ptx {

namespace {

// flags: 1: a predicate, not a size, says how much is read; 2: it is negated.
void issue(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::uint32_t bytes = i.rows[0];
  for_lanes(mask, [&](std::uint32_t l) {
    const machine::SharedAddress to = shared_address(warp, l, warp.rows[i.a][l] + i.value, false, i);
    machine::AsyncCopy copy{.to = to,
                            .from = warp.rows[i.b][l] + (std::uint64_t{i.rows[2]} << 32 | i.rows[1]),
                            .bytes = bytes,
                            .source_bytes = bytes};
    if (i.c != kNone && (i.flags & 1) != 0) {
      if ((warp.rows[i.c][l] & 1) != (i.flags >> 1 & 1)) copy.source_bytes = 0;
    } else if (i.c != kNone) {
      copy.source_bytes = static_cast<std::uint32_t>(warp.rows[i.c][l]);
    }
    warp.machine->async_copies.copy(warp.thread(l), copy, warp.interpreter->strategy().wakes_early(), i.site);
  });
}

void commit(Warp& warp, const Instruction&, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) { warp.machine->async_copies.commit_group(warp.thread(l)); });
}

// flags: 1: for all, also those of no group, which then are one.
void wait(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    if (i.flags != 0) warp.machine->async_copies.commit_group(warp.thread(l));
    warp.machine->async_copies.wait_group(warp.thread(l), static_cast<std::uint32_t>(i.value), i.site);
  });
}

// flags: 1: noinc; 2: the address is generic.
std::uint32_t arrive(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const machine::SharedAddress barrier =
        shared_address(warp, l, warp.rows[i.a][l] + i.value, (i.flags & 2) != 0, i);
    warp.machine->async_copies.mbarrier_arrive(warp.thread(l), barrier, (i.flags & 1) != 0, i.site);
  });
  return mask;
}

void decode_issue(Build& b) {
  b.want(3, 5);
  Instruction& out = b.out();
  b.address(0);
  std::uint64_t offset = 0;
  out.b = b.address_row(b.operand(1), offset);
  const std::uint64_t bytes = b.constant(2);
  const bool is_cg = b.mod(0) == ".cg";
  if (bytes != 16 && (is_cg || (bytes != 4 && bytes != 8))) {
    b.fail(fmt::format("a copy of {} bytes; {}", bytes, is_cg ? "16 with .cg" : "4, 8 or 16"));
  }
  out.rows = {static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(offset),
              static_cast<std::uint32_t>(offset >> 32)};
  const std::size_t last = b.operands() - (b.has(2) ? 1 : 0);  // a cache policy comes last
  if (last < 4) return b.scalar(issue);
  const Operand& size = b.operand(3);
  const bool is_predicate = size.kind == OperandKind::kRegister && b.function().text->register_bits[size.id] == 1;
  bool negated = false;
  out.c = is_predicate ? b.predicate(3, negated) : b.source(3);
  out.flags = (is_predicate ? 1u : 0u) | (negated ? 2u : 0u);
  b.scalar(issue);
}

}  // namespace

void add_async_copy_forms(FormTable& table) {
  table.add("cp.async{.ca,.cg}{.shared,.shared::cta}.global[.L2::cache_hint][.L2::64B,.L2::128B,.L2::256B]",
            decode_issue);
  table.add("cp.async.commit_group", [](Build& b) {
    b.want(0);
    b.scalar(commit);
  });
  table.add("cp.async.wait_group", [](Build& b) {
    b.want(1);
    b.out().value = b.constant(0);
    b.scalar(wait);
  });
  table.add("cp.async.wait_all", [](Build& b) {
    b.want(0);
    b.out().flags = 1;
    b.scalar(wait);
  });
  table.add("cp.async.mbarrier.arrive[.noinc][.shared,.shared::cta].b64", [](Build& b) {
    b.want(1);
    b.address(0);
    b.out().flags = (b.has(0) ? 1u : 0u) | (b.has(1) ? 0u : 2u);
    b.machine(arrive);
  });
}

}  // namespace heddle::sim::ptx
