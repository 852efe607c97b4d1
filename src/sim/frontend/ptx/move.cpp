// SPDX-License-Identifier: Apache-2.0
//
// PTX: mov, cvta, isspacep, mapa, getctarank.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

namespace heddle::sim::ptx {

namespace {

void move(Warp& warp, const Instruction& i, std::uint32_t mask) {
  Row& d = warp.rows[i.d];
  const Row& a = warp.rows[i.a];
  for_lanes(mask, [&](std::uint32_t l) { d[l] = a[l]; });
}

// A variable's address with an offset, mov.u32 r, name+4.
void move_offset(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) { warp.rows[i.d][l] = warp.rows[i.a][l] + i.value; });
}

void move_wide(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t high = warp.rows[i.b][l];
    warp.rows[i.d][l] = warp.rows[i.a][l];
    warp.rows[i.d2][l] = high;
  });
}

// flags: bits of each element.
void pack(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::uint64_t ones = i.flags == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << i.flags) - 1;
  for_lanes(mask, [&](std::uint32_t l) {
    std::uint64_t word = 0;
    for (std::uint32_t e = 0; e < i.rows.size(); ++e) word |= (warp.rows[i.rows[e]][l] & ones) << e * i.flags;
    warp.rows[i.d][l] = word;
  });
}

void unpack(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::uint64_t ones = (std::uint64_t{1} << i.flags) - 1;
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t word = warp.rows[i.a][l];
    for (std::uint32_t e = 0; e < i.rows.size(); ++e) warp.rows[i.rows[e]][l] = word >> e * i.flags & ones;
  });
}

// The halves of a 128-bit register as four elements of 32 bits.
void unpack_wide(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t word[2] = {warp.rows[i.a][l], warp.rows[i.b][l]};
    for (std::uint32_t e = 0; e < 4; ++e) warp.rows[i.rows[e]][l] = word[e / 2] >> e % 2 * 32 & 0xffffffffu;
  });
}

void pack_wide(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    std::uint64_t word[2] = {};
    for (std::uint32_t e = 0; e < 4; ++e) word[e / 2] |= (warp.rows[i.rows[e]][l] & 0xffffffffu) << e % 2 * 32;
    warp.rows[i.d][l] = word[0];
    warp.rows[i.d2][l] = word[1];
  });
}

void read_clock(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::uint64_t now = warp.interpreter->look_at_clock(warp) >> i.flags;
  for_lanes(mask, [&](std::uint32_t l) { warp.rows[i.d][l] = now; });
}

void to_generic(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t address = warp.rows[i.a][l];
    warp.rows[i.d][l] = i.value == 0 ? address : (address & ~kWindowMask) | i.value;
  });
}

void from_generic(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t address = warp.rows[i.a][l];
    // Parameters keep their window, by which ld.param tells them from those of a call.
    warp.rows[i.d][l] = i.value == kSharedWindow || i.value == kLocalWindow ? address & ~kWindowMask : address;
  });
}

void is_in_space(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t address = warp.rows[i.a][l];
    bool result = (address & kWindowMask) == i.value;
    // flags: 1: the CTA's own shared memory only.
    if (result && i.flags != 0) {
      result = static_cast<std::uint32_t>(address) >> machine::kRankShift == warp.threads[l].cta->rank;
    }
    warp.rows[i.d][l] = put(result);
  });
}

// flags: 1: the address is generic.
void map_address(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const machine::SharedAddress own = shared_address(warp, l, warp.rows[i.a][l], i.flags != 0, i);
    const machine::SharedAddress mapped =
        warp.machine->mapa(warp.thread(l), own, static_cast<std::uint32_t>(warp.rows[i.b][l]), i.site);
    warp.rows[i.d][l] = i.flags != 0 ? kSharedWindow | mapped : mapped;
  });
}

void cta_rank(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const machine::SharedAddress address = shared_address(warp, l, warp.rows[i.a][l], i.flags != 0, i);
    warp.rows[i.d][l] = address >> machine::kRankShift;
  });
}

std::uint32_t move_bits(std::string_view type) {
  if (type == ".pred") return 1;
  return type.substr(2) == "16" ? 16 : type.substr(2) == "32" ? 32 : type.substr(2) == "64" ? 64 : 128;
}

bool is_vector(const Operand& operand) { return operand.kind == OperandKind::kVector; }

std::uint32_t wide_half(Build& b, std::uint32_t row) {
  const auto found = b.function().wide_rows.find(row);
  if (found == b.function().wide_rows.end()) b.fail("a 128-bit register is wanted");
  return found->second;
}

void decode_wide_move(Build& b) {
  Instruction& out = b.out();
  if (is_vector(b.operand(0))) {
    out.rows = b.targets(b.operand(0));
    out.a = b.source(1);
    out.b = wide_half(b, out.a);
    if (out.rows.size() == 4) return b.scalar(unpack_wide);
    if (out.rows.size() != 2) b.fail("a vector of two or four elements is wanted");
    out.d = out.rows[0];
    out.d2 = out.rows[1];
    return b.scalar(move_wide);
  }
  out.d = b.target(0);
  out.d2 = wide_half(b, out.d);
  if (is_vector(b.operand(1))) {
    out.rows = b.sources(b.operand(1));
    if (out.rows.size() == 4) return b.scalar(pack_wide);
    if (out.rows.size() != 2) b.fail("a vector of two or four elements is wanted");
    out.a = out.rows[0];
    out.b = out.rows[1];
  } else {
    out.a = b.source(1);
    out.b = wide_half(b, out.a);
  }
  b.scalar(move_wide);
}

void decode_move(Build& b) {
  b.want(2);
  const std::string_view type = b.mod(0);
  if (type == ".b128") return decode_wide_move(b);
  Instruction& out = b.out();
  const std::uint32_t bits = move_bits(type);
  if (is_vector(b.operand(0)) || is_vector(b.operand(1))) {
    const bool packs = is_vector(b.operand(1));
    out.rows = packs ? b.sources(b.operand(1), type) : b.targets(b.operand(0));
    if (out.rows.size() != 2 && out.rows.size() != 4 && out.rows.size() != 8) {
      b.fail("a vector of two, four or eight elements is wanted");
    }
    out.flags = bits / static_cast<std::uint32_t>(out.rows.size());
    if (out.flags == 0) b.fail("a vector of more elements than bits");
    if (packs) {
      out.d = b.target(0);
      b.scalar(pack);
    } else {
      out.a = b.source(1, type);
      b.scalar(unpack);
    }
    return;
  }
  out.d = b.target(0);
  const Operand& from = b.operand(1);
  if (from.kind == OperandKind::kSpecial &&
      (from.name.starts_with("%clock") || from.name.starts_with("%globaltimer"))) {
    if (from.name.ends_with("_hi")) b.out().flags = 32;
    return b.scalar(read_clock);
  }
  if (from.kind == OperandKind::kVariable && from.value != 0) {
    Operand base = from;
    base.value = 0;
    out.a = b.source(base);
    out.value = from.value;
    return b.scalar(move_offset);
  }
  const bool is_true = type == ".pred" && from.kind == OperandKind::kInteger && from.value != 0;
  out.a = is_true ? b.immediate(1) : b.source(1, type);
  out.is_copy = from.kind == OperandKind::kRegister;
  b.scalar(move);
}

std::uint64_t window_of(std::string_view space) {
  if (space.starts_with(".shared")) return kSharedWindow;
  if (space == ".local") return kLocalWindow;
  if (space.starts_with(".param")) return kParamWindow;
  return 0;
}

}  // namespace

void add_move_forms(FormTable& table) {
  table.add("mov{.pred,.b16,.b32,.b64,.b128,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}", decode_move);
  table.add("cvta{.const,.global,.local,.shared,.shared::cta,.shared::cluster,.param,.param::entry}{.u32,.u64}",
            [](Build& b) {
              b.simple(1, {}, to_generic);
              b.out().value = window_of(b.mod(0));
            });
  table.add(
      "cvta.to{.const,.global,.local,.shared,.shared::cta,.shared::cluster,.param,.param::entry}{.u32,.u64}",
      [](Build& b) {
        b.simple(1, {}, from_generic);
        b.out().value = window_of(b.mod(0));
      });
  table.add("isspacep{.const,.global,.local,.shared,.shared::cta,.shared::cluster,.param,.param::entry}",
            [](Build& b) {
              b.simple(1, {}, is_in_space);
              b.out().value = window_of(b.mod(0));
              b.out().flags = b.mod(0) == ".shared" || b.mod(0) == ".shared::cta" ? 1 : 0;
            });
  table.add("mapa[.shared::cluster]{.u32,.u64}", [](Build& b) {
    b.simple(2, {}, map_address);
    b.out().flags = b.has(0) ? 0 : 1;
  });
  table.add("getctarank[.shared::cluster]{.u32,.u64}", [](Build& b) {
    b.simple(1, {}, cta_rank);
    b.out().flags = b.has(0) ? 0 : 1;
  });
}

}  // namespace heddle::sim::ptx
