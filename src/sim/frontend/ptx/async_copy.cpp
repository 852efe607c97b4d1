// SPDX-License-Identifier: Apache-2.0
//
// PTX: cp.async, cp.async.commit_group, cp.async.wait_group, cp.async.wait_all, cp.async.mbarrier.arrive: copies of a
// few bytes by each thread, which are not the copy engine's.
//
// Model: such a copy lands where it was issued or where it was waited for, as the schedule says, and nowhere between.
// It is a load and a store of its thread, in the generic proxy.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace heddle::sim::ptx {

namespace {

void land(Warp& warp, std::uint32_t lane, const AsyncCopy& copy) {
  std::array<std::byte, 16> bytes = {};
  if (copy.source_bytes == copy.bytes) {
    load_bytes(warp, lane, Space::kGlobal, copy.from, bytes.data(), copy.bytes, *copy.instruction);
  } else {
    for (std::uint32_t b = 0; b < copy.source_bytes; ++b) {
      load_bytes(warp, lane, Space::kGlobal, copy.from + b, bytes.data() + b, 1, *copy.instruction);
    }
  }
  store_bytes(warp, lane, Space::kShared, copy.to, bytes.data(), copy.bytes, *copy.instruction);
}

// Lets the copies of all but the `pending` newest groups of a lane land, and those of no group if it waits for all.
void land_groups(Warp& warp, std::uint32_t lane, std::uint32_t pending, bool all) {
  AsyncCopies& copies = warp.async_copies[lane];
  const std::uint32_t over = copies.committed < pending ? 0 : copies.committed - pending;
  const auto is_over = [&](const AsyncCopy& copy) { return all || copy.group < over; };
  for (const AsyncCopy& copy : copies.pending) {
    if (is_over(copy)) land(warp, lane, copy);
  }
  std::erase_if(copies.pending, is_over);
}

// flags: 1: a predicate, not a size, says how much is read; 2: it is negated.
void issue(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::uint32_t bytes = i.rows[0];
  for_lanes(mask, [&](std::uint32_t l) {
    AsyncCopies& copies = warp.async_copies[l];
    AsyncCopy copy{.to = warp.rows[i.a][l] + i.value,
                   .from = warp.rows[i.b][l] + (std::uint64_t{i.rows[2]} << 32 | i.rows[1]),
                   .bytes = bytes,
                   .source_bytes = bytes,
                   .group = copies.committed,
                   .instruction = &i};
    if (i.c != kNone && (i.flags & 1) != 0) {
      if ((warp.rows[i.c][l] & 1) != (i.flags >> 1 & 1)) copy.source_bytes = 0;
    } else if (i.c != kNone) {
      copy.source_bytes = static_cast<std::uint32_t>(warp.rows[i.c][l]);
      if (copy.source_bytes > bytes) {
        warp.machine->fault(&warp.thread(l), i.site, "bad_copy",
                            fmt::format("cp.async reads {} bytes, but writes {}; at most as many", copy.source_bytes,
                                        bytes));
      }
    }
    if (warp.interpreter->strategy().wakes_early()) {
      land(warp, l, copy);
    } else {
      copies.pending.push_back(copy);
    }
  });
}

void commit(Warp& warp, const Instruction&, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) { ++warp.async_copies[l].committed; });
}

// flags: 1: for all, also those of no group.
void wait(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    land_groups(warp, l, static_cast<std::uint32_t>(i.value), i.flags != 0);
  });
}

// flags: 1: noinc; 2: the address is generic. Without noinc, the barrier counts one arrival more before this one, so
// that nothing is left of it.
std::uint32_t arrive(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    land_groups(warp, l, 0, true);
    if ((i.flags & 1) == 0) return;
    const machine::SharedAddress barrier = shared_address(warp, l, warp.rows[i.a][l] + i.value, (i.flags & 2) != 0, i);
    warp.machine->mbarrier_arrive(warp.thread(l), barrier, 1, EventScope::kCta, i.site);
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
  const bool is_predicate =
      size.kind == OperandKind::kRegister && b.function().text->register_bits[size.id] == 1;
  bool negated = false;
  out.c = is_predicate ? b.predicate(3, negated) : b.source(3);
  out.flags = (is_predicate ? 1u : 0u) | (negated ? 2u : 0u);
  b.scalar(issue);
}

}  // namespace

void land_async_copies(Warp& warp, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    if (!warp.async_copies[l].pending.empty()) land_groups(warp, l, 0, true);
  });
}

void add_async_copy_forms(FormTable& table) {
  table.add("cp.async{.ca,.cg}{.shared,.shared::cta}.global[.L2::cache_hint][.L2::64B,.L2::128B,.L2::256B]", decode_issue);
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
